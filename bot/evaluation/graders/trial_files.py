"""Submissions that a grader is tried on: perfect, shuffled, constant and wrong ones, made from the answers."""

import random
from collections.abc import Sequence
from pathlib import Path

from bot.evaluation.tables import write_table

Cells = list[list[str]]


class TrialFiles:
    """Submissions made from the answers, each written when it is asked for."""

    def __init__(self, folder: Path, columns: Sequence[str], rows: Cells, width: int = 1) -> None:
        """Take an empty folder, the key and the prediction columns, their cells in the answers, and how many the key has."""
        self._folder = folder
        self._columns = columns
        self.rows = rows
        self.width = width
        self.perfect = self.write("perfect", rows)

    def write(self, name: str, rows: Cells, columns: Sequence[str] | None = None) -> Path:
        """Write a file of these rows, over what the name held."""
        path = self._folder / f"{name}.csv"
        write_table(path, columns or self._columns, rows)
        return path

    def shuffled(self, seed: int) -> Path:
        """Write one whose predictions are those of other rows."""
        order = list(range(len(self.rows)))
        random.Random(f"shuffled/{seed}").shuffle(order)  # noqa: S311 - for variety alone
        width = self.width
        rows = [[*row[:width], *self.rows[at][width:]] for row, at in zip(self.rows, order, strict=True)]
        return self.write(f"shuffled-{seed}", rows)

    def partly_shuffled(self) -> Path:
        """Write one whose first half of predictions is turned by a place: neither perfect nor hopeless."""
        half = len(self.rows) // 2
        values = [row[self.width :] for row in self.rows]
        values[:half] = [*values[1:half], *values[:1]] if half else []
        return self.write(
            "partly", [[*row[: self.width], *cells] for row, cells in zip(self.rows, values, strict=True)]
        )

    def constant(self, values: Sequence[str], name: str) -> Path:
        """Write one that says the same of all rows."""
        return self.write(name, [[*row[: self.width], *values] for row in self.rows])


def unknown_id(rows: Cells) -> str:
    """Return an id that is not there, but looks like those that are."""
    known = {row[0] for row in rows}
    if all(one.isdigit() for one in known):
        return str(max(int(one) for one in known) + 1)
    return next(name for at in range(len(known) + 1) if (name := f"{rows[0][0]}x{at}") not in known)

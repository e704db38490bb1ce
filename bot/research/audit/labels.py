"""Searching prompts for hidden answers: an id and its labels in one line."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from scrapers.snapshots.answers import ANSWERS, USAGE
from scrapers.snapshots.snapshot import Snapshot
from scrapers.snapshots.tables import open_table

_CELL = re.compile(r"[^\s,;|\t\"'\[\]{}()=]+")
MOST_SHOWN = 5
"""Most findings of one prompt: more would add nothing."""


@dataclass(frozen=True)
class LabelRows:
    """Ids of the answers with their labels' cells, for rows that reveal more than the sample submission."""

    rows: dict[tuple[str, ...], str]

    def __len__(self) -> int:
        return len(self.rows)

    @classmethod
    def read(cls, snapshot: Snapshot) -> "LabelRows":
        """Read the answers, without rows that are also in the sample submission or the training table."""
        card = snapshot.card
        public: set[tuple[str, ...]] = set()
        for name in ("sample_submission.csv", "train.csv"):
            public |= {_cells(",".join(row)) for row in _table(snapshot, f"data/{name}", card.columns)}
        answers = {_cells(",".join(row)): row[0] for row in _answers(snapshot)}
        return cls({cells: value for cells, value in answers.items() if cells not in public})

    def without_what_is_public(self, texts: Iterable[str]) -> "LabelRows":
        """Leave out rows that visible texts hold: a post that prints its predictions gets some right."""
        public = {cells for text in texts for cells in self._rows_in(text)}
        return LabelRows({cells: row for cells, row in self.rows.items() if cells not in public})

    def found_in(self, text: str) -> list[str]:
        """Return the ids that stand in one line of a text, followed by their labels; at most a few."""
        return list(dict.fromkeys(self.rows[cells] for cells in islice(self._rows_in(text), MOST_SHOWN)))

    def _rows_in(self, text: str) -> Iterator[tuple[str, ...]]:
        lengths = {len(cells) for cells in self.rows}
        for line in text.splitlines():
            cells = _cells(line)
            for length in lengths:
                for start in range(len(cells) - length + 1):
                    if cells[start : start + length] in self.rows:
                        yield cells[start : start + length]


def _cells(line: str) -> tuple[str, ...]:
    return tuple(_number(cell) for cell in _CELL.findall(line))


def _number(cell: str) -> str:
    """Return a number in one spelling (`1`, `1.0` and `1e0` are the same label), any other cell as it is."""
    try:
        return repr(float(cell))
    except ValueError:
        return cell


def _answers(snapshot: Snapshot) -> list[tuple[str, ...]]:
    """Return the key and the labels of each row, whatever the columns' names."""
    card = snapshot.card
    return _table(snapshot, ANSWERS, card.columns) or _table(snapshot, ANSWERS, card.row_columns, others=True)


def _table(snapshot: Snapshot, name: str, columns: tuple[str, ...], *, others: bool = False) -> list[tuple[str, ...]]:
    """Return some columns of a table, and all others but that of the usage if asked; nothing where columns are missing."""
    path = snapshot.path / name
    if not path.is_file():
        return []
    with open_table(path) as rows:
        header = next(rows, (0, []))[1]
        if not set(columns) <= set(header):
            return []
        wanted_columns = [*columns, *(name for name in header if others and name not in (*columns, USAGE))]
        places = [header.index(name) for name in wanted_columns]
        return [tuple(cells[place] for place in places) for _, cells in rows if len(cells) == len(header)]

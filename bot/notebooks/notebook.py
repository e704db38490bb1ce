"""The notebook that is pushed: finds the data and the weights in either of Kaggle's layouts, and runs one script."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bot.notebooks.weights import WeightsFile, weights_slug

_MARK = "# bot:"


@dataclass(frozen=True)
class NotebookScript:
    """What a notebook runs, and with what."""

    code: str
    trains: bool
    """Whether it is the script that trains, which finds `data/`; else it predicts, from `BOT_DATA` and `BOT_WEIGHTS`."""
    competition: str
    weights: tuple[WeightsFile, ...]
    """Of the script that trains: the rows that it validates on."""
    seconds: float
    """What `BOT_TIME_LIMIT` says on Kaggle."""

    @property
    def name(self) -> str:
        """The script's name."""
        return "solution.py" if self.trains else "infer.py"

    def cells(self) -> tuple[str, ...]:
        """Return the notebook's code cells."""
        values = {
            "competition": repr(self.competition),
            "data_set": repr(weights_slug(self.weights)),
            "weights": repr({one.flat: one.path for one in self.weights}),
            "trains": repr(self.trains),
            "seconds": repr(f"{self.seconds:.0f}"),
            "name": self.name,
        }
        first, last = (_filled(part, values) for part in ("first_cell.py.txt", "last_cell.py.txt"))
        return first, f"# {self.name}\nSOURCE = {_literal(self.code)}\n", last

    def as_script(self) -> str:
        """Return the cells as one script: what a dress rehearsal runs."""
        return as_script(self.cells())


def as_script(cells: Sequence[str]) -> str:
    """Return code cells as one script."""
    return "\n".join(cells)


def notebook_text(cells: Sequence[str], marker: str) -> str:
    """Return a notebook (ipynb) with these code cells, and a line in the first one by which it is known again."""
    marked = (f"{_MARK} {marker}\n{cells[0]}", *cells[1:])
    content = {
        "cells": [
            {
                "cell_type": "code",
                "execution_count": None,
                "metadata": {},
                "outputs": [],
                # One string: Kaggle's import takes no list of lines.
                "source": cell,
            }
            for cell in marked
        ],
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 4,
    }
    return json.dumps(content, indent=1)


def _filled(part: str, values: dict[str, str]) -> str:
    text = Path(__file__).with_name(part).read_text(encoding="utf-8")
    for name, value in values.items():
        text = text.replace(f"{{{{ {name} }}}}", value)
    return text


def _literal(code: str) -> str:
    """Return a script as a literal of Python that a person can read, where its own quotes allow that."""
    if "'''" in code or "\r" in code or not code.endswith("\n"):
        return repr(code)
    return f"r'''\n{code}'''[1:]"

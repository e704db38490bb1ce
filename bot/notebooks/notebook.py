"""The notebook that is pushed: finds data and weights in either of Kaggle's layouts, and runs one script, or those of a blend."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

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
        first, running = _opening(self, self.seconds)
        last = _fill_in("last_cell.py.txt", {"name": self.name})
        return first, f"# {self.name}\nSOURCE = {_literal(self.code)}\n", running, last

    def as_script(self) -> str:
        """Return the cells as one script: what the notebook check runs."""
        return as_script(self.cells())


@dataclass(frozen=True)
class NotebookBlend:
    """A notebook of several scripts that predict, one after the other, each from weights of its own; then they are combined."""

    codes: Mapping[str, str]
    """The scripts by name."""
    combine: str
    """The functions that combine what they predict."""
    facts: Mapping[str, Any]
    """What these functions take: `weights` by name and so on."""
    competition: str
    weights: tuple[WeightsFile, ...]
    """The path of each begins with its script's name."""
    seconds: float
    """What all may take together on Kaggle; `BOT_TIME_LIMIT` says an equal share of it."""
    name: ClassVar[str] = "the blend"
    trains: ClassVar[bool] = False

    def cells(self) -> tuple[str, ...]:
        """Return the notebook's code cells."""
        first, running = _opening(self, self.seconds / len(self.codes))
        sources = [f"# infer.py of {name}\nSOURCES[{name!r}] = {_literal(code)}\n" for name, code in self.codes.items()]
        sources[0] = f"SOURCES = {{}}\n{sources[0]}"
        last = _fill_in("blend_cell.py.txt", {"facts": repr(self.facts)})
        return first, *sources, running, f"{self.combine}\n", last

    def as_script(self) -> str:
        """Return the cells as one script: what the notebook check runs."""
        return as_script(self.cells())


Notebook = NotebookScript | NotebookBlend


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


def _opening(notebook: Notebook, seconds: float) -> tuple[str, str]:
    """Return the cell that finds data and weights, and the one that says how a script is run."""
    values = {
        "competition": repr(notebook.competition),
        "data_set": repr(weights_slug(notebook.weights)),
        "weights": repr({w.flat: w.path for w in notebook.weights}),
        "trains": repr(notebook.trains),
        "seconds": repr(f"{seconds:.0f}"),
    }
    return _fill_in("first_cell.py.txt", values), _fill_in("run_cell.py.txt", values)


def _fill_in(part: str, values: dict[str, str]) -> str:
    text = Path(__file__).with_name(part).read_text(encoding="utf-8")
    for name, value in values.items():
        text = text.replace(f"{{{{ {name} }}}}", value)
    return text


def _literal(code: str) -> str:
    """Return a script as a literal of Python that a person can read, where its own quotes allow that."""
    if "'''" in code or "\r" in code or not code.endswith("\n"):
        return repr(code)
    return f"r'''\n{code}'''[1:]"

"""The names of views, as people and programs write them (`holdout`, `fold 2/5`, `swap`), and the names of their folders."""

import re
from dataclasses import dataclass
from typing import Literal, get_args

from state.errors import UsageError

ViewKind = Literal["sample", "holdout", "full", "swap", "rehearsal", "rehearsal-few", "fold"]

VALIDATION = tuple(f"validation.{suffix}" for suffix in ("csv", "tsv", "tab", "json", "jsonl", "ndjson"))
"""Possible names of the table of validation rows, which has the format of the training rows."""
INFO = "view.json"
"""The file beside a view's labels that describes the view."""
MOST_FOLDS = 100
_FOLD = re.compile(r"fold ([1-9]\d*)/([1-9]\d*)")


@dataclass(frozen=True)
class ViewName:
    """One view of a competition's data; a fold's number counts from 1."""

    kind: ViewKind
    fold: int = 0
    folds: int = 0

    @classmethod
    def parse(cls, text: str) -> "ViewName":
        """Read a name as `str` writes it.

        Raises:
            UsageError: there is no such view.
        """
        kinds: tuple[ViewKind, ...] = get_args(ViewKind)
        for kind in kinds:
            if kind == text and kind != "fold":
                return cls(kind)
        match = _FOLD.fullmatch(text)
        if match is None:
            known = ", ".join(kind for kind in kinds if kind != "fold")
            raise UsageError(
                f"There is no view {text!r}; there are {known}, and `fold 1/5` to `fold 5/5` and the like."
            )
        fold, folds = int(match[1]), int(match[2])
        if not 2 <= folds <= MOST_FOLDS or fold > folds:
            raise UsageError(f"There is no view {text!r}: of 2 to {MOST_FOLDS} folds one is number 1 to the last.")
        return cls("fold", fold, folds)

    @property
    def swaps(self) -> bool:
        """Whether withheld rows stand in for the test rows, so that the submission itself is scored."""
        return self.kind in ("swap", "rehearsal", "rehearsal-few")

    def __str__(self) -> str:
        """Return the name: `fold 2/5`."""
        return f"fold {self.fold}/{self.folds}" if self.kind == "fold" else self.kind

    @property
    def folder(self) -> str:
        """The name as a folder's: `fold-2-of-5`."""
        return f"fold-{self.fold}-of-{self.folds}" if self.kind == "fold" else self.kind

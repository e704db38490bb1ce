"""The names of views, as people and programs write them (`holdout`, `swap`), which are those of their folders too."""

from typing import Literal, get_args

from state.errors import UsageError

ViewKind = Literal["sample", "holdout", "full", "sealed", "trial", "swap", "rehearsal", "rehearsal-few"]
SWAPPED: frozenset[ViewKind] = frozenset({"swap", "rehearsal", "rehearsal-few"})
"""Those in which withheld rows stand in for the test rows, so that the submission itself is scored."""
Withholding = Literal["script", "lab"]
"""Whose rows are withheld: script coders have a hold-out score a script; labs, which score out of fold, have fewer withheld."""

VALIDATION = tuple(f"validation.{suffix}" for suffix in ("csv", "tsv", "tab", "json", "jsonl", "ndjson"))
"""Possible names of the table of validation rows, which has the format of the training rows."""
INFO = "view.json"
"""The file beside a view's labels that describes the view."""


def view_kind(text: str) -> ViewKind:
    """Return the view of this name; raises UsageError if there is none."""
    kinds: tuple[ViewKind, ...] = get_args(ViewKind)
    for kind in kinds:
        if kind == text:
            return kind
    raise UsageError(f"Unknown view {text!r}; the views are {', '.join(kinds)}.")

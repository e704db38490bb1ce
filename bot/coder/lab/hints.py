"""Hints: experiments that coders cross-validated themselves, and the shelf with their out-of-fold predictions."""

from typing import Any

from bot.engine.context import RunContext
from state.errors import InvalidSubmission
from state.labs import labs

_SHELF_BYTES = 1 << 28
"""Of all predictions that a run's shelf keeps."""


def kept_hints(context: RunContext) -> list[tuple[int, dict[str, Any]]]:
    """Return the hints of all labs whose predictions are on the shelf, each with its lab's number, best first."""
    shelf = context.executor.folder.hints
    found = [(row.id, hint) for row in labs(context.store, context.run_id) for hint in row.hints]
    found = [(lab, hint) for lab, hint in found if (shelf / hint["file"]).is_file()]
    return sorted(found, key=lambda one: -context.card.oriented(one[1]["score"]))


def compared_with(context: RunContext, lab: int, name: str) -> tuple[int, dict[str, Any]] | None:
    """Return the hint that a lab's next one is compared with: the best, None where there is none, or the named one.

    Raises:
        InvalidSubmission: nothing that is still kept has this name, in this lab or another.
    """
    found = kept_hints(context)
    if not name:
        return found[0] if found else None
    named = sorted((one for one in found if one[1]["name"] == name), key=lambda one: one[0] != lab)
    if not named:
        raise InvalidSubmission(
            f"there is no logged experiment {name!r} whose predictions are kept; see lab board --all"
        )
    return named[0]


def trim_shelf(context: RunContext, most_bytes: int = _SHELF_BYTES) -> None:
    """Remove what no hint has, and the predictions of the worst hints until the rest, or the best alone, fits."""
    shelf, kept, room = context.executor.folder.hints, set[str](), most_bytes
    for _, hint in kept_hints(context):
        if hint["file"] not in kept:
            room -= (shelf / hint["file"]).stat().st_size
            if room < 0 and kept:
                break
            kept.add(hint["file"])
    for path in shelf.iterdir():
        if path.name not in kept:
            path.unlink()

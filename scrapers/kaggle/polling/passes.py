"""A pass over a paged list of the site: when it ends, and where it continues after an interruption."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from scrapers.kaggle.polling.watch import Mark
from state.closed_model import ClosedModel

_FRESH = timedelta(hours=1)
_MOST_STALE = 3


@dataclass(frozen=True)
class ScannedItem:
    """What a pass needs to know of an item of a list."""

    id: str
    at: datetime | None
    """The time by which the list is ordered, the latest first."""
    pinned: bool = False
    """Whether its place in the list does not depend on its time."""
    changed: bool = False
    """Whether it differs from its stored state."""


class Pass(ClosedModel):
    """A pass in progress; it is stored, so that it can continue where it was."""

    page: int = 1
    """Number of the next page, from 1."""
    token: str = ""
    """Token of the next page, if the site gave one."""
    high: datetime | None = None
    """The latest time on the first page: after the pass, everything older has been seen."""
    total: int = 0
    """Number of all items, if known."""
    seen: tuple[str, ...] = ()
    stale: int = 0
    """Number of pages in a row without anything new."""
    at: datetime | None = None
    """Our time of the last page."""
    listed: bool = False
    """Whether the list is read to its end, and only other work is left."""

    def resumed(self, now: datetime) -> "Pass":
        """Return the pass to continue: this one or, if it has waited for long, a new one, as lists change."""
        if self.listed or self.at is None or timedelta(0) <= now - self.at <= _FRESH:
            return self
        return Pass()


class ListMark(Mark):
    """How far a list was read."""

    high: datetime | None = None
    """The latest time at the start of a whole pass; None in a sweep."""
    current: Pass | None = None


@dataclass(frozen=True)
class ScanLimits:
    """How far a pass goes."""

    down_to: datetime | None
    """The watermark: older items were seen by an earlier pass. None: all pages."""
    overlap: float
    """Seconds below the watermark that are read nevertheless, as a site's lists lag."""
    max_pages: int


def is_descending(items: Sequence[ScannedItem]) -> bool:
    """Return whether times never rise from one item to the next, pinned items aside."""
    times = [item.at for item in items if not item.pinned and item.at is not None]
    return all(later >= earlier for later, earlier in pairwise(times))


def next_pass(
    current: Pass, items: Sequence[ScannedItem], limits: ScanLimits, now: datetime, *, total: int = 0, token: str = ""
) -> Pass:
    """Return a pass after one more page; its `listed` shows whether that was the last.

    The list changes while it is read. A new item pushes the others down, so that some appear twice, and nothing is missed.
    A removed item pulls the others up, and may hide one: a later sweep finds it. A `total` of 0 is unknown.
    """
    known_ids = set(current.seen)
    fresh = list(dict.fromkeys(item.id for item in items if item.id not in known_ids))
    ids = (*current.seen, *fresh)
    high = current.high
    if current.page == 1 and high is None:
        high = max((item.at for item in items if item.at is not None and not item.pinned), default=None)
    stale = 0 if fresh else current.stale + 1
    is_over = (
        not items
        or 0 < total <= len(ids)
        or stale >= _MOST_STALE
        or current.page >= limits.max_pages
        or _low_enough(items, limits)
    )
    return Pass(
        page=current.page + 1,
        token=token,
        high=high,
        total=total or current.total,
        seen=ids,
        stale=stale,
        at=now,
        listed=is_over,
    )


def _low_enough(items: Sequence[ScannedItem], limits: ScanLimits) -> bool:
    """Return whether a page reaches what an earlier pass has seen."""
    times = [item.at for item in items if item.at is not None and not item.pinned]
    if limits.down_to is None or not times:
        return False
    lowest = min(times)
    if lowest < limits.down_to - timedelta(seconds=limits.overlap):
        return True
    return lowest <= limits.down_to and not any(item.changed for item in items)

"""A pass over a list that the site gives page by page: when it ends, and where it goes on after an interruption."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from pydantic import BaseModel, ConfigDict

from scrapers.kaggle.polling.watch import Mark

_FRESH = timedelta(hours=1)
_MOST_STALE = 3


@dataclass(frozen=True)
class Listed:
    """What a pass needs to know of an item of a list."""

    id: str
    at: datetime | None
    """By which the list is said to be ordered, the latest first."""
    pinned: bool = False
    """Whether it stands where it stands whatever its time."""
    changed: bool = False
    """Whether it is not as it was stored."""


class Pass(BaseModel):
    """A pass on its way; all of it is kept, so that it goes on where it was."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    page: int = 1
    """The one to be asked for next, from 1."""
    token: str = ""
    """By which it is asked for, where the site gave one."""
    high: datetime | None = None
    """The latest time on the first page: when the pass has ended, nothing older is left to be seen."""
    total: int = 0
    """How many there are, where the site tells."""
    seen: tuple[str, ...] = ()
    stale: int = 0
    """How many pages in a row had nothing new."""
    at: datetime | None = None
    """Our time of the last page."""
    listed: bool = False
    """Whether the list is read to its end, and only something else is left to be done."""

    def resumed(self, now: datetime) -> "Pass":
        """Return the pass to go on with: this one or, as lists move on, a new one if it has waited for long."""
        if self.listed or self.at is None or timedelta(0) <= now - self.at <= _FRESH:
            return self
        return Pass()


class ListMark(Mark):
    """How far a list was read."""

    high: datetime | None = None
    """The latest time that a whole pass began with; None in a sweep."""
    under_way: Pass | None = None


@dataclass(frozen=True)
class Limits:
    """How far a pass goes."""

    down_to: datetime | None
    """The watermark: what is older was seen by an earlier pass. None: all pages."""
    overlap: float
    """Seconds below the watermark that are read all the same, as a site's lists lag."""
    most_pages: int


def falls(items: Sequence[Listed]) -> bool:
    """Return whether times fall, or stay, from each item to the next, those that are pinned aside."""
    times = [item.at for item in items if not item.pinned and item.at is not None]
    return all(later >= earlier for later, earlier in pairwise(times))


def after(
    under_way: Pass, items: Sequence[Listed], limits: Limits, now: datetime, *, total: int = 0, token: str = ""
) -> Pass:
    """Return a pass after one more page; `listed` says whether that was the last.

    The list moves while it is read. What is new pushes the rest down, so that items come twice, and nothing is missed.
    What goes pulls the rest up, and may hide another item: the sweep, which comes again, finds it.

    Args:
        under_way: the pass before.
        items: the page.
        limits: how far it goes.
        now: our time.
        total: how many items there are in all, 0 where it is not told, as past the end.
        token: of the next page, where there is one.
    """
    known = set(under_way.seen)
    fresh = list(dict.fromkeys(item.id for item in items if item.id not in known))
    seen = (*under_way.seen, *fresh)
    high = under_way.high
    if under_way.page == 1 and high is None:
        high = max((item.at for item in items if item.at is not None and not item.pinned), default=None)
    stale = 0 if fresh else under_way.stale + 1
    ended = (
        not items
        or 0 < total <= len(seen)
        or stale >= _MOST_STALE
        or under_way.page >= limits.most_pages
        or _low_enough(items, limits)
    )
    return Pass(
        page=under_way.page + 1,
        token=token,
        high=high,
        total=total or under_way.total,
        seen=seen,
        stale=stale,
        at=now,
        listed=ended,
    )


def _low_enough(items: Sequence[Listed], limits: Limits) -> bool:
    """Return whether a page reaches what an earlier pass has seen."""
    times = [item.at for item in items if item.at is not None and not item.pinned]
    if limits.down_to is None or not times:
        return False
    lowest = min(times)
    if lowest < limits.down_to - timedelta(seconds=limits.overlap):
        return True
    return lowest <= limits.down_to and not any(item.changed for item in items)

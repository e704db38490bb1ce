"""Sources of posts beside Kaggle and a snapshot's own files: what is new in a folder of them goes into the store, once."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Protocol

from sqlmodel import Session

from scrapers.posts.cleaners import Cleaners
from scrapers.posts.ingest import Raw, ingest
from state.polling import mark_read, watermark
from state.store import Store

SOURCES: list[str] = [
    "scrapers.posts.notes:changes",
]
"""Each a `CommunitySource`; every one of them looks at every folder, and takes from it what is of its kind."""

_PART = "notes"
"""Name of the watermark that holds how each piece was last seen."""


@dataclass(frozen=True)
class Change:
    """A piece of a source, such as a file, that is new or was edited since it was last seen."""

    key: str
    """Names the piece in its source for ever."""
    state: Mapping[str, Any]
    """What the source must know of it the next time, as JSON; empty: the piece is to be forgotten, its posts stay."""
    rows: Sequence[Raw] = ()
    """Its posts, a topic before its messages; a row that is stored already is replaced."""
    at: datetime | None = None
    """When it was written, as it says itself; None: it does not say."""
    problem: str | None = None
    """Why it is left out, in a sentence that goes on after its name."""


class CommunitySource(Protocol):
    """Where posts come from. It runs in a thread, so that it may wait for a disk or a site."""

    def __call__(self, folder: Path, competition: str, states: Mapping[str, Any], now: datetime) -> Iterator[Change]:
        """Yield each piece that is no longer in its last state (`known`, by key); what has disappeared stays known.

        `now` is the time from which a post counts as known that has no time of its own, or was edited: live, the present;
        in a replay, the start of the run's clock.
        """
        ...


@dataclass(frozen=True)
class Notes:
    """What is known of a competition's folder of notes."""

    times: Sequence[datetime | None]
    """Of each note that was read, the time that it names; None: it names none."""
    problems: Sequence[str]
    """A sentence for each file that is left out."""


def notes_of(session: Session, competition: str) -> Notes | None:
    """Return what was read of a competition's notes; None if none were ever looked for."""
    row = watermark(session, competition, _PART)
    if row.at is None:
        return None
    pieces = [(key, piece) for source in row.value.values() for key, piece in source.items()]
    times = [piece["at"] and datetime.fromisoformat(piece["at"]) for _, piece in pieces if not piece["problem"]]
    return Notes(times, [f"{key} {piece['problem']}" for key, piece in pieces if piece["problem"]])


async def take_in(
    store: Store, competition: str, folder: Path, cleaners: Cleaners, now: datetime
) -> tuple[int, list[str]]:
    """Store what is new in a folder, by every source; what is stored already costs nothing, and is never read again.

    If it is interrupted, it may simply be repeated. Return how many pieces were new or edited, and a sentence for each that
    is left out or kept only in part.

    Raises:
        StateUnavailable, StateCorrupted: nothing can be stored; what was stored before stays.
    """
    with store.read() as session:
        marks = dict(watermark(session, competition, _PART).value)
    changes: list[Change] = []

    def raws() -> Iterator[Raw]:
        for name in SOURCES:
            pieces = dict(marks.get(name, {}))
            states = {key: piece["state"] for key, piece in pieces.items()}
            source: CommunitySource = resolve_name(name)
            for change in source(folder, competition, states, now):
                changes.append(change)
                time = None if change.at is None else change.at.isoformat()
                pieces[change.key] = {"state": dict(change.state), "at": time, "problem": change.problem}
                if not change.state:
                    del pieces[change.key]
                yield from change.rows
            marks[name] = pieces

    shortened = await ingest(store, competition, raws(), cleaners)
    with store.write() as tx:
        mark_read(tx, competition, _PART, marks, None)
    sentences = [f"{change.key} {change.problem}" for change in changes if change.problem]
    sentences += [f"{item} was only partly stored: {reason.splitlines()[-1]}" for item, reason in shortened.items()]
    return sum(bool(change.rows) for change in changes), sentences

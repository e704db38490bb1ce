"""Words of posts that are later than a clock, to be looked for in prompts."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from scrapers.snapshot import Snapshot
from state.tables import KernelVersion, Message, Topic

SHINGLE_WORDS = 8
"""Words in a row that two texts hardly share by chance."""
_WORD = re.compile(r"[A-Za-z0-9_\-]+")


def _shingles(text: str) -> Iterator[str]:
    words = [w.lower() for w in _WORD.findall(text)]
    if 0 < len(words) < SHINGLE_WORDS and len(" ".join(words)) >= 24:
        yield " ".join(words)
    for start in range(len(words) - SHINGLE_WORDS + 1):
        yield " ".join(words[start : start + SHINGLE_WORDS])


@dataclass(frozen=True)
class Fingerprints:
    """Runs of words that stand in later posts and in nothing that may be known."""

    by_shingle: dict[str, str]
    posts: int

    def __len__(self) -> int:
        return self.posts

    def found_in(self, text: str) -> list[str]:
        """Return the posts whose words stand in a text, sorted."""
        return sorted({self.by_shingle[s] for s in _shingles(text) if s in self.by_shingle})


def later_texts(snapshot: Snapshot, cutoff: datetime) -> Fingerprints:
    """Collect what only posts after the cutoff (or without a time, or deleted) say.

    What an earlier post or the task's description says too (a quotation, a fork's code) proves nothing and is left out.
    """
    later: dict[str, str] = {}
    posts = 0
    known: set[str] = set(_shingles(snapshot.card.description))
    for name, text, visible in _texts(snapshot, cutoff):
        if visible:
            known.update(_shingles(text))
            continue
        posts += 1
        for shingle in _shingles(text):
            later.setdefault(shingle, name)
    return Fingerprints({s: name for s, name in later.items() if s not in known}, posts)


def known_texts(snapshot: Snapshot, cutoff: datetime) -> Iterator[str]:
    """Yield what may be read at the cutoff: the description, and the posts that are visible."""
    yield snapshot.card.description
    yield from (text for _, text, visible in _texts(snapshot, cutoff) if visible)


def _texts(snapshot: Snapshot, cutoff: datetime) -> Iterator[tuple[str, str, bool]]:
    rows = list(snapshot.community.table_rows(snapshot.path, snapshot.card.slug))
    topics = {r.id: r for r in rows if isinstance(r, Topic)}
    for row in rows:
        if isinstance(row, Topic):
            yield f"topic/{row.id}", row.title, _known(cutoff, [row.posted_at])
        elif isinstance(row, Message):
            topic = topics.get(row.topic_id)
            times = [row.posted_at, row.edited_at or row.posted_at, topic.posted_at if topic else None]
            yield f"message/{row.id}", row.markdown, _known(cutoff, times) and not row.deleted
        elif isinstance(row, KernelVersion):
            yield f"kernel/{row.id}", f"{row.title}\n{row.text}", _known(cutoff, [row.created_at])


def _known(cutoff: datetime, times: Iterable[datetime | None]) -> bool:
    return all(time is not None and time <= cutoff for time in times)

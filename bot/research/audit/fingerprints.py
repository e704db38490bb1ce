"""Searching prompts for words of posts that are later than the clock, by fingerprints, and for hidden answers."""

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from scrapers.snapshots.answers import ANSWERS, USAGE
from scrapers.snapshots.snapshot import Snapshot
from scrapers.snapshots.tables import open_table
from state.tables import CommunityRow, KernelVersion, PostedMessage, Topic

_CELL = re.compile(r"[^\s,;|\t\"'\[\]{}()=]+")
MAX_FINDINGS = 5
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
        labelled = _table(snapshot, ANSWERS, card.columns) or _table(snapshot, ANSWERS, card.row_columns, others=True)
        answers = {_cells(",".join(row)): row[0] for row in labelled}
        return cls({cells: value for cells, value in answers.items() if cells not in public})

    def without_what_is_public(self, texts: Iterable[str]) -> "LabelRows":
        """Leave out rows that visible texts hold: a post that prints its predictions gets some right."""
        public = {cells for text in texts for cells in self._rows_in(text)}
        return LabelRows({cells: row for cells, row in self.rows.items() if cells not in public})

    def found_in(self, text: str) -> list[str]:
        """Return the ids that occur in one line of a text followed by their labels; at most a few."""
        return list(dict.fromkeys(self.rows[cells] for cells in islice(self._rows_in(text), MAX_FINDINGS)))

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
    """Return a number in one spelling (`1`, `1.0` and `1e0` are the same label), and any other cell unchanged."""
    try:
        return repr(float(cell))
    except ValueError:
        return cell


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


SHINGLE_WORDS = 8
"""Words in a row that two texts are unlikely to share by chance."""
_WORD = re.compile(r"[A-Za-z0-9_\-]+")
_OMISSION = "…"
"""The mark of an omission in an excerpt."""
_FENCES = re.compile(r"^(?:(?:`{3,}|~{3,})\w*(?: cell)?|Output:)$", re.MULTILINE)
"""Lines between a notebook's cells, which excerpts do not show."""
_ALWAYS = datetime.min.replace(tzinfo=UTC)
_NEVER = datetime.max.replace(tzinfo=UTC)
_HEAD_LINES, _HEAD_CHARACTERS = 20, 20_000
"""The beginning of each of the competition's tables, which both a post and a preview of the data may show."""


def _shingles(text: str) -> Iterator[str]:
    """Yield the runs of words of a text; words on the two sides of an omission are not a run."""
    for part in text.split(_OMISSION):
        words = [w.lower() for w in _WORD.findall(part)]
        if 0 < len(words) < SHINGLE_WORDS and len(" ".join(words)) >= 24:
            yield " ".join(words)
        for start in range(len(words) - SHINGLE_WORDS + 1):
            yield " ".join(words[start : start + SHINGLE_WORDS])


@dataclass(frozen=True)
class Fingerprints:
    """Shingles (runs of words), each with the time and post of its first use; undated and deleted posts are never visible."""

    first: dict[str, tuple[datetime, str]]
    times: tuple[datetime, ...]
    """The times from which posts are visible."""

    @classmethod
    def read(cls, snapshot: Snapshot, rows: Sequence[CommunityRow]) -> "Fingerprints":
        """Collect the shingles of the snapshot's posts, from its cleaned rows.

        Shingles that also occur in an earlier post, the description or the data (a quotation, a fork's code) prove nothing.
        """
        posts = sorted(_texts(rows), key=lambda post: post[0])
        first: dict[str, tuple[datetime, str]] = {}
        tables = [_head(table) for table in sorted(snapshot.data.glob("*.[ct]sv"))]
        for text in (snapshot.card.description, *tables):
            first.update(dict.fromkeys(_shingles(text), (_ALWAYS, "the task")))
        for known_at, name, text in posts:
            use = (known_at, name)
            for shingle in _shingles(text):
                first.setdefault(shingle, use)
        return cls(first, tuple(known_at for known_at, _, _ in posts))

    def later_than(self, as_of: datetime) -> int:
        """Return the number of posts that are not visible at a time."""
        return sum(time > as_of for time in self.times)

    def shingles_in(self, text: str) -> set[str]:
        """Return the shingles that a text holds."""
        return {shingle for shingle in _shingles(text) if shingle in self.first}

    def found_in(self, text: str, as_of: datetime, own_words: Set[str] = frozenset()) -> list[str]:
        """Return the posts later than a time whose words a text contains, sorted; shingles in `own_words` prove nothing."""
        uses = (self.first[shingle] for shingle in self.shingles_in(text) if shingle not in own_words)
        return sorted({name for time, name in uses if time > as_of})


def known_texts(snapshot: Snapshot, rows: Sequence[CommunityRow], cutoff: datetime) -> Iterator[str]:
    """Yield the texts that may be read at the cutoff: the description and the visible posts."""
    yield snapshot.card.description
    yield from (text for known_at, _, text in _texts(rows) if known_at <= cutoff)


def _head(table: Path) -> str:
    with table.open(encoding="utf-8", errors="replace") as file:
        return "".join(islice(iter(lambda: file.readline(_HEAD_CHARACTERS), ""), _HEAD_LINES))


def _texts(rows: Sequence[CommunityRow]) -> Iterator[tuple[datetime, str, str]]:
    """Yield each post's time of visibility, item and text."""
    topics = {r.id: r for r in rows if isinstance(r, Topic)}
    for row in rows:
        if isinstance(row, Topic):
            yield _known_from([row.posted_at]), f"topic/{row.id}", row.title
        elif isinstance(row, PostedMessage):
            topic = topics.get(row.topic_id)
            times = [row.posted_at, row.edited_at or row.posted_at, topic.posted_at if topic else None]
            yield _NEVER if row.deleted else _known_from(times), f"message/{row.id}", row.markdown
        elif isinstance(row, KernelVersion):
            text = f"{row.title}\n{row.text}"
            yield _known_from([row.created_at]), f"kernel/{row.id}", f"{text}\n{_OMISSION}\n{_FENCES.sub('', text)}"


def _known_from(times: Iterable[datetime | None]) -> datetime:
    return max(_NEVER if time is None else time for time in times)

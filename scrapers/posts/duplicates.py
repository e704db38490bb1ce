"""Near-duplicates: which earlier post a new one repeats.

Two posts of a kind are alike if their texts differ in layout only, or if their signatures agree in a share of `THRESHOLD`
(see `scrapers.posts.sketches`): for two kernels those of their code, or of their prose if neither has code; for two
messages those of all that both have, prose and code. Only sketches that share a band of their signatures are compared
(LSH: of pairs at the threshold 99.8% do, of pairs at .3 one in a hundred), and a new post only with stored ones. Each
post repeats the *earliest* post that it is like, so that neither the order nor the batches of posts matter. (Among
hundreds of texts that are nearly but not quite the same, as in a flood of spam, only the first `FULL` are compared with
later ones, to limit the cost; there the order may matter.)
"""

import hashlib
import json
from array import array
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Connection

from scrapers.posts.sketches import PERMUTATIONS, Sketch
from state.store import Transaction, as_stored
from state.tables import KernelVersion, PostedMessage

THRESHOLD = 0.8
"""Share of equal numbers in two signatures from which texts are near-duplicates."""
BANDS = 21
ROWS = 6
"""Numbers per band."""
FULL = 200
"""Sketches that share a band at which it takes no more."""

_BATCH = 400

_TIMES = {
    "message": "SELECT id, max(posted_at, coalesce(edited_at, posted_at)) FROM message"
    " WHERE competition = ? AND id IN ({}) AND NOT deleted AND posted_at IS NOT NULL",
    "kernel": "SELECT id, created_at FROM kernelversion WHERE competition = ? AND id IN ({}) AND created_at IS NOT NULL",
}
_SELECT_POSTS = (
    "SELECT post_id, sha256, known_at, sketch FROM likeness JOIN keptsketch ON keptsketch.id = sketch"
    " WHERE likeness.competition = ? AND likeness.kind = ? AND post_id IN ({})"
)
_NUMBERS = "SELECT sha256, id FROM keptsketch WHERE competition = ? AND kind = ? AND sha256 IN ({})"
_SELECT_SKETCHES = "SELECT id, sha256, code, prose FROM keptsketch WHERE id IN ({})"
_FULL = "SELECT digest FROM sketchband WHERE digest IN ({}) GROUP BY digest HAVING count(*) >= ?"
_SHARED = "SELECT digest, sketch FROM sketchband WHERE digest IN ({})"
_EARLIEST = (
    "SELECT post_id, known_at, sketch FROM likeness WHERE sketch IN ({}) AND (known_at, post_id) < (?, ?)"
    " ORDER BY known_at, post_id LIMIT 1"
)
_LATER = (
    "UPDATE likeness SET original = ?, original_at = ?, similarity = ? WHERE sketch = ? AND (known_at, post_id) > (?, ?)"
    " AND (original IS NULL OR (original_at, original) > (?, ?))"
)
_MATCHED = "UPDATE likeness SET original = ?, original_at = ?, similarity = ? WHERE competition = ? AND kind = ? AND post_id = ?"
_SELECT_REPEATED = "SELECT sketch FROM likeness WHERE sketch IN ({}) GROUP BY sketch HAVING count(*) > 1"
_ORPHANS = "SELECT post_id, known_at, sketch FROM likeness WHERE sketch IN ({}) AND original = ?"


@dataclass(frozen=True)
class Sketched:
    """A stored post with the sketch of its text, None for a text without words."""

    kind: Literal["message", "kernel"]
    id: str
    time: datetime | None
    """The time from which the text is known; states older than the stored one are ignored."""
    sketch: Sketch | None


def sketched(row: PostedMessage | KernelVersion, sketch: Sketch | None) -> Sketched:
    """Return a post in the form that `note_sketches` takes."""
    if isinstance(row, KernelVersion):
        return Sketched("kernel", row.id, row.created_at, sketch)
    times = [time for time in (row.posted_at, row.edited_at) if time is not None]
    return Sketched("message", row.id, max(times) if row.posted_at else None, sketch)


def note_sketches(tx: Transaction, competition: str, posts: Iterable[Sketched]) -> None:
    """Record what posts repeat, in the transaction that stored them; a post that comes again is compared again.

    A post that is deleted or has no time neither repeats another nor is repeated.
    """
    tx.session.flush()
    by_kind: dict[str, dict[str, Sketched]] = {"message": {}, "kernel": {}}
    for post in posts:
        by_kind[post.kind][post.id] = post
    for kind, sketches in by_kind.items():
        book = _Book(tx.connection, competition, kind)
        ids = sorted(sketches)
        for start in range(0, len(ids), _BATCH):
            book.note([sketches[id] for id in ids[start : start + _BATCH]])


def similarity(first: Sketch, second: Sketch, kind: str) -> float:
    """Return the similarity of two texts of one kind, from 0 to 1; 0 if they cannot be compared."""
    if first.sha256 == second.sha256:
        return 1.0
    parts = [(first.code, second.code), (first.prose, second.prose)]
    if kind == "kernel" and (first.code or second.code):
        parts = parts[:1]
    pairs = [pair for pair in parts if pair != (None, None)]
    return min((_agreement(*pair) for pair in pairs), default=0.0)


def _agreement(first: bytes | None, second: bytes | None) -> float:
    if first is None or second is None:
        return 0.0
    return sum(map(int.__eq__, array("I", first), array("I", second))) / PERMUTATIONS


def band_digests(sketch: Sketch, competition: str, kind: str) -> list[int]:
    """Return the hashes of the bands of a text's main part; empty if nothing can be compared."""
    main = (sketch.code or sketch.prose) if kind == "kernel" else (sketch.prose or sketch.code)
    if main is None:
        return []
    part = "code" if main is sketch.code else "prose"
    digests = []
    for band in range(BANDS):
        salt = f"{competition}\0{kind}\0{part}\0{band}\0".encode()
        digest = hashlib.blake2b(salt + main[4 * ROWS * band : 4 * ROWS * (band + 1)], digest_size=8).digest()
        digests.append(int.from_bytes(digest, "big", signed=True))
    return digests


class _Book:
    def __init__(self, connection: Connection, competition: str, kind: str) -> None:
        # Statements without objects, and where possible one for many posts, as each post needs several.
        self._connection = connection
        self._competition = competition
        self._kind = kind

    def note(self, posts: Sequence[Sketched]) -> None:
        """Update the likenesses of a batch."""
        ids = [post.id for post in posts]
        times = dict(self._in(_TIMES[self._kind], ids, self._competition))
        rows = {row[0]: row[1:] for row in self._in(_SELECT_POSTS, ids, self._competition, self._kind)}
        places: dict[str, tuple[Sketch, str]] = {}
        for post in posts:
            time, old = times.get(post.id), rows.get(post.id)
            if time is not None and (post.time is None or as_stored(post.time) != time):
                continue
            new = (post.sketch, time) if time is not None and post.sketch is not None else None
            if old is not None and (new is None or (new[0].sha256, new[1]) != old[:2]):
                self._forget(post.id, old[2])
            if new is not None and (old is None or (new[0].sha256, new[1]) != old[:2]):
                places[post.id] = new
        self._place(places)

    def _place(self, places: dict[str, tuple[Sketch, str]]) -> None:
        """Add posts: find what each repeats, and let later similar posts that repeated a later one repeat it instead."""
        numbers = self._keep({sketch.sha256: sketch for sketch, _ in places.values()})
        rows = [
            (self._competition, self._kind, id, numbers[sketch.sha256], time) for id, (sketch, time) in places.items()
        ]
        self._execute(
            "INSERT INTO likeness (competition, kind, post_id, sketch, known_at) VALUES (?, ?, ?, ?, ?)", rows
        )
        likeness = self._near_duplicates({numbers[sketch.sha256]: sketch for sketch, _ in places.values()})
        repeats = {row[0] for row in self._in(_SELECT_REPEATED, list(likeness))}
        for _, _, id, sketch, time in rows:
            # Most texts are unique and unlike any other.
            if sketch in repeats or len(likeness[sketch]) > 1:
                self._match(id, time, likeness[sketch])
                later = [(id, time, share, number, time, id, time, id) for number, share in likeness[sketch].items()]
                self._execute(_LATER, later)

    def _keep(self, sketches: dict[str, Sketch]) -> dict[str, int]:
        """Return the numbers of sketches by the hash of their texts, storing missing ones."""
        numbers = dict(self._in(_NUMBERS, list(sketches), self._competition, self._kind))
        last = self._connection.exec_driver_sql("SELECT coalesce(max(id), 0) FROM keptsketch").scalar_one()
        new = {sha256: sketch for sha256, sketch in sketches.items() if sha256 not in numbers}
        numbers |= {sha256: last + place for place, sha256 in enumerate(new, 1)}
        self._execute(
            "INSERT INTO keptsketch (id, competition, kind, sha256, code, prose) VALUES (?, ?, ?, ?, ?, ?)",
            [
                (numbers[sha256], self._competition, self._kind, sha256, sketch.code, sketch.prose)
                for sha256, sketch in new.items()
            ],
        )
        bands = [(digest, numbers[sketch.sha256]) for sketch in new.values() for digest in self._digests(sketch)]
        full = {row[0] for row in self._in(_FULL, {digest for digest, _ in bands}, after=(FULL,))}
        bands = [band for band in bands if band[0] not in full]
        self._execute("INSERT INTO sketchband (digest, sketch) VALUES (?, ?)", bands)
        return numbers

    def _match(self, id: str, time: str, likeness: dict[int, float]) -> None:
        earliest = self._in(_EARLIEST, list(likeness), after=(time, id))
        original = (earliest[0][0], earliest[0][1], likeness[earliest[0][2]]) if earliest else (None, None, None)
        self._execute(_MATCHED, [(*original, self._competition, self._kind, id)])

    def _near_duplicates(self, sketches: dict[int, Sketch]) -> dict[int, dict[int, float]]:
        """Return, for each sketch, the near-duplicates including itself, with their similarity."""
        likeness = {number: {number: 1.0} for number in sketches}
        holders: dict[int, list[int]] = {}
        for number, sketch in sketches.items():
            for digest in self._digests(sketch):
                holders.setdefault(digest, []).append(number)
        neighbours: dict[int, set[int]] = {number: set() for number in sketches}
        for digest, candidate in self._in(_SHARED, list(holders)):
            for number in holders[digest]:
                neighbours[number].add(candidate)
        strangers = set().union(*neighbours.values()) - sketches.keys()
        all_sketches = sketches | {row[0]: Sketch(*row[1:]) for row in self._in(_SELECT_SKETCHES, sorted(strangers))}
        for number, candidates in neighbours.items():
            for candidate in candidates:
                share = similarity(all_sketches[number], all_sketches[candidate], self._kind)
                if share >= THRESHOLD:
                    likeness[number][candidate] = share
        return likeness

    def _forget(self, id: str, sketch: int) -> None:
        """Remove a post, and its sketch if no other post has it; posts that repeated it are matched again."""
        (sketch_itself,) = (Sketch(*row[1:]) for row in self._in(_SELECT_SKETCHES, [sketch]))
        likeness = self._near_duplicates({sketch: sketch_itself})[sketch]
        key = (self._competition, self._kind, id)
        self._execute("DELETE FROM likeness WHERE competition = ? AND kind = ? AND post_id = ?", [key])
        orphans = self._in(_ORPHANS, list(likeness), after=(id,))
        if not self._in("SELECT 1 FROM likeness WHERE sketch IN ({}) LIMIT 1", [sketch]):
            bands = [(digest, sketch) for digest in self._digests(sketch_itself)]
            self._execute("DELETE FROM sketchband WHERE digest = ? AND sketch = ?", bands)
            self._execute("DELETE FROM keptsketch WHERE id = ?", [(sketch,)])
        orphan_sketches = {
            row[0]: Sketch(*row[1:]) for row in self._in(_SELECT_SKETCHES, sorted({row[2] for row in orphans}))
        }
        orphan_likeness = self._near_duplicates(orphan_sketches)
        for orphan, time, number in orphans:
            self._match(orphan, time, orphan_likeness[number])

    def _digests(self, sketch: Sketch) -> set[int]:
        return set(band_digests(sketch, self._competition, self._kind))

    def _execute(self, sql: str, rows: Sequence[tuple[Any, ...]]) -> None:
        if rows:
            self._connection.exec_driver_sql(sql, list(rows))

    def _in(
        self, sql: str, among: Collection[str] | Collection[int], *before: Any, after: tuple[Any, ...] = ()
    ) -> Sequence[Any]:
        """Run a query with a place `{}` for a list, passed as one parameter, so that few statements are cached."""
        query = sql.format("SELECT value FROM json_each(?)")
        return self._connection.exec_driver_sql(query, (*before, json.dumps(list(among)), *after)).all()

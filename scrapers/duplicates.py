"""Near-duplicates: which earlier post a new one repeats.

Two posts of a kind are alike if their texts are the same but for layout, or if the signatures of what they mainly are
agree in a share of `THRESHOLD` (see `scrapers.sketches`): of two kernels their code, or their prose where neither has
code; of two messages all that both have, prose and code. Only sketches that share a band of their signatures are
compared (LSH: of pairs at the threshold 99.8% do, of pairs at .3 one in a hundred), and a new post only with what
is stored. Each post is said to repeat the *earliest* post that it is like, so that neither the order in which posts come
nor how they are divided into batches matters.
"""

import hashlib
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Connection

from scrapers.sketches import PERMUTATIONS, Sketch
from state.store import Transaction, as_stored

THRESHOLD = 0.8
"""Share of equal numbers from which two signatures are of near-duplicates."""
BANDS = 21
ROWS = 6
"""Numbers a band."""
MOST_COMPARED = 1_000
"""Sketches that one is compared with: those that share the most bands with it."""

_BATCH = 400

_TIMES = {
    "message": "SELECT id, max(posted_at, coalesce(edited_at, posted_at)) FROM message"
    " WHERE competition = ? AND id IN ({}) AND NOT deleted AND posted_at IS NOT NULL",
    "kernel": "SELECT id, created_at FROM kernelversion WHERE competition = ? AND id IN ({}) AND created_at IS NOT NULL",
}
_KNOWN = "SELECT post_id, sketch, known_at FROM likeness WHERE competition = ? AND kind = ? AND post_id IN ({})"
_EARLIEST = (
    "SELECT post_id, known_at, sketch FROM likeness WHERE sketch IN ({}) AND (known_at, post_id) < (?, ?)"
    " ORDER BY known_at, post_id LIMIT 1"
)
_LATER = (
    "UPDATE likeness SET original = ?, original_at = ?, similarity = ? WHERE sketch = ? AND (known_at, post_id) > (?, ?)"
    " AND (original IS NULL OR (original_at, original) > (?, ?))"
)
_MATCHED = "UPDATE likeness SET original = ?, original_at = ?, similarity = ? WHERE competition = ? AND kind = ? AND post_id = ?"
_ORPHANS = "SELECT post_id, known_at, sketch FROM likeness WHERE sketch IN ({}) AND original = ?"
_SHARED = (
    "SELECT sketch FROM sketchband JOIN keptsketch ON id = sketch WHERE digest IN ({}) AND sketch <> ?"
    " GROUP BY sketch ORDER BY count(*) DESC, sha256 LIMIT ?"
)


@dataclass(frozen=True)
class Sketched:
    """A post that is stored, and the sketch of its text, None for a text without a word."""

    kind: Literal["message", "kernel"]
    id: str
    time: datetime | None
    """Since when the text is known; an older state than the stored one is passed over."""
    sketch: Sketch | None


def note_sketches(tx: Transaction, competition: str, posts: Iterable[Sketched]) -> None:
    """Find out what posts repeat, in the transaction that has stored them; one that comes again is looked at anew.

    What is deleted or has no time neither repeats anything nor is repeated.
    """
    tx.session.flush()
    by_kind: dict[str, dict[str, Sketched]] = {"message": {}, "kernel": {}}
    for post in posts:
        by_kind[post.kind][post.id] = post
    for kind, found in by_kind.items():
        book = _Book(tx.connection, competition, kind)
        ids = sorted(found)
        for start in range(0, len(ids), _BATCH):
            book.note([found[id] for id in ids[start : start + _BATCH]])


def similarity(one: Sketch, other: Sketch, kind: str) -> float:
    """Return how much of two texts of one kind is the same, from 0 to 1; 0 where they are not to be compared."""
    if one.sha256 == other.sha256:
        return 1.0
    parts = [(one.code, other.code), (one.prose, other.prose)]
    if kind == "kernel" and (one.code or other.code):
        parts = parts[:1]
    compared = [pair for pair in parts if pair != (None, None)]
    return min((_agreement(*pair) for pair in compared), default=0.0)


def _agreement(one: bytes | None, other: bytes | None) -> float:
    if one is None or other is None:
        return 0.0
    return sum(map(int.__eq__, array("I", one), array("I", other))) / PERMUTATIONS


def band_digests(sketch: Sketch, competition: str, kind: str) -> list[int]:
    """Return the hashes of the bands of what a text mainly is; none where nothing of it can be compared."""
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
    """The likenesses of one kind of posts of a competition."""

    def __init__(self, connection: Connection, competition: str, kind: str) -> None:
        # Statements without objects: several a post, at a tenth of the cost.
        self._connection = connection
        self._competition = competition
        self._kind = kind

    def note(self, posts: Sequence[Sketched]) -> None:
        ids = [post.id for post in posts]
        times = dict(self._in(_TIMES[self._kind], (self._competition,), ids))
        known = {row[0]: (row[1], row[2]) for row in self._in(_KNOWN, (self._competition, self._kind), ids)}
        for post in posts:
            time, old = times.get(post.id), known.get(post.id)
            if time is not None and (post.time is None or as_stored(post.time) != time):
                continue
            new = (self._keep(post.sketch), time) if time is not None and post.sketch is not None else None
            if old is not None and old != new:
                self._forget(post.id, old[0], keep=new[0] if new else None)
            if new is not None and old != new:
                self._place(post.id, *new)

    def _keep(self, sketch: Sketch) -> int:
        """Return the number of the stored sketch of the text, storing it if there is none."""
        where = (self._competition, self._kind, sketch.sha256)
        there = self._one("SELECT id FROM keptsketch WHERE competition = ? AND kind = ? AND sha256 = ?", where)
        if there is not None:
            return int(there[0])
        number = self._run(
            "INSERT INTO keptsketch (competition, kind, sha256, code, prose) VALUES (?, ?, ?, ?, ?) RETURNING id",
            (*where, sketch.code, sketch.prose),
        ).scalar_one()
        if bands := band_digests(sketch, self._competition, self._kind):
            rows = [(digest, number) for digest in set(bands)]
            self._connection.exec_driver_sql("INSERT INTO sketchband (digest, sketch) VALUES (?, ?)", rows)
        return int(number)

    def _place(self, id: str, sketch: int, time: str) -> None:
        """Add a post: find what it repeats, and let what is later and alike repeat it if it repeated a later one."""
        self._run(
            "INSERT INTO likeness (competition, kind, post_id, sketch, known_at) VALUES (?, ?, ?, ?, ?)",
            (self._competition, self._kind, id, sketch, time),
        )
        alike = self._alike(sketch)
        self._match(id, time, alike)
        for number, share in alike.items():
            self._run(_LATER, (id, time, share, number, time, id, time, id))

    def _match(self, id: str, time: str, alike: dict[int, float]) -> None:
        """Write down what a post repeats, if anything."""
        found = self._one(_EARLIEST.format(", ".join(map(str, alike))), (time, id))
        if found is None:
            original: tuple[Any, ...] = (None, None, None)
        else:
            original = (found[0], found[1], alike[found[2]])
        self._run(_MATCHED, (*original, self._competition, self._kind, id))

    def _alike(self, sketch: int) -> dict[int, float]:
        """Return the sketches that are nearly the same as one, itself included, with their similarity."""
        own = self._sketch(sketch)
        bands = band_digests(own, self._competition, self._kind)
        shared = self._run(_SHARED.format(", ".join("?" * len(bands))), (*bands, sketch, MOST_COMPARED))
        alike = {sketch: 1.0}
        for (number,) in shared.all():
            share = similarity(own, self._sketch(number), self._kind)
            if share >= THRESHOLD:
                alike[number] = share
        return alike

    def _sketch(self, number: int) -> Sketch:
        row = self._one("SELECT sha256, code, prose FROM keptsketch WHERE id = ?", (number,))
        return Sketch(*row) if row is not None else Sketch("", None, None)

    def _forget(self, id: str, sketch: int, keep: int | None) -> None:
        """Take a post away, and its sketch if no other has it and it is not to be kept; what repeated it is matched anew."""
        alike = self._alike(sketch)
        where = (self._competition, self._kind)
        self._run("DELETE FROM likeness WHERE competition = ? AND kind = ? AND post_id = ?", (*where, id))
        orphans = self._run(_ORPHANS.format(", ".join(map(str, alike))), (id,)).all()
        if sketch != keep and self._one("SELECT 1 FROM likeness WHERE sketch = ? LIMIT 1", (sketch,)) is None:
            bands = [(digest, sketch) for digest in set(band_digests(self._sketch(sketch), *where))]
            if bands:
                self._connection.exec_driver_sql("DELETE FROM sketchband WHERE digest = ? AND sketch = ?", bands)
            self._run("DELETE FROM keptsketch WHERE id = ?", (sketch,))
        for orphan, time, number in orphans:
            self._match(orphan, time, self._alike(number))

    def _run(self, sql: str, parameters: tuple[Any, ...]) -> Any:
        return self._connection.exec_driver_sql(sql, parameters)

    def _one(self, sql: str, parameters: tuple[Any, ...]) -> Any:
        return self._run(sql, parameters).first()

    def _in(self, sql: str, parameters: tuple[Any, ...], ids: Sequence[str]) -> Any:
        """Run a query with a place `{}` for a list of ids."""
        return self._run(sql.format(", ".join("?" * len(ids))), (*parameters, *ids)).all()

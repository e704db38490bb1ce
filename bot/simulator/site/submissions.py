"""The user's submissions: how many are allowed, the result of each, and when it becomes known."""

import hashlib
import random
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal

from bot.simulator.site.settings import SiteSettings
from scrapers.snapshots.snapshot import Snapshot

if TYPE_CHECKING:
    from bot.simulator.site.grader import Grade, Grader

Status = Literal["PENDING", "COMPLETE", "ERROR"]


class RerunFailed(Exception):
    """A submitted notebook failed on the hidden data; the text is all that Kaggle shows of it."""


@dataclass(frozen=True)
class Submission:
    """A submission as it stands at a time."""

    ref: int
    tag: str
    """Its description, in which a client puts its tag."""
    sha256: str
    at: datetime
    file_name: str
    size: int
    """Bytes."""
    status: Status = "PENDING"
    public_score: float | None = None
    private_score: float | None = None
    """Known to the site before the deadline, and shown after it."""
    error: str | None = None


@dataclass(frozen=True)
class _Taken:
    sent: Submission
    graded: "Future[Grade]"
    ready_at: datetime


@dataclass(frozen=True)
class Limits:
    """How many submissions there were, and how many more are allowed now."""

    today: int
    total: int
    allowed: int


class SubmissionDesk:
    """Takes submissions and grades them in a thread of its own; its answers depend on the time."""

    def __init__(self, snapshot: Snapshot, settings: SiteSettings, daily: int, refs: Iterator[int]) -> None:
        """Open the desk of a competition; `daily` submissions are allowed on a UTC day, and get the next of `refs`."""
        self._snapshot = snapshot
        self._settings = settings
        self._daily = daily
        self._refs = refs
        self._taken: list[_Taken] = []
        self._rng = random.Random(f"{settings.seed}/grading/{snapshot.card.slug}")  # noqa: S311 - nothing secret
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="grading")
        self._grader: Grader | None = None

    def warm(self) -> None:
        """Read the answers now, so that the first submission does not wait for that."""
        self._thread.submit(self._open)

    def settle(self) -> None:
        """Return when all submissions have been graded, which takes real time whatever the site's clock."""
        wait([kept.graded for kept in list(self._taken)])

    def close(self) -> None:
        """Stop grading."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def take(self, content: bytes | Callable[[], bytes], file_name: str, tag: str, now: datetime) -> int:
        """Take a submission and return its number; the caller has checked that it is allowed.

        Of a notebook `content` is a function that waits for the file, and raises RerunFailed.
        """
        ref = next(self._refs)
        ready = now + timedelta(seconds=self._rng.uniform(*self._settings.grading_seconds))
        known = content if isinstance(content, bytes) else b""
        sent = Submission(ref, tag, hashlib.sha256(known).hexdigest(), now, file_name, len(known))
        graded = self._thread.submit(self._grade, content, file_name)
        self._taken.append(_Taken(sent, graded, ready))
        return ref

    def all(self, now: datetime) -> list[Submission]:
        """Return all submissions as they stand, in order of arrival."""
        return [_as_of(kept, now) for kept in list(self._taken)]

    def find(self, ref: int, now: datetime) -> Submission | None:
        """Return the submission of that number."""
        return next((_as_of(kept, now) for kept in list(self._taken) if kept.sent.ref == ref), None)

    def limits(self, now: datetime, *, closed: bool) -> Limits:
        """Return the quota of the UTC day; submissions that failed do not count."""
        taken = self.all(now)
        today = sum(one.at.date() == now.date() and one.status != "ERROR" for one in taken)
        return Limits(today, len(taken), 0 if closed else max(0, self._daily - today))

    def best_public(self, now: datetime, count: int = 1) -> list[Submission]:
        """Return the submissions with the best public scores, best first; ties go to the earliest."""
        card = self._snapshot.card
        scored = [(one, one.public_score) for one in self.all(now) if one.status == "COMPLETE"]
        ranked = sorted(
            ((one, score) for one, score in scored if score is not None),
            key=lambda pair: (-card.oriented(pair[1]), pair[0].at),
        )
        return [one for one, _ in ranked[:count]]

    def final(self, now: datetime) -> Submission | None:
        """Return the submission that counts in the end: of the two best public ones, the one with the better private score."""
        chosen = [(one, one.private_score) for one in self.best_public(now, 2)]
        known = [(self._snapshot.card.oriented(score), one) for one, score in chosen if score is not None]
        return max(known, key=lambda pair: pair[0])[1] if known else None

    def _grade(self, content: bytes | Callable[[], bytes], file_name: str) -> "Grade":
        grader = self._open()
        from bot.simulator.site.grader import Grade

        if isinstance(content, bytes):
            return grader.grade(content, file_name)
        try:
            grade = grader.grade(content(), file_name)
        except RerunFailed as error:
            return Grade(error=str(error))
        # More words would tell about hidden rows.
        return replace(grade, error="Submission Scoring Error") if grade.error else grade

    def _open(self) -> "Grader":
        # Imported here, in the grading thread: numpy and scikit-learn take a second, and reading alone needs neither.
        from bot.simulator.site.grader import open_grader

        if self._grader is None:
            share = self._settings.public_share
            self._grader = open_grader(self._snapshot, seed=self._settings.seed, public_share=share)
        return self._grader


def references(seed: int) -> Iterator[int]:
    """Yield growing numbers of submissions, with gaps, as on a site that others submit to as well."""
    rng = random.Random(f"{seed}/submissions")  # noqa: S311 - nothing secret
    ref = 40_000_000 + rng.randrange(1_000_000)
    while True:
        ref += rng.randrange(1, 500)
        yield ref


def _as_of(kept: _Taken, now: datetime) -> Submission:
    if now < kept.ready_at or not kept.graded.done() or kept.graded.cancelled():
        return kept.sent
    if failure := kept.graded.exception():
        # The stand-in's own error may quote the answers, so only its type is shown.
        return replace(kept.sent, status="ERROR", error=f"Evaluation Exception: {type(failure).__name__}")
    grade = kept.graded.result()
    return replace(
        kept.sent,
        status="ERROR" if grade.error else "COMPLETE",
        public_score=grade.public,
        private_score=grade.private,
        error=grade.error,
    )

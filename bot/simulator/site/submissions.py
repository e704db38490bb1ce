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
class SimulatedSubmission:
    """A submission as it stands at a time."""

    ref: int
    tag: str
    """Its description, in which a client puts its tag."""
    sha256: str
    submitted_at: datetime
    file_name: str
    size: int
    """Bytes."""
    status: Status = "PENDING"
    public_score: float | None = None
    private_score: float | None = None
    """Known to the site before the deadline, and shown after it."""
    error: str | None = None


@dataclass(frozen=True)
class _ReceivedSubmission:
    submission: SimulatedSubmission
    graded: "Future[Grade]"
    ready_at: datetime


@dataclass(frozen=True)
class SimulatedQuota:
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
        self._taken: list[_ReceivedSubmission] = []
        self._rng = random.Random(f"{settings.seed}/grading/{snapshot.card.slug}")  # noqa: S311 - nothing secret
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="grading")
        self._grader: Grader | None = None

    def warm(self) -> None:
        """Read the answers now, so that the first submission does not wait for that."""
        self._thread.submit(self._open)

    def settle(self) -> None:
        """Return when all submissions have been graded, which takes real time whatever the site's clock."""
        wait([r.graded for r in list(self._taken)])

    def close(self) -> None:
        """Stop grading."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def take(self, content: bytes | Callable[[], bytes], file_name: str, tag: str, now: datetime) -> int:
        """Take a submission and return its number; the caller has checked that it is allowed.

        Of a notebook `content` is a function that waits for the file, and raises RerunFailed.
        """
        ref = next(self._refs)
        ready = now + timedelta(seconds=self._rng.uniform(*self._settings.grading_seconds))
        data = content if isinstance(content, bytes) else b""
        submission = SimulatedSubmission(ref, tag, hashlib.sha256(data).hexdigest(), now, file_name, len(data))
        graded = self._thread.submit(self._grade, content, file_name)
        self._taken.append(_ReceivedSubmission(submission, graded, ready))
        return ref

    def all(self, now: datetime) -> list[SimulatedSubmission]:
        """Return all submissions as they stand, in order of arrival."""
        return [_as_of(r, now) for r in list(self._taken)]

    def find(self, ref: int, now: datetime) -> SimulatedSubmission | None:
        """Return the submission of that number."""
        return next((_as_of(r, now) for r in list(self._taken) if r.submission.ref == ref), None)

    def limits(self, now: datetime, *, closed: bool) -> SimulatedQuota:
        """Return the quota of the UTC day; submissions that failed do not count."""
        submissions = self.all(now)
        today = sum(s.submitted_at.date() == now.date() and s.status != "ERROR" for s in submissions)
        return SimulatedQuota(today, len(submissions), 0 if closed else max(0, self._daily - today))

    def best_public(self, now: datetime, count: int = 1) -> list[SimulatedSubmission]:
        """Return the submissions with the best public scores, best first; ties go to the earliest."""
        card = self._snapshot.card
        with_score = [(s, s.public_score) for s in self.all(now) if s.status == "COMPLETE"]
        ranking = sorted(
            ((s, score) for s, score in with_score if score is not None),
            key=lambda pair: (-card.oriented(pair[1]), pair[0].submitted_at),
        )
        return [s for s, _ in ranking[:count]]

    def final(self, now: datetime) -> SimulatedSubmission | None:
        """Return the submission that counts in the end: of the two best public ones, the one with the better private score."""
        best = [(s, s.private_score) for s in self.best_public(now, 2)]
        by_score = [(self._snapshot.card.oriented(score), s) for s, score in best if score is not None]
        return max(by_score, key=lambda pair: pair[0])[1] if by_score else None

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


def _as_of(received: _ReceivedSubmission, now: datetime) -> SimulatedSubmission:
    if now < received.ready_at or not received.graded.done() or received.graded.cancelled():
        return received.submission
    if failure := received.graded.exception():
        # The stand-in's own error may quote the answers, so only its type is shown.
        return replace(received.submission, status="ERROR", error=f"Evaluation Exception: {type(failure).__name__}")
    grade = received.graded.result()
    return replace(
        received.submission,
        status="ERROR" if grade.error else "COMPLETE",
        public_score=grade.public,
        private_score=grade.private,
        error=grade.error,
    )

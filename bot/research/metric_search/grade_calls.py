"""Which metric a competition's own `grade.py` computes: the question, and its scores for trial submissions."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bot.evaluation.graders.process import GraderLimits, GraderProcess
from scrapers.snapshots.card import Direction
from state.errors import GraderStopped, InvalidSubmission, Problem, SnapshotError


@dataclass(frozen=True)
class MetricQuestion:
    """The files and columns from which a metric is identified; all files exist."""

    slug: str
    grader: Path
    """`grade.py`, with the modules that it imports beside it."""
    answers: Path
    """As `grade.py` takes them."""
    truth: Path | None
    """The snapshot's answers: the key and the prediction columns; None where the true predictions are not known."""
    sample: Path
    key: tuple[str, ...]
    """The columns that identify a row."""
    board_lower_is_better: bool | None
    """The direction by the leaderboard's order; None if it shows none."""


@dataclass(frozen=True)
class FoundMetric:
    """A metric of the registry that agrees with the grader, or the grader itself."""

    name: str
    """`grade.py` where no metric in the registry agrees."""
    direction: Direction
    explanation: str
    """One sentence: how it was found."""
    params: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


FindMetric = Callable[[MetricQuestion], FoundMetric]
"""Raises SnapshotError if the grader does not work, or contradicts the leaderboard."""
_MEMORY = 12 * 1024**3
_SECONDS, _MAX_SECONDS = 120.0, 600.0
_SECONDS_A_MILLION = 60.0
"""Additional seconds per million rows: the largest tables have ten million rows of text."""
_CHUNK = 1 << 20


@dataclass(frozen=True)
class GraderAnswer:
    """The answer of `grade.py` for one submission: a score, or None and the reason."""

    score: float | None
    fault: str | None = None


GradeCall = Callable[[Path], GraderAnswer]
"""Scores one submission file, as it is."""


@contextlib.contextmanager
def grader_of(grade_py: Path, answers: Path) -> Iterator[GradeCall]:
    """Keep a grader's process open for many submissions; `answers` is as it takes them (`.csv` or `.jsonl`).

    Raises:
        SnapshotError: by the call: `grade.py` cannot be used, or takes more than `limits_for` allows.
        InfrastructureFailure: by the call: no process can be started.
    """
    with contextlib.closing(GraderProcess(grade_py, limits_for(answers))) as process:
        truth = process.load(answers)

        def call(submission: Path) -> GraderAnswer:
            handle = process.load(submission)
            try:
                score = process.score(handle, truth)
            except InvalidSubmission as error:
                return GraderAnswer(None, str(error))
            except GraderStopped as error:
                raise SnapshotError([Problem(grade_py.name, None, str(error))]) from error
            finally:
                process.drop(handle)
            return GraderAnswer(score, "no finite score" if score is None else None)

        yield call


def limits_for(answers: Path) -> GraderLimits:
    """Return the limits of a score: the seconds grow with the lines of the answers, so that a hanging grader is noticed."""
    with answers.open("rb") as file:
        lines = sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(_CHUNK), b""))
    return GraderLimits(
        seconds=min(_MAX_SECONDS, _SECONDS + _SECONDS_A_MILLION * lines / 1_000_000), memory_bytes=_MEMORY
    )

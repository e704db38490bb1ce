"""Scores of a competition's own `grade.py` for made submissions: a refusal is an answer too."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bot.evaluation.graders.process import GraderLimits, GraderProcess
from state.errors import GraderStopped, InvalidSubmission, Problem, SnapshotError

_MEMORY = 12 * 1024**3
_SECONDS, _LONGEST = 120.0, 600.0
_SECONDS_A_MILLION = 60.0
"""More for each million rows: an import meets the largest tables, ten million rows of text."""
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
    return GraderLimits(seconds=min(_LONGEST, _SECONDS + _SECONDS_A_MILLION * lines / 1_000_000), memory_bytes=_MEMORY)

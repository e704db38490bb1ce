"""The self-tests of a grader that a model wrote: what any official metric shows, tried on the real answers.

What a finding says goes back to the model, so it holds scores, kinds of exceptions and lines of the grader, and never a word
that the grader chose: that might be one of the answers.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bot.evaluation.graders.process import GraderLimits, GraderProcess
from bot.evaluation.graders.trial_files import TrialFiles, unknown_id
from bot.evaluation.leaderboard import board_is_lower_better
from bot.evaluation.tables import read_table
from scrapers.snapshots.card import TaskCard
from state.errors import GraderFailed, GraderStopped, InvalidSubmission, SnapshotError

SHUFFLES = 3
_CLOSE = 1e-9
_BOARD_CLOSE = 1e-4
"""Scores of a board are rounded, and those of its best may be perfect."""


@dataclass(frozen=True)
class Finding:
    """What one self-test found."""

    name: str
    passed: bool
    detail: str
    """A sentence; on a failure, what was wrong."""

    @property
    def sentence(self) -> str:
        """The finding with its name."""
        return f"{self.name}: {self.detail}"


@dataclass(frozen=True)
class _Said:
    """What a grader made of one submission: a score, no finite one, a refusal, or a failure in words of ours."""

    score: float | None = None
    refused: bool = False
    failed: str | None = None

    @property
    def words(self) -> str:
        if self.failed is not None:
            return self.failed
        return (
            "was refused"
            if self.refused
            else "has no finite score"
            if self.score is None
            else f"scores {self.score:.6g}"
        )


def run_self_tests(
    grade_py: Path,
    answers: Path,
    sample: Path,
    card: TaskCard,
    board: Sequence[float],
    folder: Path,
    limits: GraderLimits | None = None,
    *,
    must_contain: bool = True,
) -> list[Finding]:
    """Run every self-test on a grader.

    Args:
        grade_py: the grader.
        answers: the hidden answers, of which the id and the prediction columns are used.
        sample: the sample submission.
        card: the task.
        board: the leaderboard's scores, best first.
        folder: an empty one, for the submissions that are made.
        limits: of the grader's process.
        must_contain: whether to refuse to run it where bubblewrap does not work.

    Raises:
        InfrastructureFailure: its process does not start.
    """
    table = read_table(answers)
    columns = card.columns
    made = TrialFiles(folder, columns, [list(row) for row in table.columns(columns)], len(card.row_columns))
    with GraderProcess(grade_py, limits, must_contain=must_contain) as process:
        trial = _Trial(process, made, card)
        try:
            process.score(process.load(made.perfect), process.load(made.perfect))
        except (SnapshotError, GraderStopped) as error:
            return [Finding("loads", False, _of(error))]
        except InvalidSubmission:
            pass  # what it makes of a perfect submission is for the tests below
        return [Finding("loads", True, "it can be loaded"), *trial.all(sample, board)]


class _Trial:
    """The self-tests of one grader."""

    def __init__(self, process: GraderProcess, made: TrialFiles, card: TaskCard) -> None:
        self._process, self._made, self._card = process, made, card
        self._perfect = self._said(made.perfect)

    def all(self, sample: Path, board: Sequence[float]) -> list[Finding]:
        """Run them."""
        tests: tuple[tuple[str, Callable[[], str | None]], ...] = (
            ("perfect is best", self._perfect_is_best),
            ("shuffled is worse", self._shuffled_is_worse),
            ("constant is worse", lambda: self._constant_is_worse(sample)),
            ("the sample submission is valid", lambda: self._sample_is_valid(sample)),
            ("the direction agrees with the leaderboard", lambda: self._direction_agrees(board)),
            ("no team beats a perfect submission", lambda: self._nobody_beats_perfect(board)),
            ("deterministic", self._is_deterministic),
            ("the order of rows is irrelevant", self._order_is_irrelevant),
            ("wrong ids are refused", self._wrong_ids_are_refused),
            ("a missing column is refused", self._missing_column_is_refused),
            ("parts can be scored", self._parts_can_be_scored),
        )
        found = []
        for name, test in tests:
            fault = test()
            found.append(Finding(name, fault is None, fault or "as it must be"))
        return found

    def _said(self, path: Path) -> _Said:
        mine, truth = self._process.load(path), self._process.load(self._made.perfect)
        try:
            return _Said(self._process.score(mine, truth))
        except GraderFailed as error:
            return _Said(failed=_of(error))
        except InvalidSubmission:
            return _Said(refused=True)
        except (GraderStopped, SnapshotError) as error:
            return _Said(failed=_of(error))
        finally:
            self._process.drop(mine)
            self._process.drop(truth)

    def _better(self, left: float, right: float) -> bool:
        """Whether a score is better than another by more than rounding."""
        gain = self._card.oriented(left) - self._card.oriented(right)
        return gain > _CLOSE * max(1.0, abs(left), abs(right))

    def _perfect_is_best(self) -> str | None:
        if self._perfect.score is None:
            return f"a perfect submission {self._perfect.words}"
        others = [self._said(self._made.partly_shuffled()), *map(self._said, self._shuffles())]
        beaten = [one.score for one in others if one.score is not None and self._better(one.score, self._perfect.score)]
        if beaten:
            return f"a perfect submission {self._perfect.words}, one with predictions of other rows {beaten[0]:.6g}"
        return None

    def _shuffles(self) -> list[Path]:
        return [self._made.shuffled(seed) for seed in range(SHUFFLES)]

    def _shuffled_is_worse(self) -> str | None:
        return self._all_worse("one with shuffled predictions", self._shuffles())

    def _constant_is_worse(self, sample: Path) -> str | None:
        first, *_ = read_table(sample).columns(self._card.prediction_columns)
        constants = [
            self._made.constant(self._made.rows[0][self._made.width :], "first"),
            self._made.constant(first, "as-sample"),
        ]
        return self._all_worse("a constant one", constants, may_be_undefined=True)

    def _all_worse(self, what: str, paths: Sequence[Path], *, may_be_undefined: bool = False) -> str | None:
        if self._perfect.score is None:
            return f"a perfect submission {self._perfect.words}"
        for path in paths:
            said = self._said(path)
            if said.failed is None and not said.refused and said.score is None and may_be_undefined:
                continue  # a correlation with a constant is none
            if said.score is None or not self._better(self._perfect.score, said.score):
                return f"a perfect submission {self._perfect.words}, {what} {said.words}"
        return None

    def _sample_is_valid(self, sample: Path) -> str | None:
        said = self._said(sample)
        return f"the sample submission {said.words}" if said.refused or said.failed is not None else None

    def _direction_agrees(self, board: Sequence[float]) -> str | None:
        lower = board_is_lower_better(board)
        if board[0] != board[-1] and lower != self._card.lower_is_better:
            return f"the leaderboard holds {'lower' if lower else 'higher'} scores for better, the task says otherwise"
        if self._perfect.score is None:
            return f"a perfect submission {self._perfect.words}"
        scores = [said.score for path in self._shuffles() if (said := self._said(path)).score is not None]
        wrong = [one for one in scores if one is not None and self._better(one, self._perfect.score)]
        if wrong or not scores:
            is_better = "lower" if self._card.lower_is_better else "higher"
            return f"{is_better} is better, but a perfect submission {self._perfect.words} and shuffled ones {scores}"
        return None

    def _nobody_beats_perfect(self, board: Sequence[float]) -> str | None:
        if self._perfect.score is None:
            return f"a perfect submission {self._perfect.words}"
        beaten_by = self._card.oriented(board[0]) - self._card.oriented(self._perfect.score)
        if beaten_by > _BOARD_CLOSE * max(1.0, abs(board[0])):
            return f"a perfect submission {self._perfect.words}, but the best team has {board[0]:.6g}"
        return None

    def _is_deterministic(self) -> str | None:
        path = self._made.partly_shuffled()
        first, again = self._said(path), self._said(path)
        self._process.close()
        return next(
            (
                f"the same submission {first.words}, then {one.words}"
                for one in (again, self._said(path))
                if one != first
            ),
            None,
        )

    def _order_is_irrelevant(self) -> str | None:
        path = self._made.partly_shuffled()
        header, rows = read_table(path).header, list(read_table(path).rows())
        straight = self._said(path)
        for name, turned in (("reversed", rows[::-1]), ("sorted", sorted(rows, key=lambda row: row[1:]))):
            said = self._said(self._made.write(name, turned, header))
            if (
                straight.score is None
                or said.score is None
                or not math.isclose(straight.score, said.score, rel_tol=1e-7, abs_tol=1e-9)
            ):
                return f"a submission {straight.words}, and with the same rows {name} {said.words}"
        return None

    def _wrong_ids_are_refused(self) -> str | None:
        rows, width = self._made.rows, self._made.width
        wrong = {
            "an unknown id for a known one": [*rows[:-1], [unknown_id(rows), *rows[-1][1:]]],
            "a missing row": rows[:-1],
            "one id twice and another missing": [*rows[:-1], [*rows[0][:width], *rows[-1][width:]]],
            "a row too many": [*rows, rows[0]],
        }
        for name, changed in wrong.items():
            said = self._said(self._made.write("wrong-ids", changed))
            if not said.refused:
                return f"a submission with {name} must raise InvalidSubmissionError, but {said.words}"
        return None

    def _missing_column_is_refused(self) -> str | None:
        columns = self._card.columns
        for at in (0, len(columns) - 1):
            cut = [row[:at] + row[at + 1 :] for row in self._made.rows]
            said = self._said(self._made.write("missing-column", cut, columns[:at] + columns[at + 1 :]))
            if not said.refused:
                kind = "the id column" if at == 0 else "a prediction column"
                return f"a submission without {kind} must raise InvalidSubmissionError, but {said.words}"
        return None

    def _parts_can_be_scored(self) -> str | None:
        perfect = self._process.load(self._made.perfect)
        part = range(0, len(self._made.rows), 2)
        try:
            self._process.score(perfect, perfect, part)
        except InvalidSubmission as error:
            said = _of(error) if isinstance(error, GraderFailed) else "was refused"
            return f"a perfect submission of every second row of the answers, with the same rows of the answers, {said}"
        except GraderStopped as error:
            return _of(error)
        finally:
            self._process.drop(perfect)
        return None


def _of(error: GraderFailed | GraderStopped | SnapshotError) -> str:
    """Say how a grader failed without a word of its own."""
    if isinstance(error, GraderFailed):
        where = "" if error.line is None else f" in line {error.line}"
        return f"made the grader fail with {error.kind}{where}"
    if isinstance(error, SnapshotError):
        lines = [problem.line for problem in error.problems if problem.line is not None]
        where = f" (line {lines[0]})" if lines else ""
        return f"it cannot be loaded{where}; only Python's library, numpy, pandas, scipy and scikit-learn are there"
    return "made the grader take more time or memory than it may, or end"

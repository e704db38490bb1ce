"""The typed client of the worker process, which holds pandas, numpy and scikit-learn so that the bot's own process never does.

Each method calls the function with its name, which documents the arguments and the errors. Any of them may
raise InfrastructureFailure: the worker failed, or took too long.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, cast

from bot.evaluation.answers import (
    Agreement,
    Grade,
    HiddenScores,
    Interval,
    LabelledView,
    Noise,
    OtherNode,
    PublicCopy,
    ScoredFiles,
    ScoredHint,
)
from bot.evaluation.answers.blends import Blended, Member, Recipe
from bot.evaluation.answers.choices import Candidate, Choice, Predictions
from bot.evaluation.answers.findings import Finding
from bot.evaluation.client.process import DEFAULT_SECONDS, WorkerProcess
from scrapers.imports.mle_bench.metric_question import FoundMetric, Question
from scrapers.snapshots.card import TaskCard

# What is no class is no `type` to a type checker.
_SKETCH = cast("type[dict[str, str | None] | None]", dict[str, str | None] | None)
_CORRELATION = cast("type[float | None]", float | None)


class Worker(WorkerProcess):
    """The functions of the worker."""

    async def build_view(
        self, data_dir: Path, card: TaskCard, name: str, seed: int, out_dir: Path, labels_dir: Path
    ) -> None:
        """Build a view of a competition's data."""
        await self.call(
            "bot.evaluation.views.build:build_view",
            object,
            card=card,
            name=name,
            seed=seed,
            data_dir=data_dir,
            out_dir=out_dir,
            labels_dir=labels_dir,
        )

    async def build_folds(
        self, data_dir: Path, card: TaskCard, seed: int, folds: int, out_dir: Path, labels_dir: Path
    ) -> str:
        """Give each training row of the hold-out view a fold."""
        return await self.call(
            "bot.evaluation.views.build:build_folds",
            str,
            card=card,
            seed=seed,
            folds=folds,
            data_dir=data_dir,
            out_dir=out_dir,
            labels_dir=labels_dir,
        )

    async def share_everything(
        self, data_dir: Path, card: TaskCard, reason: str, out_dir: Path, labels_dir: Path
    ) -> None:
        """Build a view that withholds nothing."""
        await self.call(
            "bot.evaluation.views.build:share_everything",
            object,
            card=card,
            reason=reason,
            data_dir=data_dir,
            out_dir=out_dir,
            labels_dir=labels_dir,
        )

    async def describe_split(self, data_dir: Path, card: TaskCard, seed: int) -> str:
        """Return how rows will be withheld."""
        return await self.call(
            "bot.evaluation.views.described:describe_split", str, card=card, data_dir=data_dir, seed=seed
        )

    async def check_view_scorable(self, view: LabelledView) -> None:
        """Check that right predictions of a view have a score."""
        await self.call("bot.evaluation.scoring.score:check_view_scorable", object, view=view)

    async def check_form(self, submission_path: Path, view_dir: Path, card: TaskCard) -> None:
        """Check that a file could be handed in."""
        await self.call(
            "bot.evaluation.scoring.prediction_file:check_form",
            object,
            card=card,
            submission_path=submission_path,
            view_dir=view_dir,
        )

    async def preview(self, data_dir: Path, card: TaskCard, labels_dir: Path | None, doubts: Sequence[str]) -> str:
        """Describe a data folder."""
        return await self.call(
            "bot.evaluation.preview:preview", str, card=card, doubts=doubts, data_dir=data_dir, labels_dir=labels_dir
        )

    async def score_execution(
        self, view: LabelledView, predictions: Path, submission: Path, bank: Path | None = None
    ) -> ScoredFiles:
        """Score what one execution wrote, and keep what it predicted."""
        return await self.call(
            "bot.evaluation.scoring.score:score_execution",
            ScoredFiles,
            view=view,
            predictions=predictions,
            submission=submission,
            bank=bank,
        )

    async def score_hint(
        self, view: LabelledView, predictions: Path, shelf: Path, against: str | None, seed: int, seconds: float
    ) -> ScoredHint:
        """Score out-of-fold predictions, and keep them; raises InvalidSubmission where they have no score."""
        return await self.call(
            "bot.evaluation.scoring.score:score_hint",
            ScoredHint,
            view=view,
            predictions=predictions,
            shelf=shelf,
            against=against,
            seed=seed,
            seconds=seconds,
        )

    async def score_noise(
        self, view: LabelledView, predictions: Path, other: Path | None, seed: int, seconds: float
    ) -> Noise:
        """Estimate the standard error of a score, and of its difference to another's."""
        return await self.call(
            "bot.evaluation.scoring.noise:score_noise",
            Noise,
            view=view,
            seed=seed,
            seconds=seconds,
            predictions=predictions,
            other=other,
        )

    async def blend(
        self, view: LabelledView, members: Sequence[Member], bank: Path, seed: int, seconds: float
    ) -> Blended:
        """Fit a blend on the hold-out rows; raises NoBlend where nothing can be blended."""
        return await self.call(
            "bot.evaluation.blending.blend:blend",
            Blended,
            timeout_seconds=60 + 10 * seconds,
            view=view,
            members=members,
            bank=bank,
            seed=seed,
            seconds=seconds,
        )

    async def write_blend(
        self, recipe: Recipe, submissions: Mapping[int, Path], view_dir: Path, card: TaskCard, out: Path
    ) -> None:
        """Write the file that a blend makes of its members' submissions."""
        await self.call(
            "bot.evaluation.blending.blend:write_blend",
            object,
            recipe=recipe,
            submissions=submissions,
            view_dir=view_dir,
            card=card,
            out=out,
        )

    async def choose_candidate(
        self, candidates: Sequence[Candidate], predictions: Sequence[Predictions], seed: int, seconds: float
    ) -> Choice:
        """Put candidates in order by all rows that they were scored on."""
        return await self.call(
            "bot.evaluation.choosing.parts:choose_candidate",
            Choice,
            timeout_seconds=60 + 10 * seconds,
            candidates=candidates,
            predictions=predictions,
            seed=seed,
            seconds=seconds,
        )

    async def validation_interval(
        self, view: LabelledView, predictions: Path, seed: int, of: Literal["refit", "holdout", "final"], seconds: float
    ) -> Interval:
        """Return where the hidden score, or the final score, is to be expected."""
        return await self.call(
            "bot.evaluation.scoring.interval:validation_interval",
            Interval,
            timeout_seconds=12 * seconds,
            view=view,
            predictions=predictions,
            seed=seed,
            of=of,
            seconds=seconds,
        )

    async def guard_view(self, view: LabelledView, seconds: float) -> tuple[Finding, ...]:
        """Look for leaks of the competition itself."""
        return await self.call(
            "bot.evaluation.guards.running:guard_view",
            tuple[Finding, ...],
            timeout_seconds=2 * seconds,
            view_dir=view.data,
            labels_dir=view.labels,
            card=view.card,
            seconds=seconds,
        )

    async def guard_execution(
        self,
        view: LabelledView,
        predictions: Path,
        submission: Path,
        score: float,
        output: str,
        others: Sequence[OtherNode],
        folds: Sequence[float],
        board: Sequence[float],
        seed: int,
        seconds: float,
    ) -> tuple[Finding, ...]:
        """Look at what an execution left beside its score."""
        return await self.call(
            "bot.evaluation.guards.running:guard_execution",
            tuple[Finding, ...],
            timeout_seconds=2 * seconds,
            labels_dir=view.labels,
            view_dir=view.data,
            predictions_path=predictions,
            submission_path=submission,
            card=view.card,
            score=score,
            output=output,
            others=others,
            folds=folds,
            board=board,
            seed=seed,
            seconds=seconds,
            grader=view.grader,
        )

    async def agree(
        self, view: LabelledView, refitted: Path, scored: Path, predictions: Path, alike: Sequence[Path]
    ) -> Agreement:
        """Compare a refit's predictions of the test rows with those of its scored run."""
        return await self.call(
            "bot.evaluation.scoring.agreement:agree",
            Agreement,
            view=view,
            refitted=refitted,
            scored=scored,
            predictions=predictions,
            alike=alike,
        )

    async def check_file(self, file: Path, view_dir: Path, outputs: Path | None, card: TaskCard) -> PublicCopy:
        """Validate a file, and look for it among public ones."""
        return await self.call(
            "bot.evaluation.guards.copies:check_file",
            PublicCopy,
            card=card,
            file=file,
            view_dir=view_dir,
            outputs=outputs,
        )

    async def sketch_script(self, text: str) -> dict[str, str | None] | None:
        """Return a script's sketch, its signatures in base64."""
        return await self.call("bot.evaluation.guards.copies:sketch_script", _SKETCH, text=text)

    async def grade(self, snapshot_dir: Path, card: TaskCard, submission_path: Path) -> Grade:
        """Grade one submission file against a snapshot."""
        return await self.call(
            "bot.evaluation.grading.grade:grade",
            Grade,
            card=card,
            snapshot_dir=snapshot_dir,
            submission_path=submission_path,
        )

    async def grade_some(
        self, snapshot_dir: Path, card: TaskCard, submission_paths: Sequence[Path | None]
    ) -> list[Grade]:
        """Grade the first of many submission files, one at least."""
        return await self.call(
            "bot.evaluation.grading.grade:grade_some",
            list[Grade],
            timeout_seconds=2 * DEFAULT_SECONDS,
            snapshot_dir=snapshot_dir,
            card=card,
            submission_paths=submission_paths,
        )

    async def grade_nodes(
        self, snapshot_dir: Path, card: TaskCard, files: dict[int, Path], validation: dict[int, float]
    ) -> HiddenScores:
        """Grade every node's submission."""
        return await self.call(
            "bot.evaluation.grading.hidden:grade_nodes",
            HiddenScores,
            snapshot_dir=snapshot_dir,
            card=card,
            files=files,
            validation=validation,
        )

    async def rank_correlation(self, validation: Sequence[float], hidden: Sequence[float]) -> float | None:
        """Return Spearman's correlation of two scores of the same things."""
        return await self.call(
            "bot.evaluation.grading.hidden:rank_correlation", _CORRELATION, validation=validation, hidden=hidden
        )

    async def find_metric(self, question: Question) -> FoundMetric:
        """Find out which metric a competition's own grader computes."""
        return await self.call(
            "bot.evaluation.grading.find_metric:find_metric",
            FoundMetric,
            grader=question.grader,
            answers=question.answers,
            truth=question.truth,
            sample=question.sample,
            key=question.key,
            board_lower_is_better=question.board_lower_is_better,
        )

    async def write_report(self, folder: Path, database: Path) -> None:
        """Draw a finished run's page."""
        await self.call("bot.report.page:write_report", object, folder=folder, database=database)

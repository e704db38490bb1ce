"""The typed client of the worker process, which holds pandas, numpy and scikit-learn so that the bot's own process never does.

Each method calls the function with its name, which documents the arguments and the errors. Any of them may
raise InfrastructureFailure: the worker failed, or took too long.
"""

# mypy: disable-error-code="empty-body"

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from bot.evaluation.answers import (
    Agreement,
    Grade,
    HiddenScores,
    Interval,
    LabelledView,
    OtherNode,
    PublicCopy,
    Score,
    ScoredFiles,
)
from bot.evaluation.answers.blends import Blended, Member, Recipe
from bot.evaluation.answers.choices import Candidate, Choice, Predictions
from bot.evaluation.answers.experiments import FitRows, PresentEnsemble, Reference, Role, ScoredExperiment
from bot.evaluation.answers.findings import Finding
from bot.evaluation.answers.view_names import Withholding
from bot.evaluation.client.process import DEFAULT_SECONDS, WorkerProcess, remote
from scrapers.snapshots.card import TaskCard

_VIEWS = "bot.evaluation.views.build"
_BLEND = "bot.evaluation.blending.blend"
_EXPERIMENT = "bot.evaluation.experiments.score"
_FIT_ROWS = "bot.evaluation.experiments.fit_rows"
_GUARDS = "bot.evaluation.guards.running"
_COPIES = "bot.evaluation.guards.copies"
_GRADE = "bot.evaluation.grading.grade"


class Worker(WorkerProcess):
    """The functions of the worker."""

    @remote(_VIEWS)
    async def build_view(
        self,
        data_dir: Path,
        card: TaskCard,
        name: str,
        seed: int,
        out_dir: Path,
        labels_dir: Path,
        withholding: Withholding = "script",
    ) -> None:
        """Build a view of a competition's data."""

    @remote(_VIEWS)
    async def build_folds(
        self,
        data_dir: Path,
        card: TaskCard,
        seed: int,
        folds: int,
        out_dir: Path,
        labels_dir: Path,
        withholding: Withholding = "script",
        everything: bool = False,
    ) -> str:
        """Give each training row of the hold-out view, or of the competition, a fold."""

    @remote(_VIEWS)
    async def share_everything(
        self, data_dir: Path, card: TaskCard, reason: str, out_dir: Path, labels_dir: Path
    ) -> None:
        """Build a view that withholds nothing."""

    @remote(_VIEWS)
    async def describe_split(
        self, data_dir: Path, card: TaskCard, seed: int, withholding: Withholding = "script"
    ) -> str:
        """Return how rows will be withheld."""

    @remote("bot.evaluation.scoring.score")
    async def check_view_scorable(self, view: LabelledView) -> None:
        """Check that right predictions of a view have a score."""

    @remote("bot.evaluation.scoring.prediction_file")
    async def check_form(self, submission_path: Path, view_dir: Path, card: TaskCard) -> None:
        """Check that a file could be handed in."""

    @remote("bot.evaluation.preview")
    async def preview(self, data_dir: Path, card: TaskCard, labels_dir: Path | None, doubts: Sequence[str]) -> str:
        """Describe a data folder."""

    @remote("bot.evaluation.scoring.score")
    async def score_execution(
        self,
        view: LabelledView,
        predictions: Path,
        submission: Path,
        bank: Path | None = None,
        other: Path | None = None,
        seed: int | None = None,
    ) -> ScoredFiles:
        """Score what one execution wrote, and keep what it predicted."""

    @remote("bot.evaluation.scoring.score")
    async def score_predictions(self, view: LabelledView, predictions: Path, other: Path | None, seed: int) -> Score:
        """Score predictions of a view's validation rows, with standard error and gain; raises InvalidSubmission."""

    @remote(_EXPERIMENT)
    async def score_experiment(
        self,
        folds: LabelledView | None,
        view: LabelledView,
        files: Mapping[Role, Path],
        bank: Path,
        against: Reference | None,
        reference: Reference | None,
        ensemble: PresentEnsemble | None,
        check: bool,
        seed: int,
    ) -> ScoredExperiment:
        """Score an experiment from its arrays, and keep them; raises InvalidSubmission where they have no score."""

    @remote(_EXPERIMENT)
    async def take_test(
        self, folds: LabelledView | None, view: LabelledView, file: Path, bank: Path, oof: str | None, seed: int
    ) -> str:
        """Keep an array of test predictions, and return its file in the bank; raises InvalidSubmission."""

    @remote(_FIT_ROWS)
    async def write_fit_rows(
        self, view: LabelledView, folds: LabelledView, features: Mapping[str, Path], out: Path
    ) -> FitRows:
        """Write the labels and folds that a portfolio fit learns from; raises InvalidSubmission."""

    @remote(_FIT_ROWS)
    async def write_all_fit_rows(
        self, view: LabelledView, folds: LabelledView, sealed: LabelledView, features: Mapping[str, Path], out: Path
    ) -> FitRows:
        """Write the labels, folds and features of all labelled rows; raises InvalidSubmission."""

    @remote(_BLEND, seconds=240)
    async def blend(
        self,
        view: LabelledView,
        members: Sequence[Member],
        bank: Path,
        seed: int,
        withheld: LabelledView | None = None,
    ) -> Blended:
        """Fit a blend on a view's rows; raises NoBlend where nothing can be blended."""

    @remote(_BLEND)
    async def write_blend(
        self, recipe: Recipe, submissions: Mapping[int, Path], view_dir: Path, card: TaskCard, out: Path
    ) -> None:
        """Write the file that a blend makes of its members' submissions."""

    @remote(_BLEND)
    async def write_predictions(self, predictions: Path, view_dir: Path, card: TaskCard, out: Path) -> None:
        """Write predictions of the test rows in the form of the sample submission."""

    @remote("bot.evaluation.choosing")
    async def choose_candidate(
        self, candidates: Sequence[Candidate], predictions: Sequence[Predictions], seed: int
    ) -> Choice:
        """Put candidates in order by all rows that they were scored on."""

    @remote("bot.evaluation.scoring.interval", seconds=0, factor=12)
    async def validation_interval(
        self, view: LabelledView, predictions: Path, seed: int, of: Literal["refit", "holdout", "final"], seconds: float
    ) -> Interval:
        """Return where the hidden score, or the final score, is to be expected."""

    @remote(_GUARDS, seconds=0, factor=2)
    async def guard_view(self, view: LabelledView, seconds: float) -> tuple[Finding, ...]:
        """Look for leaks of the competition itself."""

    @remote(_GUARDS, seconds=0, factor=2)
    async def guard_execution(
        self,
        view: LabelledView,
        predictions: Path,
        submission: Path,
        score: float,
        output: str,
        others: Sequence[OtherNode],
        board: Sequence[float],
        seed: int,
        seconds: float,
    ) -> tuple[Finding, ...]:
        """Look at what an execution left beside its score."""

    @remote("bot.evaluation.scoring.agreement")
    async def agree(
        self, view: LabelledView, refitted: Path, scored: Path, predictions: Path, alike: Sequence[Path]
    ) -> Agreement:
        """Compare a refit's predictions of the test rows with those of its scored run."""

    @remote(_COPIES)
    async def check_file(self, file: Path, view_dir: Path, outputs: Path | None, card: TaskCard) -> PublicCopy:
        """Validate a file, and look for it among public ones."""

    @remote(_COPIES)
    async def sketch_script(self, text: str) -> dict[str, str | None] | None:
        """Return a script's sketch, its signatures in base64."""

    @remote(_GRADE)
    async def grade(self, snapshot_dir: Path, card: TaskCard, submission_path: Path) -> Grade:
        """Grade one submission file against a snapshot."""

    @remote(_GRADE, seconds=2 * DEFAULT_SECONDS)
    async def grade_some(
        self, snapshot_dir: Path, card: TaskCard, submission_paths: Sequence[Path | None]
    ) -> list[Grade]:
        """Grade the first of many submission files, one at least."""

    @remote(_GRADE)
    async def grade_nodes(
        self, snapshot_dir: Path, card: TaskCard, files: dict[int, Path], validation: dict[int, float]
    ) -> HiddenScores:
        """Grade every node's submission."""

    @remote(_GRADE)
    async def rank_correlation(self, validation: Sequence[float], hidden: Sequence[float]) -> float | None:
        """Return Spearman's correlation of two scores of the same things."""

    @remote("bot.report.page")
    async def write_report(self, folder: Path, database: Path) -> None:
        """Draw a finished run's page."""

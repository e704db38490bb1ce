"""The worker's arguments and answers: light types, which the bot's own process can import."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bot.evaluation.answers.board import MEDALS, Medal
from bot.evaluation.answers.findings import GuardFinding
from bot.evaluation.graders import GraderKind
from scrapers.snapshots.card import TaskCard
from state.closed_model import ClosedModel


@dataclass(frozen=True)
class LabelledView:
    """A view of a task's data with the labels that it withholds, and the metric for its predictions."""

    data: Path
    """The folder that scripts see."""
    labels: Path
    """The folder with labels.csv, and which of its rows are scored apart, for the worker alone."""
    card: TaskCard
    grader: Path | None = None
    """The competition's grade.py, for a metric that the registry does not know."""

    @property
    def truth(self) -> Path:
        """The labels."""
        return self.labels / "labels.csv"


@dataclass(frozen=True)
class OtherNode:
    """A node that was scored before, on the same view."""

    node: int
    score: float
    """In the metric's own sign."""
    predictions: Path
    submission: Path


@dataclass(frozen=True)
class Gain:
    """How much better a score is than another: above 0 is better, whatever the metric's sign."""

    value: float
    std_error: float | None
    """Of the paired difference; None: unknown."""
    over: str = ""
    """What it is compared with, such as an experiment's name."""


@dataclass(frozen=True)
class NodeScore:
    """The score of one node's predictions, with the files of the run's bank that have them."""

    value: float
    """In the metric's own sign: out of fold if there are such predictions, else of the hold-out."""
    std_error: float | None = None
    """None: unknown."""
    gain: Gain | None = None
    """Over the node that it is compared with, on the rows that both predict."""
    final: float | None = None
    """Score of the internal test, neither shown nor used before the run's end; None: there are no such rows."""
    predictions: str | None = None
    """Of the validation rows."""
    submission: str | None = None
    oof: str | None = None
    """Of the training rows, out of fold."""
    guards: tuple[GuardFinding, ...] = ()
    """The guards' findings; on the hold-out view alone."""

    @property
    def spoiled(self) -> bool:
        """Whether a guard found the file for the test rows worthless, whatever the value is."""
        return any(finding.spoils for finding in self.guards)


@dataclass(frozen=True)
class ScoredFiles:
    """The evaluation of one execution's files; score and validity do not depend on each other."""

    score: NodeScore | None
    valid: bool
    """Whether the submission is valid."""
    fine: bool
    """Whether both files are, even if there is no score because the truth, or these predictions, cannot be scored."""
    message: str | None = None
    """Why there is no score, or what is wrong; None if nothing is."""


@dataclass(frozen=True)
class Interval:
    """The interval that contains the hidden score in 95 of 100 cases."""

    low: float | None
    high: float | None
    note: str | None
    """Why there are none; None: there are."""
    draws: int
    unit_column: str | None
    """The column by which validation rows were drawn together; None: each was drawn by itself."""
    test_rows: int


@dataclass(frozen=True)
class Agreement:
    """Whether a refit's predictions of the test rows stay near enough to the scored run's."""

    agrees: bool
    message: str
    """How far they moved, and what is expected; empty where they agree."""


@dataclass(frozen=True)
class PublicCopy:
    """Whether a valid file is the same as a public one."""

    copied: str | None
    """A sentence that names the public file it is the same as."""
    file_count: int
    """Number of files it was compared with."""


@dataclass(frozen=True)
class HiddenScore:
    """A node's score on the hidden test, or on the public leaderboard; None where it has none."""

    score: float | None
    win_rate: float | None
    message: str | None = None
    """Why there is no score."""


@dataclass(frozen=True)
class HiddenScores:
    """The hidden scores of a run's nodes, and how well the validation scores ordered them."""

    nodes: Mapping[int, HiddenScore]
    rank_correlation: float | None = None
    """Spearman's, +1 if validation orders as the test does; None with fewer than two nodes, or where one side is constant."""
    compared_count: int = 0
    """Number of nodes in that correlation."""
    best_node: int | None = None
    """The first one if several are equal."""
    regret: Mapping[int, float] = field(default_factory=dict)
    """For each valid node, how much worse its hidden score is than the best one's (never negative)."""


class GradeReport(ClosedModel):
    """MLE-bench's report of one submission under its names, with ours: `win_rate`, `n_teams`, `grader`, `message`, `note`."""

    competition_id: str
    score: float | None
    gold_threshold: float | None
    silver_threshold: float | None
    bronze_threshold: float | None
    median_threshold: float | None
    any_medal: bool
    gold_medal: bool
    silver_medal: bool
    bronze_medal: bool
    above_median: bool
    submission_exists: bool
    valid_submission: bool
    is_lower_better: bool
    created_at: str
    submission_path: str
    """`None` where a run left no file, as MLE-bench writes it."""
    win_rate: float
    n_teams: int
    grader: GraderKind
    """The source of the score."""
    message: str | None = None
    """Why an invalid file is invalid."""
    note: str | None = None
    """A note on an odd leaderboard."""

    @property
    def medal(self) -> Medal | None:
        """The medal that was won."""
        return next((name for name in MEDALS if getattr(self, f"{name}_medal")), None)

    @property
    def thresholds(self) -> dict[str, float]:
        """Known lines of the leaderboard by name, best first."""
        lines = {name: getattr(self, f"{name}_threshold") for name in (*MEDALS, "median")}
        return {name: value for name, value in lines.items() if value is not None}

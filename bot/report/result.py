"""result.json: MLE-bench's report under its names, and figures on how well the machinery works."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from pydantic import ValidationError

from bot.budgets.figures import Figure
from bot.community.reproduction.reproducing import KernelFigures
from bot.evaluation.answers import GradeReport
from bot.evaluation.answers.diagnostics import Diagnostics
from bot.evaluation.answers.findings import GuardFinding
from bot.execution.folder import RunFolder
from bot.knowledge.settings import KnowledgeMode
from bot.models import Totals
from bot.report.stream import StreamRecord
from bot.submission.selection import Selection
from state.closed_model import ClosedModel
from state.errors import UsageError
from state.files import write_whole

NOT_DRAWN = "the bot stopped before it wrote the report"
"""The `report_error` of a run whose end was interrupted."""


class SentFile(ClosedModel):
    """One submission of a live run; a score is None until the site shows it."""

    tag: str
    node: int
    validation: float | None = None
    public: float | None = None
    private: float | None = None
    at: datetime | None = None


class RoleFigures(ClosedModel):
    """What one role of the model spent, and what came of its answers; `cost_usd` None if a price is unknown."""

    role: str
    models: tuple[str, ...]
    """That answered, in order of first use."""
    calls: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    cost_usd: float | None
    seconds: float
    """In calls; those of parallel calls add up."""
    came_of: Mapping[str, int]
    """Counts in words, such as `drafts`, `with a score`, `gained beyond noise`; empty for a role that nothing is counted of."""


class FinalFile(ClosedModel):
    """One of the two files that a competitor would pick in the end."""

    node: int
    validation: float | None
    hidden: float | None
    """Of what was submitted, or else of the scored run's file; None: it was not graded."""


@dataclass(frozen=True)
class NodeFinding(GuardFinding):
    """What one guard found."""

    node: int | None = None
    """None: it is about the data."""


class SimpleModel(ClosedModel):
    """A simple model, and how the result compares with it; scores are in the metric's own sign."""

    name: str
    node: int
    validation: float
    gain: float | None = None
    """Paired difference of the result's validation score to this one's, above 0 where the result is better; None: unknown."""
    gain_error: float | None = None
    """Standard error of `gain`."""
    hidden: float | None = None
    """On the rows that were withheld from the run."""

    @property
    def is_beaten(self) -> bool:
        """Whether the result is better beyond noise."""
        return self.gain is not None and self.gain > 2 * (self.gain_error or 0.0)


class KnowledgeFigures(ClosedModel):
    """What a run was shown of the knowledge base."""

    shown: KnowledgeMode
    """Which entries it could be shown: `clock`, `all` or `none`."""
    entries: tuple[str, ...] = ()
    """Ids of those that its searches found."""
    younger: int = 0
    """How many of them are later than the clock, which only `all` allows."""


class BlendFigures(ClosedModel):
    """A blend of scripts that could be submitted; scores are in the metric's own sign."""

    node: int
    weights: Mapping[int, float]
    """Of its members, by node."""
    space: str
    """How predictions are combined."""
    score: float
    """On the hold-out rows, cross-fitted."""
    noise: float | None
    """Standard error of the score."""
    gain: float | None
    """Paired difference to the score of the best member, above 0 where the blend is better."""
    gain_error: float | None


class SuspiciousPost(ClosedModel):
    """A post that was read, run or shown to a coder, and looks as if it tried to steer the bot."""

    item: str
    """Such as `topic/41517`."""
    title: str
    reason: str
    ideas: tuple[int, ...]
    """Ideas that name it as a source."""
    nodes: tuple[int, ...]
    """Nodes of the drafts that use these ideas, those whose coder was shown it, and the node that ran it if it is a kernel."""


class NotesRead(ClosedModel):
    """What came of the owner's folder of notes."""

    read: int
    undated: int
    """Known from the start of a replay's clock, or live from when they were first seen."""
    later: int
    """Dated after the clock, so that they were never shown."""
    left_out: tuple[str, ...]
    """A sentence for each file that could not be read."""


class LiveGrade(GradeReport):
    """MLE-bench's report, with what a live leaderboard adds to it; a replay has none of that."""

    score_kind: Literal["public", "private"] | None = None
    """The leaderboard of a live run's score; None: there is no score yet, or it is of a hidden test."""
    rank: int | None = None
    submissions: tuple[SentFile, ...] = ()


class RunResult(LiveGrade):
    """The result of a run; scores are in the metric's own sign, shares are between 0 and 1."""

    run_id: str
    own_data: bool = False
    """Whether it is of one's own data: there is no leaderboard, and a score only of rows that were withheld."""
    agent: str
    variant: tuple[str, ...] = ()
    """What it did otherwise than its agent usually does, a word each, such as `no-blend`; of a replay alone."""
    model: str
    seed: int
    cutoff: datetime | None
    """None: the run was live."""
    cutoff_note: str | None = None
    """A caution if the cutoff is unusual."""
    pace: str = "all"
    stream: StreamRecord | None = None
    """What became known when; None if the clock stood still, or was the machine's."""
    signals: str = "asof"
    community: dict[str, int] | None
    knowledge: KnowledgeFigures = KnowledgeFigures(shown="none")
    dated_at_deadline: dict[str, int] | None = None
    """Posts by kind that were dated at the deadline on import; None: none were."""
    suspicious: tuple[SuspiciousPost, ...] = ()
    public_kernels: KernelFigures | None = None
    """How many public kernels could be measured; None: the run looked at none."""
    no_more_kernels: str | None = None
    """Why no public kernel was run, or no further one; None: nothing kept the run from it, or it had no use for any."""
    notes: NotesRead | None = None
    """None: there were none."""
    isolation: str
    sandbox: str
    status: str
    """`finished`; `stopped` by a person; or `failed` for reasons outside the run. The last two may be resumed. `running`: the
    run goes on, and this is what is known so far."""
    stopped_by: str | None = None
    misconfigured: bool = False
    no_answer: str | None = None
    """Why no answer of the model could be used; None: one could, none was asked for, or the built-in model answered."""

    chosen_node: int | None
    prediction_source: str | None
    prediction_note: str
    conservative_pick: FinalFile | None = None
    """What was submitted."""
    risky_pick: FinalFile | None = None
    """Of all that predicts something else, the best by its hold-out score and one standard error; of a replay alone."""
    baseline_submitted: bool = False
    """Whether what was submitted is the engine's work alone: its baseline, or an ensemble of its own models."""
    code_length: int | None = None
    """Characters of the agent's scripts behind a valid submission; None: there is none, or it is not the agent's own work."""
    self_reported: str | None = None
    """Why validation scores are those that scripts printed; None: the evaluator computed them."""
    validation_score: float | None
    validation_interval: tuple[float, float] | None = None
    """The 95% interval of the hidden score."""
    validation_interval_note: str | None = None
    """Why there is no interval, or what was drawn."""
    score_in_interval: bool | None = None
    """None if the interval or the hidden score is unknown; a public score is not a hidden one."""
    guards: tuple[NodeFinding, ...] = ()
    """What guards found in the data and in the chosen node, and what did not pass in others."""
    simple_models: tuple[SimpleModel, ...] = ()
    """What a result on own data is compared with, the best first."""
    diagnostics: Diagnostics | None = None
    """How the chosen node's predictions err; None: unknown."""
    final_score: float | None = None
    """The chosen node's on rows that its search never went by; None where none were withheld, or the run may go on."""
    blend: BlendFigures | None = None
    """The newest blend that is a node; None: there is none."""

    nodes: int = 0
    """Scripts; blends do not count."""
    valid_nodes: int = 0
    executions: int = 0
    wall_seconds: float
    """For a live run: by the clock, since the run began."""
    time_limit: float | None = None
    """Seconds of wall time that a replay was given; None for a live run."""
    overhead_seconds: float | None = None
    waiting_seconds: float | None = None
    session_seconds: float | None = None
    """These three are None for a live run, which is not measured as a whole."""
    training_share: float | None = None
    """Share of the wall time in which a script, or a lab's command, was running; of a live run, its executions' seconds."""
    bot_peak_memory_bytes: int | None = None
    budget: Mapping[str, Mapping[str, Figure]] = {}
    llm: Totals = Totals()
    roles: tuple[RoleFigures, ...] = ()
    exit_reasons: Mapping[str, int] = {}
    seconds_to_first_valid: float | None = None
    valid_nodes_per_hour: float | None = None
    failed_share: float | None = None
    timed_out_share: float | None = None
    tokens_per_valid_node: float | None = None
    best_over_time: tuple[tuple[float, float, float | None], ...] = ()
    """Seconds, validation score and win rate at each gain; the win rate was computed after the run."""
    best_over_money: tuple[tuple[float, float | None], ...] = ()
    """USD spent on the model and win rate at each of these gains; those before which a price was unknown are left out."""
    seconds_to_bronze: float | None = None
    """Until the best by validation, or what was submitted, was worth a bronze medal or better; None: neither was."""
    rank_correlation: float | None = None
    selection: Selection | None = None
    """How the chosen node was chosen; None: by its hold-out score alone, or the run may go on."""
    selection_regret: float | None = None
    """By how much the chosen node's hidden or public score is worse than the best one."""
    refit_regret: float | None = None
    """By how much a refit that was submitted is worse on the hidden test than the scored run's file; below 0: it is better."""
    hidden_scores: Mapping[int, float | None] = {}
    report_error: str | None = NOT_DRAWN
    """Why there is no report.html; None: there is."""

    @property
    def live(self) -> bool:
        """Whether it competed on a site instead of being graded on a hidden test."""
        return self.pace == "live"

    @property
    def is_ongoing(self) -> bool:
        """Whether this is what is known while the run goes on."""
        return self.status == "running"

    @property
    def substitute(self) -> Literal["baseline", "constant"] | None:
        """What was submitted instead of the agent's own work: a constant, whoever made it, or else the engine's work."""
        findings = {(finding.guard, finding.node, finding.verdict) for finding in self.guards}
        if self.prediction_source is not None and ("constant", self.chosen_node, "suspicious") in findings:
            return "constant"
        return "baseline" if self.baseline_submitted else None

    @property
    def own_work(self) -> "RunResult":
        """What the agent achieved itself: no submission if there is none of its own work."""
        if self.substitute is None:
            return self
        medals = ("any_medal", "gold_medal", "silver_medal", "bronze_medal", "above_median")
        absent = dict.fromkeys((*medals, "submission_exists", "valid_submission"), False)
        unknown = dict.fromkeys(("score", "code_length", "seconds_to_bronze"))
        return self.model_copy(
            update={"win_rate": 0.0, "best_over_time": (), "best_over_money": (), **absent, **unknown}
        )

    @property
    def doubts(self) -> tuple[NodeFinding, ...]:
        """What guards doubt, or could not check, in the data and the chosen node; the table shows other nodes'."""
        return tuple(
            finding for finding in self.guards if finding.is_doubt and finding.node in (None, self.chosen_node)
        )

    def on_board(self, node: int) -> float | None:
        """Return the node's score that compares with the leaderboard; for a live run, its best one of the same kind."""
        if self.live and self.score_kind == "private":
            scores = [file.private for file in self.submissions if file.node == node and file.private is not None]
            return max(scores, key=self.oriented, default=None)
        return self.hidden_scores.get(node)

    def oriented(self, score: float) -> float:
        """Return a score turned so that higher is better."""
        return -score if self.is_lower_better else score


def read_result(folder: RunFolder) -> RunResult:
    """Read result.json. Raises UsageError: it is missing, or not what a finished run writes."""
    try:
        return RunResult.model_validate_json(folder.result.read_bytes())
    except FileNotFoundError as error:
        raise UsageError(f"{folder.result} does not exist: the run has not finished.") from error
    except ValidationError as error:
        raise UsageError(f"{folder.result} is not a valid run result: {error}") from error


def read_latest(folder: RunFolder) -> RunResult:
    """Read what is known so far of a run that goes on, else result.json; errors as of `read_result`."""
    try:
        return RunResult.model_validate_json(folder.so_far.read_bytes())
    except (FileNotFoundError, ValidationError):
        return read_result(folder)


def write_result(folder: RunFolder, result: RunResult) -> None:
    """Write result.json, or what is known so far of a run that goes on; completely or not at all."""
    write_whole(folder.so_far if result.is_ongoing else folder.result, result.model_dump_json(indent=1) + "\n")
    if not result.is_ongoing:
        folder.so_far.unlink(missing_ok=True)

"""A run's nodes as a page shows them: their plans, scores and errors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bot.engine.run_record import RunRecord
from bot.evaluation.answers.board import standing
from bot.report.result import RunResult
from bot.report.words import fair_share, shortened
from bot.report.words import reason as reason_in_words
from state.tables import Node

TEXT_BUDGET = 300_000
"""Most characters on a page for the plans and errors of all nodes together."""
LONGEST_TEXT = 4_000


@dataclass(frozen=True)
class OngoingRun:
    """What is known of a run of which nothing is graded yet, under the names of `RunResult`."""

    is_lower_better: bool
    live: bool
    hidden_scores: Mapping[int, float | None] = field(default_factory=dict)
    chosen_node: int | None = None
    prediction_source: str | None = None
    self_reported: str | None = None

    def on_board(self, node: int) -> float | None:
        """Return the node's score that compares with the leaderboard."""
        return self.hidden_scores.get(node)

    def oriented(self, score: float) -> float:
        """Return a score turned so that higher is better."""
        return -score if self.is_lower_better else score


ReportableRun = RunResult | OngoingRun


@dataclass(frozen=True)
class NodeRow:
    """One node; scores are in the metric's own sign, seconds count from the run's start."""

    id: int
    action: str
    draft_id: str | None
    parents: tuple[int, ...]
    plan: str
    status: str
    """As `Node.status`."""
    status_words: str
    """The status in a reader's words, such as `timed out`."""
    validation: float | None
    hidden: float | None
    """Its hold-out run's score on the hidden test, graded after the run; for a live run, its best public score."""
    win_rate: float | None
    end_seconds: float | None
    seconds: float | None
    error: str | None
    model: str | None
    is_chosen: bool
    families: tuple[str, ...]
    """Families of models that its files use."""
    is_best_hidden: bool
    """Whether its hidden or public score is the best; of equals, the earliest node's."""

    @property
    def blend(self) -> bool:
        """Whether it is a blend of scripts, its parents."""
        return self.action == "ensemble"


def node_rows(
    run: RunRecord, result: ReportableRun, board: Sequence[float], ids: Sequence[int] | None = None
) -> tuple[NodeRow, ...]:
    """Return a run's nodes, or some of them, in order; public notebooks are left out of all."""
    nodes = [node for node in run.nodes.values() if node.action != "reproduce"] if ids is None else run.pick_nodes(ids)
    reasons = run.reasons(ids)
    limit = fair_share(TEXT_BUDGET, 2 * len(nodes), LONGEST_TEXT)
    hidden = {node: score for node, score in sorted(result.hidden_scores.items()) if score is not None}
    best = max(hidden, key=lambda node: result.oriented(hidden[node]), default=None)

    def win_rate(score: float | None) -> float | None:
        lower = result.is_lower_better
        return standing(board, score, lower_is_better=lower).win_rate if score is not None and board else None

    return tuple(
        NodeRow(
            id=node.id,
            action=node.action,
            draft_id=node.draft_id,
            parents=tuple(node.parents),
            plan=shortened(node.plan, limit),
            status=node.status,
            status_words=_describe(node, reasons.get(node.id), self_reported=result.self_reported is not None),
            validation=node.score,
            hidden=result.hidden_scores.get(node.id),
            win_rate=win_rate(result.on_board(node.id)),
            end_seconds=run.seconds(node.ended_at) if node.ended_at else None,
            seconds=node.seconds,
            error=shortened(node.error, limit) if node.error else None,
            model=node.model,
            is_chosen=node.id == result.chosen_node and result.prediction_source is not None,
            families=tuple(node.families),
            is_best_hidden=node.id == best,
        )
        for node in nodes
    )


def _describe(node: Node, reason: str | None, *, self_reported: bool) -> str:
    if node.status == "valid" and self_reported:
        return "self-reported"
    if node.status == "running":
        return "unfinished"
    if node.status == "failed":
        return "engine failed"
    if node.status == "buggy":
        return "no score" if reason in (None, "finished", "error") else reason_in_words(reason)
    return node.status

"""result.json: MLE-bench's report under its names, and what tells whether the machinery is any good."""

import resource
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlmodel import select

from bot.budgets.figures import figures, share
from bot.engine.attempts import load_tree
from bot.engine.context import RunContext
from bot.engine.tree import Tree
from bot.evaluation.guards.findings import Finding
from bot.execution.folder import RunFolder
from bot.execution.stopwatch import Stopwatch
from bot.report.stream_record import stream_record
from bot.report.times import ratio, times
from bot.report.words import cutoff_note
from bot.submission.handing_in import HandedIn, is_baseline
from sandbox import ExitReason, SandboxDescription
from state.ledgers import worked_seconds
from state.tables import Execution, Node, Run


@dataclass(frozen=True)
class Ended:
    """A run whose search has ended."""

    folder: RunFolder
    context: RunContext
    sandbox: SandboxDescription
    stopwatch: Stopwatch
    status: str
    """`finished`, or `stopped` by a person or `failed` for reasons outside the run: it may be resumed."""
    stopped_by: str | None = None
    misconfigured: bool = False
    dated_at_deadline: Mapping[str, int] | None = None
    """Posts by kind that have no time of their own and were dated at the deadline on import; None: none were."""


@dataclass(frozen=True)
class NodeScore:
    """A node where it counts: on the hidden test, or on the public leaderboard; None where it has no score there."""

    score: float | None
    win_rate: float | None


@dataclass(frozen=True)
class Graded:
    """What came of it where it counts: on the hidden test of a snapshot, or on the leaderboard of a live competition."""

    report: Mapping[str, Any]
    """Of what was handed in: MLE-bench's names and ours, as `cli.md` lists them."""
    nodes: Mapping[int, NodeScore]
    rank_correlation: float | None
    """Of validation scores with those of `nodes`."""
    selection_regret: float | None
    """By how much the chosen node is worse there than the best one."""
    findings: tuple[Finding, ...] = ()
    """What guards say of the chosen node that only what counts can show."""


def result_record(ended: Ended, handed: HandedIn, graded: Graded) -> dict[str, Any]:
    """Return all of result.json; wall time and overhead are as of now."""
    context = ended.context
    tree, (nodes, executions, run) = load_tree(context), _rows(context)
    return {
        # Of live runs alone, which have a place on a leaderboard and send more than once.
        **{"score_kind": None, "rank": None, "submissions": []},
        # Of a live run's validation scores; what was graded says it below.
        "grader": "registry" if context.executor.settings.grader is None else "competition",
        **graded.report,
        "run_id": run.id,
        "agent": run.agent,
        "model": run.model,
        "seed": run.seed,
        "cutoff": None if run.cutoff is None else run.cutoff.isoformat(),
        "cutoff_note": cutoff_note(run.cutoff, context.card.deadline),
        "pace": "live" if run.cutoff is None else run.config["pace"],
        "stream": None if (stream := stream_record(context)) is None else stream.model_dump(mode="json"),
        "signals": run.signals,
        "community": _community(context),
        "dated_at_deadline": None if context.community is None else ended.dated_at_deadline,
        "isolation": ended.sandbox.isolation,
        "sandbox": ended.sandbox.name,
        "status": ended.status,
        "stopped_by": ended.stopped_by,
        "misconfigured": ended.misconfigured,
        "chosen_node": handed.node,
        "handed_in": handed.how,
        "handed_in_note": handed.note,
        "baseline_handed_in": is_baseline(handed),
        "self_reported": context.executor.self_reported,
        "validation_score": _score_of(context, tree, handed.node),
        "final_score": handed.final_score,
        "final_note": handed.final_note,
        "code_length": _code_length(context, handed.node),
        **_machinery(ended, tree, nodes, executions, run),
        "best_over_time": _best_over_time(context, nodes, graded.nodes, run),
        "seconds_to_first_valid": _first_valid(nodes, run),
        "rank_correlation": graded.rank_correlation,
        "selection_regret": graded.selection_regret,
        "hidden_scores": {str(node): found.score for node, found in graded.nodes.items()},
    }


def result_times(ended: Ended) -> dict[str, Any]:
    """Return the times in result.json, as of now."""
    nodes, executions, run = _rows(ended.context)
    return times(ended.context.clock, ended.stopwatch, run, executions, sum(n.status == "valid" for n in nodes))


def _machinery(
    ended: Ended, tree: Tree, nodes: Sequence[Node], executions: Sequence[Execution], run: Run
) -> dict[str, Any]:
    context = ended.context
    totals = context.asker.totals
    valid = tree.valid()
    spent = times(context.clock, ended.stopwatch, run, executions, len(valid))
    wall = spent["wall_seconds"]
    done = [n for n in nodes if n.status != "running"]
    tokens = totals.prompt_tokens + totals.completion_tokens
    return {
        "nodes": len(nodes),
        "valid_nodes": len(valid),
        "executions": len(executions),
        **spent,
        "bot_peak_memory_bytes": peak_memory(),
        "budget": figures(context.spending, share(len(nodes), context.budget.steps, wall, context.budget.seconds)),
        "llm": {k: v for k, v in asdict(totals).items() if k != "model_seconds"},
        "failed_share": ratio(sum(n.status != "valid" for n in done), len(done)),
        "timed_out_share": ratio(sum(e.reason == ExitReason.TIMED_OUT for e in executions), len(executions)),
        "exit_reasons": dict(Counter(e.reason for e in executions if e.reason).most_common()),
        "tokens_per_valid_node": ratio(tokens, len(valid)),
    }


def _rows(context: RunContext) -> tuple[Sequence[Node], Sequence[Execution], Run]:
    with context.store.read() as session:
        nodes = session.exec(select(Node).where(Node.run_id == context.run_id)).all()
        executions = session.exec(select(Execution).where(Execution.run_id == context.run_id)).all()
        return nodes, executions, session.get_one(Run, context.run_id)


def peak_memory() -> int:
    """Return the most memory (resident, bytes) that this process held so far; its children are not counted."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _score_of(context: RunContext, tree: Tree, node: int | None) -> float | None:
    score = None if node is None else tree[node].score
    # The tree holds oriented scores; turning the sign again gives the metric's own.
    return None if score is None else context.card.oriented(score)


def _code_length(context: RunContext, node: int | None) -> int | None:
    """Return the chosen script's length in characters, as the papers count it."""
    if node is None:
        return None
    with context.store.read() as session:
        sha = session.get_one(Node, (context.run_id, node)).code_sha
    return None if sha is None else len(context.store.blob(sha).decode())


def _community(context: RunContext) -> dict[str, int] | None:
    if context.community is None:
        return None
    return asdict(context.community.counts())


def _best_over_time(
    context: RunContext, nodes: Sequence[Node], graded: Mapping[int, NodeScore], run: Run
) -> list[list[float | None]]:
    """Return [seconds, validation score, win rate] at each gain; the win rate was found after the run."""
    best: float | None = None
    series: list[list[float | None]] = []
    for node in sorted(
        (n for n in nodes if n.status == "valid" and n.ended_at), key=lambda n: n.ended_at or run.created_at
    ):
        if node.score is None or node.ended_at is None:
            continue
        oriented = context.card.oriented(node.score)
        if best is None or oriented > best:
            best = oriented
            seconds = round(worked_seconds(run.gaps, run.created_at, node.ended_at), 3)
            there = graded.get(node.id)
            series.append([seconds, node.score, there.win_rate if there else None])
    return series


def _first_valid(nodes: Sequence[Node], run: Run) -> float | None:
    times = [worked_seconds(run.gaps, run.created_at, n.ended_at) for n in nodes if n.status == "valid" and n.ended_at]
    return round(min(times), 3) if times else None

"""result.json: MLE-bench's report under its names, and what tells whether the machinery is any good."""

import resource
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from sqlmodel import select

from bot.budgets.figures import figures, share
from bot.runs.context import RunContext
from bot.strategies.tree import Tree
from bot.submission.handing_in import is_baseline
from sandbox import ExitReason
from state.progress import worked_seconds
from state.tables import Execution, Node, Run

if TYPE_CHECKING:
    from bot.replay.finish import Finished


@dataclass(frozen=True)
class Graded:
    """What the hidden test said: of the submission, and of every node."""

    report: Mapping[str, Any]
    hidden: Mapping[str, Any]
    tree: Tree


def result_record(done: "Finished", graded: Graded) -> dict[str, Any]:
    """Return all of result.json; wall time and overhead are as of now."""
    run, context, handed = done.run, done.context, done.handed
    settings = run.settings
    return {
        **graded.report,
        "run_id": run.id,
        "agent": settings.agent,
        "model": settings.model,
        "seed": settings.seed,
        "cutoff": settings.cutoff.isoformat(),
        "pace": settings.pace,
        "signals": settings.signals,
        "community": _community(context),
        "isolation": done.sandbox.isolation,
        "sandbox": done.sandbox.name,
        "status": done.status,
        "stopped_by": done.stopped_by,
        "misconfigured": done.misconfigured,
        "chosen_node": handed.node,
        "handed_in": handed.how,
        "handed_in_note": handed.note,
        "baseline_handed_in": is_baseline(handed),
        "validation_score": _score_of(context, graded.tree, handed.node),
        "final_score": handed.final_score,
        "final_note": handed.final_note,
        "code_length": _code_length(context, handed.node),
        **_machinery(done, graded),
    }


def _machinery(done: "Finished", graded: Graded) -> dict[str, Any]:
    context, watch = done.context, done.stopwatch
    nodes, executions, run = _rows(context)
    totals = context.asker.totals
    valid = graded.tree.valid()
    wall = watch.wall()
    ended = [n for n in nodes if n.status != "running"]
    tokens = totals.prompt_tokens + totals.completion_tokens
    return {
        "nodes": len(nodes),
        "valid_nodes": len(valid),
        "executions": len(executions),
        "wall_seconds": round(wall, 3),
        "overhead_seconds": round(watch.overhead(), 3),
        "bot_peak_memory_bytes": peak_memory(),
        "waiting_seconds": round(watch.of("waiting"), 3),
        "session_seconds": round(watch.of("sessions"), 3),
        "training_share": _ratio(watch.of("executions"), wall),
        "budget": figures(context.spending, share(len(nodes), context.budget.steps, wall, context.budget.seconds)),
        "llm": {k: v for k, v in asdict(totals).items() if k != "model_seconds"},
        "best_over_time": _best_over_time(context, nodes, graded.hidden, run),
        "seconds_to_first_valid": _first_valid(nodes, run),
        "valid_nodes_per_hour": _ratio(3600 * len(valid), wall),
        "failed_share": _ratio(sum(n.status != "valid" for n in ended), len(ended)),
        "timed_out_share": _ratio(sum(e.reason == ExitReason.TIMED_OUT for e in executions), len(executions)),
        "exit_reasons": dict(Counter(e.reason for e in executions if e.reason).most_common()),
        "tokens_per_valid_node": _ratio(tokens, len(valid)),
        "rank_correlation": graded.hidden["rank_correlation"],
        # Between hold-out runs, so that like is compared with like; a refit is not counted in.
        "selection_regret": graded.hidden["regret"].get(str(done.handed.node)),
        "hidden_scores": {node: found["score"] for node, found in graded.hidden["nodes"].items()},
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


def _ratio(part: float, whole: float) -> float | None:
    return round(part / whole, 4) if whole else None


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
    context: RunContext, nodes: Sequence[Node], hidden: Mapping[str, Any], run: Run
) -> list[list[float | None]]:
    """Return [seconds, validation score, win rate] at each gain; the win rate was graded after the run."""
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
            seconds = round(worked_seconds(run, run.created_at, node.ended_at), 3)
            series.append([seconds, node.score, hidden["nodes"].get(str(node.id), {}).get("win_rate")])
    return series


def _first_valid(nodes: Sequence[Node], run: Run) -> float | None:
    times = [worked_seconds(run, run.created_at, n.ended_at) for n in nodes if n.status == "valid" and n.ended_at]
    return round(min(times), 3) if times else None

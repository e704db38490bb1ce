"""Gains: the nodes that were each better than all before by validation, with what had been spent by then."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from bot.engine.run_record import RunRecord
from bot.evaluation.answers import GradeReport, HiddenScore
from state.tables import LedgerEntry


@dataclass(frozen=True)
class NewBestNode:
    """A node that was the best so far when it ended."""

    seconds: float
    """Of the run's wall time."""
    validation: float
    usd: float | None
    """Spent on the model by then; None: a price is unknown."""
    hidden: HiddenScore | None = None


def gains(run: RunRecord, hidden: Mapping[int, HiddenScore], candidates: Collection[int]) -> list[NewBestNode]:
    """Return the gains of a run in order of time, among the nodes that may be submitted."""
    calls = sorted((charge for charge in run.charges if charge.kind == "tokens"), key=lambda charge: charge.at)
    cumulative_cost = list(accumulate(map(_price, calls), initial=0.0))
    nodes = [node for node in run.nodes.values() if node.id in candidates]
    scored_nodes = [(node.ended_at, node.id, node.score) for node in nodes if node.ended_at and node.score is not None]
    new_bests: list[NewBestNode] = []
    for ended_at, id, score in sorted(scored_nodes):
        if new_bests and run.oriented(score) <= run.oriented(new_bests[-1].validation):
            continue
        usd = cumulative_cost[sum(call.at <= ended_at for call in calls)]
        seconds = round(run.seconds(ended_at), 3)
        new_bests.append(NewBestNode(seconds, score, None if math.isnan(usd) else round(usd, 6), hidden.get(id)))
    return new_bests


def _price(call: LedgerEntry) -> float:
    """Return what a call cost, NaN if that is unknown, which every sum with it then is."""
    if call.cost_usd is None:
        return math.nan if call.prompt_tokens + call.completion_tokens else 0.0
    return call.cost_usd


def figures_of(new_bests: Sequence[NewBestNode], grade: GradeReport, seconds: float) -> dict[str, Any]:
    """Return what `RunResult` has of the gains, under its names; what was submitted counts from the run's seconds on."""
    rates = [(best, best.hidden.win_rate if best.hidden and grade.n_teams else None) for best in new_bests]
    return {
        "best_over_time": [(best.seconds, best.validation, rate) for best, rate in rates],
        "best_over_money": [(best.usd, rate) for best, rate in rates if best.usd is not None],
        "seconds_to_bronze": next(
            (best.seconds for best in new_bests if _is_bronze(best, grade)), seconds if grade.any_medal else None
        ),
    }


def _is_bronze(best: NewBestNode, grade: GradeReport) -> bool:
    score, threshold = best.hidden.score if best.hidden else None, grade.bronze_threshold
    if score is None or threshold is None:
        return False
    return score <= threshold if grade.is_lower_better else score >= threshold

"""Gains: the nodes that were each better than all before by validation, with what had been spent by then."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
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
    hidden: HiddenScore | None = field(default=None)


def gains(run: RunRecord, hidden: Mapping[int, HiddenScore], candidates: Collection[int]) -> list[NewBestNode]:
    """Return the gains of a run in order of time, among the nodes that may be handed in."""
    calls = sorted((one for one in run.charges if one.kind == "tokens"), key=lambda one: one.at)
    spent = list(accumulate(map(_price, calls), initial=0.0))
    nodes = [node for node in run.nodes.values() if node.id in candidates]
    ended = [(node.ended_at, node.id, node.score) for node in nodes if node.ended_at and node.score is not None]
    found: list[NewBestNode] = []
    for at, id, score in sorted(ended):
        if found and run.oriented(score) <= run.oriented(found[-1].validation):
            continue
        usd = spent[sum(call.at <= at for call in calls)]
        seconds = round(run.seconds(at), 3)
        found.append(NewBestNode(seconds, score, None if math.isnan(usd) else round(usd, 6), hidden.get(id)))
    return found


def _price(call: LedgerEntry) -> float:
    """Return what a call cost, NaN if that is unknown, which every sum with it then is."""
    if call.cost_usd is None:
        return math.nan if call.prompt_tokens + call.completion_tokens else 0.0
    return call.cost_usd


def figures_of(found: Sequence[NewBestNode], grade: GradeReport, seconds: float) -> dict[str, Any]:
    """Return what `RunResult` has of the gains, under its names; what was handed in counts from the run's seconds on."""
    rates = [(one, one.hidden.win_rate if one.hidden and grade.n_teams else None) for one in found]
    return {
        "best_over_time": [(one.seconds, one.validation, rate) for one, rate in rates],
        "best_over_money": [(one.usd, rate) for one, rate in rates if one.usd is not None],
        "seconds_to_bronze": next(
            (one.seconds for one in found if _is_bronze(one, grade)), seconds if grade.any_medal else None
        ),
    }


def _is_bronze(one: NewBestNode, grade: GradeReport) -> bool:
    score, line = one.hidden.score if one.hidden else None, grade.bronze_threshold
    if score is None or line is None:
        return False
    return score <= line if grade.is_lower_better else score >= line

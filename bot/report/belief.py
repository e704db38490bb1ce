"""How far a run's score is to be believed: the interval of the hidden score, and what the guards found."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from bot.engine.attempts import load_tree
from bot.evaluation.guarding import GUARDED, PREDICTIONS, node_findings, view_findings
from bot.evaluation.guards.findings import Finding
from bot.evaluation.worker import Worker
from bot.report.result import Ended, Graded
from bot.submission.handing_in import HandedIn
from state.errors import BotError

__all__ = ["belief"]

_SECONDS = 5.0
"""Of drawing: a run that was stopped has little time left for its end."""


async def belief(ended: Ended, handed: HandedIn, graded: Graded, worker: Worker) -> dict[str, Any]:
    """Return the part of result.json that says how far the rest is to be believed.

    Returns:
        `validation_interval`: [low, high] in which the hidden score is to be expected in 95 of 100 cases, None where there is
        none, and `validation_interval_note` says why, or what was drawn together; `score_in_interval`: whether the hidden
        score lies there, None where one of the two is not known (a public score is none); `guards`: what they found in the
        data (`node` None), in the chosen node, and in others what has not passed.
    """
    interval, note = await _interval(ended, handed, worker)
    report = graded.report
    hidden = report.get("score") if report.get("score_kind") != "public" else None
    inside = None if interval is None or hidden is None else interval[0] <= hidden <= interval[1]
    return {
        "validation_interval": interval,
        "validation_interval_note": note,
        "score_in_interval": inside,
        "guards": list(_guards(ended, handed.node, graded.findings)),
    }


async def _interval(ended: Ended, handed: HandedIn, worker: Worker) -> tuple[list[float] | None, str]:
    context, node = ended.context, handed.node
    if node is None:
        return None, "no node was chosen"
    if context.executor.self_reported is not None:
        return None, "no labels could be withheld, by which it could be told"
    try:
        told = await worker.call(
            "validation_interval",
            timeout_seconds=12 * _SECONDS,
            labels_dir=str(context.executor.labels(GUARDED)),
            view_dir=str(await context.executor.view(GUARDED)),
            predictions=str(context.executor.submission_of(node, GUARDED).with_name(PREDICTIONS)),
            card=context.card.model_dump(mode="json"),
            seed=context.seed,
            refit=handed.how != "holdout",
            seconds=_SECONDS,
            grader=None if (grader := context.executor.settings.grader) is None else str(grader),
        )
    except BotError as error:
        return None, f"it could not be computed: {error}"
    if told["low"] is None:
        return None, str(told["note"])
    together = f", those drawn together that go together by {told['together']!r}" if told["together"] else ""
    return [told["low"], told["high"]], f"{told['draws']} draws of {told['test_rows']} test rows{together}"


def _guards(ended: Ended, chosen: int | None, more: Sequence[Finding]) -> Iterator[dict[str, Any]]:
    context = ended.context
    for found in view_findings(context.store, context.run_id):
        yield {"node": None, **asdict(found)}
    for node in load_tree(context).valid():
        for found in node_findings(context.store, context.run_id, node.id):
            if node.id == chosen or not found.passed:
                yield {"node": node.id, **asdict(found)}
    for found in more:
        yield {"node": chosen, **asdict(found)}

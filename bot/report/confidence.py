"""How much to trust a run's score: the interval of the hidden score, and what the guards found."""

from collections.abc import Iterator
from dataclasses import asdict

from bot.engine.attempts import load_tree
from bot.engine.context import RunContext
from bot.evaluation.client.worker import Worker
from bot.execution.guarding import node_findings, view_findings
from bot.execution.record import GUARDED
from bot.report.result import NodeFinding
from bot.submission.handing_in import HandedIn
from state.errors import BotError

_SECONDS = 5.0
"""Time limit of drawing: a run that was stopped has little time left for its end."""


async def expected_interval(
    context: RunContext, handed: HandedIn, worker: Worker
) -> tuple[tuple[float, float] | None, str]:
    """Return the 95% interval of the hidden score, and what was drawn; without an interval, None and the reason."""
    node = handed.node
    if node is None:
        return None, "no node was chosen"
    if context.executor.self_reported is not None:
        return None, "no labels could be withheld to compute it"
    try:
        found = await worker.validation_interval(
            await context.executor.view(GUARDED),
            context.executor.predictions_of(node),
            context.seed,
            "holdout" if handed.how == "holdout" else "refit",
            _SECONDS,
        )
    except BotError as error:
        return None, f"it could not be computed: {error}"
    if found.low is None or found.high is None:
        return None, str(found.note)
    together = f", with rows of the same {found.together!r} drawn together" if found.together else ""
    return (found.low, found.high), f"{found.draws} draws of {found.test_rows} test rows{together}"


def findings_of_run(context: RunContext, chosen: int | None) -> Iterator[NodeFinding]:
    """Yield what guards found in the data and in the chosen node, and what did not pass in others."""
    for found in view_findings(context.store, context.run_id):
        yield NodeFinding(**asdict(found))
    for node in load_tree(context).candidates():
        for found in node_findings(context.store, context.run_id, node.id):
            if node.id == chosen or found.is_doubt:
                yield NodeFinding(**asdict(found), node=node.id)


def blind_score(context: RunContext) -> float | None:
    """Return what one and the same prediction for all validation rows scores, as a guard found; None where none did."""
    for node in load_tree(context).candidates():
        for found in node_findings(context.store, context.run_id, node.id):
            if (score := found.evidence.get("blind")) is not None:
                return float(score)
    return None

"""How far a run's score is to be believed: the interval of the hidden score, and what the guards found."""

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
"""Of drawing: a run that was stopped has little time left for its end."""


async def expected_interval(
    context: RunContext, handed: HandedIn, worker: Worker
) -> tuple[tuple[float, float] | None, str]:
    """Return where the hidden score is to be expected in 95 of 100 cases, and why nowhere, or what was drawn."""
    node = handed.node
    if node is None:
        return None, "no node was chosen"
    if context.executor.self_reported is not None:
        return None, "no labels could be withheld, by which it could be told"
    try:
        found = await worker.validation_interval(
            await context.executor.view(GUARDED),
            context.executor.predictions_of(node),
            context.seed,
            handed.how != "holdout",
            _SECONDS,
        )
    except BotError as error:
        return None, f"it could not be computed: {error}"
    if found.low is None or found.high is None:
        return None, str(found.note)
    together = f", those drawn together that go together by {found.together!r}" if found.together else ""
    return (found.low, found.high), f"{found.draws} draws of {found.test_rows} test rows{together}"


def findings_of_run(context: RunContext, chosen: int | None) -> Iterator[NodeFinding]:
    """Yield what guards found in the data, in the chosen node, and in others what has not passed."""
    for found in view_findings(context.store, context.run_id):
        yield NodeFinding(**asdict(found))
    for node in load_tree(context).valid():
        for found in node_findings(context.store, context.run_id, node.id):
            if node.id == chosen or not found.passed:
                yield NodeFinding(**asdict(found), node=node.id)

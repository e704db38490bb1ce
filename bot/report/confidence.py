"""How much to trust a run's score: the interval of the hidden score, and what the guards found."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict

from bot.agents.builtin.config import CONSTANT
from bot.engine.attempts import load_tree
from bot.engine.context import RunContext
from bot.evaluation.answers import Gain, HiddenScore
from bot.evaluation.answers.diagnostics import Diagnostics
from bot.evaluation.client.worker import Worker
from bot.execution.guarding import node_findings, view_findings
from bot.execution.record import GUARDED
from bot.report.result import NodeFinding, SimpleModel
from bot.submission.final_submission import FinalSubmission
from state.errors import BotError
from state.tables import Node

_SECONDS = 5.0
"""Time limit of drawing: a run that was stopped has little time left for its end."""


async def expected_interval(
    context: RunContext, final: FinalSubmission, worker: Worker
) -> tuple[tuple[float, float] | None, str]:
    """Return the 95% interval of the hidden score, and what was drawn; without an interval, None and the reason."""
    node = final.node
    if node is None:
        return None, "no node was selected"
    if context.executor.self_reported is not None:
        return None, "no labels could be withheld"
    try:
        view, predictions = await context.executor.view(GUARDED), context.executor.predictions_of(node)
        refitted = final.source != "holdout"
        interval = await worker.validation_interval(view, predictions, context.seed, refitted, _SECONDS)
    except BotError as error:
        return None, f"it could not be computed: {error}"
    if interval.low is None or interval.high is None:
        return None, str(interval.note)
    grouping = f", keeping rows with the same {interval.unit_column!r} together" if interval.unit_column else ""
    return (interval.low, interval.high), f"{interval.draws} samples of {interval.test_rows} rows each{grouping}"


async def diagnose(context: RunContext, node: int | None, worker: Worker) -> Diagnostics | None:
    """Return how the chosen node's predictions err; None where that cannot be computed."""
    executor = context.executor
    if node is None or executor.self_reported is not None:
        return None
    try:
        view, folds = await executor.view(GUARDED), await executor.fold_view()
        return await worker.diagnose(folds, view, executor.predictions_of(node), executor.oof_of(node))
    except BotError:
        return None


def findings_of_run(context: RunContext, selected: int | None) -> Iterator[NodeFinding]:
    """Yield what guards found in the data and in the selected node, and what did not pass in others."""
    for finding in view_findings(context.store, context.run_id):
        yield NodeFinding(**asdict(finding))
    for node in load_tree(context).complete_nodes():
        for finding in node_findings(context.store, context.run_id, node.id):
            if node.id == selected or finding.is_doubt:
                yield NodeFinding(**asdict(finding), node=node.id)


def simple_nodes(context: RunContext) -> dict[int, str]:
    """Return the names of the simple models that have a score, by their nodes; only runs on own data have any."""
    nodes = [node.id for node in load_tree(context).nodes if node.baseline and node.valid] if context.own_data else []
    with context.store.read() as session:
        names = {node: session.get_one(Node, (context.run_id, node)).plan for node in nodes}
    for node, name in names.items():
        findings = node_findings(context.store, context.run_id, node)
        if name != CONSTANT and any(finding.guard == "constant" and finding.is_doubt for finding in findings):
            names[node] = f"{name} (not fitted in time, so a constant)"
    return names


async def compare_with_simple(
    context: RunContext, selected: int | None, hidden: Mapping[int, HiddenScore]
) -> tuple[SimpleModel, ...]:
    """Return the simple models with the gain of the selected node over each, the best model first.

    `hidden` are scores of nodes on the rows that were withheld from the run; none where there are no such rows.
    """
    card, tree, models = context.card, load_tree(context), list[SimpleModel]()
    for node, name in simple_nodes(context).items():
        gain = Gain(0.0, None)
        if selected is not None and selected != node:
            comparison = await context.executor.score(selected, node)
            # Where predictions cannot be compared, the scores themselves are.
            gain = (comparison and comparison.gain) or Gain(tree[selected].fitness - tree[node].fitness, None)
        scores = {"validation": tree[node].score or 0.0, "hidden": hidden[node].score if node in hidden else None}
        models.append(SimpleModel(name=name, node=node, gain=gain.value, gain_error=gain.std_error, **scores))
    return tuple(sorted(models, key=lambda model: -card.oriented(model.validation)))

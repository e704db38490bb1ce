"""The last choice: of the finalists and the blend, the one that is best on hold-out, folds and final together.

It is the only reader of what candidates have on the rows of `final`, and reads it once, when the search has ended.
"""

from collections.abc import Sequence
from typing import Any

from sqlmodel import col, select

from bot.engine.attempts import blend_of, load_tree
from bot.engine.context import RunContext
from bot.engine.race import Raced, race, scored_on
from bot.engine.tree import NodeView, Tree
from bot.evaluation.answers.choices import Candidate, Choice, Evidence
from bot.evaluation.client.worker import Worker
from bot.execution.record import GUARDED
from bot.submission.selection import Compared, Selection
from state.errors import BotError
from state.tables import Evaluation, Step

_STEP = "last choice"
_FINAL = "final"
_SECONDS = 20.0
"""For its draws."""


async def last_choice(context: RunContext, worker: Worker, *, over: bool) -> NodeView | None:
    """Return the node to hand in; None: there is none.

    Without a blender (`--no-blend`, self-reported scores), in a run whose search may go on, and where nothing can be compared, it
    is the best by its hold-out score. If scores are self-reported and no script printed one, it is the first with a valid file.

    Args:
        context: the run.
        worker: compares candidates.
        over: whether the search has ended for good.
    """
    tree = load_tree(context)
    best = max(tree.candidates(), key=lambda one: (not one.spoiled, one.fitness, -one.id), default=None)
    if best is None:
        return _first_valid(context, tree)
    if not over or context.blender is None or best.spoiled:
        return best
    try:
        raced = await race(context, worker)
        found = await context.steps.once(_STEP, lambda: _choose(context, worker, raced), attempt=len(tree.candidates()))
    except BotError as error:
        context.say(f"chosen by the hold-out score alone, as candidates could not be compared: {error}")
        return best
    candidates = Selection.model_validate(found).candidates
    return tree[candidates[0].node] if candidates else best


def selection_of(context: RunContext) -> Selection | None:
    """Return how the newest last choice was made; None: there was none. Only for runs that have ended for good."""
    with context.store.read() as session:
        query = select(Step).where(Step.run_id == context.run_id, Step.name == _STEP, Step.status == "finished")
        step = session.exec(query.order_by(col(Step.attempt).desc()).limit(1)).first()
    return None if step is None else Selection.model_validate(step.result)


async def _choose(context: RunContext, worker: Worker, raced: Raced) -> dict[str, Any]:
    tree = load_tree(context)
    blends = [one for one in tree.ensembles if one.valid and not one.spoiled][-1:]
    nodes = [*raced.finalists, *(one.id for one in blends)]
    recipes = {node: found.recipe for node in nodes if (found := blend_of(context.store, context.run_id, node))}
    predictions = [await scored_on(context, GUARDED, (GUARDED, _FINAL), nodes)]
    predictions += [await scored_on(context, fold, (fold,), raced.finalists) for fold in raced.folds]
    candidates = [Candidate(node, tree[node].seconds, recipes.get(node)) for node in nodes]
    choice = await worker.choose_candidate(candidates, predictions, context.seed, _SECONDS)
    compared = tuple(_compared(node, choice.evidence[node], blend=node in recipes) for node in choice.order)
    return Selection(candidates=compared, race=raced.note, why=_why(choice, compared)).model_dump(mode="json")


def _compared(node: int, found: Evidence, *, blend: bool) -> Compared:
    folds = [scored for name, scored in found.scores.items() if name not in (GUARDED, _FINAL)]
    rows = sum(many for _, many in folds)
    return Compared(
        node=node,
        kind="blend" if blend else "script",
        holdout=found.scores.get(GUARDED, (None, 0))[0],
        folds=sum(score * many for score, many in folds) / rows if rows else None,
        folds_run=len(folds),
        final=found.scores.get(_FINAL, (None, 0))[0],
        together=found.together,
        gain=found.gain,
        gain_error=found.error,
    )


def _why(choice: Choice, compared: Sequence[Compared]) -> str:
    if not compared:
        return "nothing could be compared, so that the best by hold-out is chosen"
    if len(compared) == 1:
        return "it is the only candidate"
    first, second = compared[:2]
    what = "the blend" if first.kind == "blend" else f"node {first.node}"
    if choice.evidence[first.node].worth <= choice.evidence[second.node].worth:
        return f"{what} is as good as node {second.node}, and faster"
    if first.kind == "blend" and (first.gain or 0.0) < 0:
        return "the blend is within noise of the best script, whose score, the best of several, is taken to be a little lucky"
    return f"{what} is best on the rows that candidates were scored on"


def _first_valid(context: RunContext, tree: Tree) -> NodeView | None:
    if context.executor.self_reported is None:
        return None
    with context.store.read() as session:
        query = select(Evaluation.node).where(Evaluation.run_id == context.run_id, col(Evaluation.valid))
        nodes = session.exec(query.order_by(col(Evaluation.node)).limit(1)).all()
    return tree[nodes[0]] if nodes else None

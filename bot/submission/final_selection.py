"""The final selection: of the best experiments or scripts and the ensemble, the one that is best on all rows that both have.

It is the only reader of what candidates have on the internal test, and reads it once, when the search has ended.
"""

from collections.abc import Sequence

from sqlmodel import col, select

from bot.engine.attempts import load_tree
from bot.engine.context import RunContext
from bot.engine.tree import NodeView, Tree
from bot.evaluation.answers.blends import CandidateEvidence, CandidateRanking, Predictions, SelectionCandidate
from bot.evaluation.client.worker import Worker
from bot.execution.record import GUARDED, readable_files
from bot.submission.refit import made_on_all_rows
from bot.submission.selection import CandidateComparison, Selection
from state.errors import BotError
from state.steps import StepKind
from state.tables import Evaluation

SELECTED = StepKind("final selection", Selection)
_FINAL, _OUT_OF_FOLD = "final", "out of fold"
_MAX_PLAIN, _STACKS = 8, 4
"""Candidates, the best by their scores, and stacks among experiments, whose own scores are too good."""


async def select_final(context: RunContext, worker: Worker, *, over: bool) -> NodeView | None:
    """Return the node to submit; None: there is none.

    It is the best by its score without a blender (`--no-blend`, self-reported scores), in a run whose search may continue, and
    where nothing can be compared. If scores are self-reported and no script printed one, it is the first with a valid file.
    """
    tree = load_tree(context)
    best = tree.best_candidate()
    if best is None:  # no node has a score, or a coder withdrew them all
        return next((node for node in tree.nodes if node.baseline and node.valid), None) or _first_valid(context, tree)
    if not over or context.blender is None or best.spoiled:
        return best
    try:
        eligible = tuple(node.id for node in tree.candidates())
        _, selection = await context.steps.newest(
            SELECTED, lambda selection: selection.eligible == eligible, lambda: _choose(context, worker)
        )
        candidates = selection.candidates
    except BotError as error:
        context.say(f"selecting by score, because the candidates could not be compared: {error}")
        return best
    return tree[candidates[0].node] if candidates else best


def selection_of(context: RunContext) -> Selection | None:
    """Return how the newest final selection was made; None: there was none. Only for runs that have ended for good."""
    selections = list(context.steps.all(SELECTED).values())
    return selections[-1] if selections else None


async def _choose(context: RunContext, worker: Worker) -> Selection:
    tree, executor = load_tree(context), context.executor
    experiments = [] if context.experiments is None else context.experiments.all()
    fitted_on_others = {experiment.node for experiment in experiments if experiment.fitted_on_others}
    sound = [node for node in tree.candidates() if not node.spoiled]
    parents = {node.id: {*node.parents} for node in sound if node.action == "ensemble"}
    newest = [*parents][-1:]
    # Besides the mean of an ensemble and a stack, the ensemble itself.
    without_stack = [node for node in parents if parents[node] == parents[newest[0]] - fitted_on_others][-1:]
    ensembles = sorted({*without_stack, *newest})
    single_nodes = sorted((n for n in sound if n.action != "ensemble"), key=lambda node: (-node.fitness, node.id))
    plain = [node.id for node in single_nodes if node.id not in fitted_on_others][:_MAX_PLAIN]
    stacks = [node.id for node in single_nodes if node.id in fitted_on_others][:_STACKS]
    nodes = [*plain, *stacks, *ensembles]
    executions = {node: executor.kept_execution(node) for node in nodes}
    scores = {node: (e.id, e.score) for node, e in executions.items() if e is not None and e.score is not None}
    files = {node: readable_files(executor.folder, id, score)[0] for node, (id, score) in scores.items()}
    predictions = [Predictions(await executor.view(GUARDED), (GUARDED, _FINAL), files)]
    folds, bank = await executor.fold_view(), executor.folder.bank
    # What was fitted on predictions out of fold is compared on validation rows alone.
    oof = {node: bank / score.oof for node, (_, score) in scores.items() if node in plain and score.oof is not None}
    if folds is not None and oof:
        predictions.append(Predictions(folds, (_OUT_OF_FOLD,), oof))
    candidates = [
        SelectionCandidate(
            node,
            tree[node].seconds,
            ensemble=node in ensembles,
            fitted_on_others=node in fitted_on_others,
            on_all_rows=context.experiments is not None and bool(made_on_all_rows(context, node)),
        )
        for node in nodes
    ]
    choice = await worker.choose_candidate(candidates, predictions, context.seed)
    comparisons = tuple(
        _compare_candidate(context, node, choice.evidence[node], ensembles, stacks) for node in choice.order
    )
    eligible = tuple(node.id for node in tree.candidates())
    return Selection(candidates=comparisons, reason=_reason(choice, comparisons), eligible=eligible)


def _compare_candidate(
    context: RunContext, node: int, evidence: CandidateEvidence, ensembles: Sequence[int], stacks: Sequence[int]
) -> CandidateComparison:
    is_experiment = context.experiments is not None and any(e.node == node for e in context.experiments.all())
    kind = "stack" if node in stacks else "experiment" if is_experiment else "script"
    return CandidateComparison(
        node=node,
        kind="ensemble" if node in ensembles else kind,
        holdout=evidence.scores.get(GUARDED, (None, 0))[0],
        out_of_fold=evidence.scores.get(_OUT_OF_FOLD, (None, 0))[0],
        final=evidence.scores.get(_FINAL, (None, 0))[0],
        mean=evidence.mean,
        gain=evidence.gain,
        gain_error=evidence.error,
    )


def _reason(choice: CandidateRanking, candidates: Sequence[CandidateComparison]) -> str:
    if not candidates:
        return "no candidates could be compared, so the best score decides"
    if len(candidates) == 1:
        return "the only candidate"
    first, second = candidates[:2]
    winner = "the ensemble" if first.kind == "ensemble" != second.kind else f"node {first.node}"
    if choice.evidence[first.node].worth <= choice.evidence[second.node].worth:
        return f"{winner} is as good as node {second.node} and faster"
    if first.kind == "ensemble" and (first.gain or 0.0) < 0:
        return "the ensemble is within noise of the best single candidate, whose score is inflated by selection"
    return f"{winner} is best on the rows on which all candidates were scored"


def _first_valid(context: RunContext, tree: Tree) -> NodeView | None:
    if context.executor.self_reported is None:
        return None
    with context.store.read() as session:
        query = select(Evaluation.node).where(Evaluation.run_id == context.run_id, col(Evaluation.valid))
        nodes = session.exec(query.order_by(col(Evaluation.node)).limit(1)).all()
    return tree[nodes[0]] if nodes else None

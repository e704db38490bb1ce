"""Handing in: a node is chosen, looked at again where it disappoints, run again on all data, and its file put in place."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlmodel import col, select

from bot.engine.attempts import load_tree
from bot.engine.blending import Blending
from bot.engine.context import RunContext
from bot.engine.tree import BASELINE, NodeView, Tree
from bot.evaluation.client.worker import Worker
from bot.execution.record import GUARDED, Score, kept_execution
from bot.submission.exactly_once import ExactlyOnce, Patience
from bot.submission.last_choice import last_choice
from bot.submission.refit import HandedInAs, MadeFile, refit
from bot.submission.replay import LOCK, ReplaySubmitter
from state.errors import BotError, BudgetExceeded
from state.tables import Submission

_INTERVAL_SECONDS = 2.0
"""For the interval of the final score."""


@dataclass(frozen=True)
class HandedIn:
    """What was handed in."""

    node: int | None
    """The chosen node; None: there is none."""
    how: HandedInAs | None
    """None: nothing was handed in."""
    note: str
    """Why this file, in one sentence."""
    second_look: str | None = None
    """What a second look at the choice found, in one sentence; None: none was needed."""
    boldest: int | None = None
    """What might be best of all else that could be handed in; what was handed in is the safest."""


async def hand_in(
    context: RunContext,
    blending: Blending | None,
    destination: Path,
    worker: Worker,
    *,
    hurried: bool,
    own: bool = False,
    over: bool = False,
) -> HandedIn:
    """Choose a script or a blend (see `last_choice`), refit it, and hand its file in.

    It may be called again: a run that was stopped hands in, is resumed, and hands in again.

    Args:
        context: the run.
        blending: its blends; None: nothing is blended.
        destination: where the file goes.
        worker: compares the refit's file with the scored one.
        hurried: a person stopped the run: nothing more is run, and the scored file is handed in.
        own: the agent made the file itself: it is handed in as it was left, scored or not.
        over: the search has ended for good, so that its finalists may be raced, and scored on the rows of `final`.

    Raises:
        SubmissionInDoubt: the file could not be put in place.
        OSError: there is no file of that node.
    """
    # A stopped run has no time for the dress rehearsal of a blend.
    if blending is not None and not (hurried and context.takes_notebooks):
        with suppress(BotError):
            await blending.as_node()
    tree = load_tree(context)
    chosen = _last_left(tree) if own else await last_choice(context, worker, over=over)
    if chosen is None:
        why = "its coder left no valid file" if own else "no node has a score, so there is nothing to hand in"
        return HandedIn(None, None, why)
    best, second_look = chosen, None
    if over and not hurried and not own:
        # A step: the interval is drawn within a time, and might be another one after a restart.
        looked = await context.steps.once(
            "second-look",
            lambda: _look_again(context, chosen, tree, worker),
            node=chosen.id,
            attempt=len(tree.candidates()),
        )
        best, second_look = tree[looked["node"]], looked["why"]
    scored = context.executor.submission_of(best.id, "holdout")
    made = MadeFile(scored, "holdout", "the run was stopped before a refit")
    if own:
        made, hurried = MadeFile(scored, "as-left", "the file as its coder left it"), True
    elif best.score is None:
        made = MadeFile(scored, "holdout", "the first file that is valid: no script printed a score")
        hurried = True
    if not hurried:
        made = await refit(context, best.id, worker)
    try:
        async with context.spending.reserve(submissions=1) as held:
            await _place(context, made.file, destination, node=best.id, how=made.how)
            held.spend(submissions=1)
    except BudgetExceeded as error:
        return _earlier(context, error)
    return HandedIn(best.id, made.how, made.note, second_look, None if own else _boldest(context, best, tree))


async def _look_again(context: RunContext, chosen: NodeView, tree: Tree, worker: Worker) -> dict[str, Any]:
    """Return what to hand in (`node`), and what was found (`why`, None: nothing).

    A final score beyond the bad end of its interval shows that the hold-out rows do not stand for others. Then the
    candidate with the best final score is taken: no search has gone by these rows.
    """
    card, final = context.card, context.executor.final_score(chosen.id)
    fine = {"node": chosen.id, "why": None}
    if final is None:
        return fine
    try:
        expected = await worker.validation_interval(
            await context.executor.view(GUARDED),
            context.executor.predictions_of(chosen.id),
            context.seed,
            "final",
            _INTERVAL_SECONDS,
        )
    except BotError:
        return fine
    worst = expected.high if card.lower_is_better else expected.low
    if worst is None or card.oriented(final) >= card.oriented(worst):
        return fine
    known = {one.id: context.executor.final_score(one.id) for one in tree.candidates() if not one.spoiled}
    finals = {node: card.oriented(score) for node, score in known.items() if score is not None}
    best = max(finals, key=lambda node: (finals[node], -node), default=chosen.id)
    why = f"the final score of node {chosen.id} lies outside its interval"
    if best == chosen.id:
        return {"node": best, "why": f"{why}; no other has a better one"}
    return {"node": best, "why": f"{why}; node {best}, which has the best final score, is handed in instead"}


def _boldest(context: RunContext, chosen: NodeView, tree: Tree) -> int | None:
    """Return the best candidate by its score and one standard error, of those that predict something else than the chosen one."""

    def kept(node: int) -> Score | None:
        with context.store.read() as session:
            done = kept_execution(session, context.run_id, node)
        return None if done is None else done.score

    own, bold = kept(chosen.id), {}
    for one in tree.candidates():
        score = kept(one.id)
        if score is not None and not one.spoiled and (own is None or score.submission != own.submission):
            bold[one.id] = one.fitness + (score.noise.score_error or 0.0)
    return max(bold, key=lambda node: (bold[node], -node), default=None)


def _last_left(tree: Tree) -> NodeView | None:
    """Return the last node whose file an agent has made itself."""
    return next((node for node in reversed(tree.nodes) if node.state == "valid" and not node.baseline), None)


def _earlier(context: RunContext, error: BudgetExceeded) -> HandedIn:
    """Return what was handed in before the run was resumed, as the budget allows nothing more."""
    with context.store.read() as session:
        query = select(Submission).where(Submission.run_id == context.run_id, Submission.status == "confirmed")
        last = session.exec(query.order_by(col(Submission.at).desc())).first()
    if last is None:
        return HandedIn(None, None, f"nothing was handed in: {error}")
    how: HandedInAs = "refit" if last.handed_in == "refit" else "holdout"
    return HandedIn(last.node, how, f"what was handed in before the run was resumed, since {error}")


async def _place(context: RunContext, file: Path, destination: Path, *, node: int, how: HandedInAs) -> None:
    """Put the file in place as all submissions are made; a file that is already there is left."""
    lock = destination.with_name(LOCK)
    # Our own disk lists at once what it has taken.
    patience = Patience(grace=0)
    site = ReplaySubmitter(destination)
    await ExactlyOnce(context.store, context.run_id, site, context.clock, lock, patience).submit(
        file, node=node, handed_in=how
    )


def is_baseline(handed: HandedIn) -> bool:
    """Return whether the safe baseline was handed in."""
    return handed.how is not None and handed.node == BASELINE

"""Handing in: the chosen node is run again on all data, and its new file is handed in if it agrees with the scored one."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sqlmodel import col, select

from bot.engine.attempts import load_tree
from bot.engine.blending import Blending
from bot.engine.context import RunContext
from bot.engine.tree import BASELINE, NodeView, Tree
from bot.evaluation.client.worker import Worker
from bot.submission.exactly_once import ExactlyOnce, Patience
from bot.submission.files import HandedInAs, MadeFile, refit
from bot.submission.last_choice import last_choice
from bot.submission.replay import LOCK, ReplaySubmitter
from state.errors import BotError, BudgetExceeded
from state.tables import Submission


@dataclass(frozen=True)
class HandedIn:
    """What was handed in."""

    node: int | None
    """The chosen node; None: there is none."""
    how: HandedInAs | None
    """None: nothing was handed in."""
    note: str
    """Why this file, in one sentence."""


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
    if blending is not None:
        with suppress(BotError):
            await blending.as_node()
    tree = load_tree(context)
    best = _last_left(tree) if own else await last_choice(context, worker, over=over)
    if best is None:
        why = "its coder left no valid file" if own else "no node has a score, so there is nothing to hand in"
        return HandedIn(None, None, why)
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
    return HandedIn(best.id, made.how, made.note)


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

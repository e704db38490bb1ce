"""Handing in: the chosen node is run again on all data, and its new file goes in if it agrees with the scored one."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sqlmodel import col, select

from bot.engine.attempts import BASELINE, code, holdout_seconds
from bot.engine.context import RunContext
from bot.engine.tree import NodeView, Tree
from bot.evaluation.executed import Executed
from bot.evaluation.worker import Worker
from bot.submission.exactly_once import ExactlyOnce, Patience
from bot.submission.replay import LOCK, ReplaySubmitter
from state.errors import BotError, BudgetExceeded, InfrastructureFailure, InvalidSubmission
from state.tables import Evaluation, Submission

HandedInAs = Literal["refit", "fold-average", "holdout"]

MARGIN = 1.2
"""A run on more rows is not started unless at least this many times the hold-out run's seconds are left."""


@dataclass(frozen=True)
class HandedIn:
    """What was handed in."""

    node: int | None
    """The one that was chosen; None: there is none."""
    how: HandedInAs | None
    """None: nothing was handed in."""
    note: str
    """Why this file, in one sentence."""
    final_score: float | None = None
    final_note: str | None = None


@dataclass(frozen=True)
class MadeFile:
    """A file that may be handed in, how it was made, and why it is this one."""

    file: Path
    how: HandedInAs
    note: str


async def hand_in(context: RunContext, tree: Tree, destination: Path, worker: Worker, *, hurried: bool) -> HandedIn:
    """Choose the node with the best validation score, refit it, check it once on the final part, and hand its file in.

    It may be called again: a run that was stopped hands in, is resumed, and hands in anew.

    Args:
        context: the run.
        tree: its finished tree.
        destination: where the file goes.
        worker: compares the refit's file with the scored one.
        hurried: the run was stopped by a person: nothing more is run, the scored file goes in as it is.

    Raises:
        SubmissionInDoubt: the file could not be put in its place.
        OSError: there is no file of that node.
    """
    best = _best(context, tree)
    if best is None:
        return HandedIn(None, None, "no node has a score, so there is nothing to hand in")
    scored = context.executor.submission_of(best.id, "holdout")
    made = MadeFile(scored, "holdout", "the run was stopped before a refit")
    if best.score is None:
        made = MadeFile(scored, "holdout", "the first file that is valid: no script printed a score")
        hurried = True
    final: Executed | None = None
    final_note = None
    if not hurried:
        made = await refit(context, best.id, worker, later=1)
        final, final_note = await _final(context, best.id)
    try:
        async with context.spending.reserve(submissions=1) as held:
            await _place(context, made.file, destination, node=best.id, how=made.how)
            held.spend(submissions=1)
    except BudgetExceeded as error:
        return _earlier(context, error)
    return HandedIn(best.id, made.how, made.note, final.score if final else None, final_note)


def _best(context: RunContext, tree: Tree) -> NodeView | None:
    """Return the node to hand in; where scores are those that scripts print, and none did, the first with a valid file."""
    best = tree.best()
    if best is not None or context.executor.self_reported is None:
        return best
    with context.store.read() as session:
        query = select(Evaluation.node).where(Evaluation.run_id == context.run_id, col(Evaluation.valid))
        nodes = session.exec(query.order_by(col(Evaluation.node)).limit(1)).all()
    return tree[nodes[0]] if nodes else None


def _earlier(context: RunContext, error: BudgetExceeded) -> HandedIn:
    """Return what was handed in before the run was resumed, as nothing more may be."""
    with context.store.read() as session:
        query = select(Submission).where(Submission.run_id == context.run_id, Submission.status == "confirmed")
        last = session.exec(query.order_by(col(Submission.at).desc())).first()
    if last is None:
        return HandedIn(None, None, f"nothing was handed in: {error}")
    how: HandedInAs = "refit" if last.handed_in == "refit" else "holdout"
    return HandedIn(last.node, how, f"what was handed in before the run was resumed, since {error}")


async def _place(context: RunContext, file: Path, destination: Path, *, node: int, how: HandedInAs) -> None:
    """Put the file in its place on the one way that all submissions go; what lies there already is left."""
    lock = destination.with_name(LOCK)
    # One's own disk lists at once what it has taken.
    patience = Patience(grace=0)
    site = ReplaySubmitter(destination)
    await ExactlyOnce(context.store, context.run_id, site, context.clock, lock, patience).submit(
        file, node=node, handed_in=how
    )


async def refit(context: RunContext, node: int, worker: Worker, *, later: int = 0) -> MadeFile:
    """Run a node again on all data, and return the file that is to be handed in: the new one, if it agrees with the scored one.

    Args:
        context: the run.
        node: whose script, with a score.
        worker: compares the two files.
        later: how many more such runs are to come, for which time is left.
    """
    scored = context.executor.submission_of(node, "holdout")
    if context.executor.self_reported is not None:
        return MadeFile(scored, "holdout", "the scored file, since no rows were withheld that a refit could learn from")
    context.say(f"refitting node {node} on all data")
    done = await _again(context, node, "full", later=later)
    if isinstance(done, str):
        return MadeFile(scored, "holdout", f"the scored file, since {done}")
    if not done.fine or done.submission is None:
        return MadeFile(scored, "holdout", f"the scored file, since the refit failed: {done.error}")
    try:
        found = await worker.call(
            "agree", file_a=str(done.submission), file_b=str(scored), card=context.card.model_dump(mode="json")
        )
    except (InvalidSubmission, InfrastructureFailure) as error:
        return MadeFile(scored, "holdout", f"the scored file, since the refit's could not be compared: {error}")
    if not found["agrees"]:
        return MadeFile(scored, "holdout", f"the scored file, since the refit's differs too much: {found['message']}")
    return MadeFile(done.submission, "refit", "the refit on all data, which agrees with the scored run")


async def _final(context: RunContext, node: int) -> tuple[Executed | None, str | None]:
    """Score the chosen node once on the part that no node ever saw: how much selecting flattered us."""
    if context.executor.self_reported is not None:
        return None, f"no part of the data could be withheld: {context.executor.self_reported}"
    context.say(f"checking node {node} on the final part")
    done = await _again(context, node, "final", later=0)
    return (None, done) if isinstance(done, str) else (done, done.error)


async def _again(context: RunContext, node: int, view: str, *, later: int) -> Executed | str:
    """Run a node's script on another view, `later` more to come; returns a sentence where that could not be done."""
    seconds = holdout_seconds(context, node) or 0.0
    if context.budget.left() < MARGIN * seconds + 1:
        return f"too little time was left for a run on `{view}`"
    limit = context.budget.repeat_seconds(seconds, later)
    try:
        return await context.executor.execute(node, code(context, node), view, limit)
    except BotError as error:
        return f"the run on `{view}` failed: {error}"


def is_baseline(handed: HandedIn) -> bool:
    """Whether the safe baseline was handed in."""
    return handed.how is not None and handed.node == BASELINE

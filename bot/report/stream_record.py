"""The record of a replay's moving clock, read from its database: its moves, the nodes, and the posts with their use."""

from collections.abc import Sequence
from datetime import datetime

from sqlmodel import col, select

from bot.community.ideas.evidence import heirs_of
from bot.community.reading.batches import known_analyses
from bot.engine.context import RunContext
from bot.engine.tree import APART
from bot.report.stream import ClockMove, NodeStart, PostUse, StreamRecord
from state.clock import StreamClock
from state.clock_advances import ClockAdvance, clock_advances
from state.ledgers import worked_seconds
from state.tables import Draft, Idea, Node, Run


def stream_record(context: RunContext) -> StreamRecord | None:
    """Return a run's record; None if its clock did not move."""
    clock = context.clock
    if not isinstance(clock, StreamClock):
        return None
    with context.store.read() as session:
        run = session.get_one(Run, context.run_id)
        made = [ClockAdvance(-1, clock.start, 1, run.created_at), *clock_advances(session, run.id)]
        nodes = session.exec(select(Node).where(Node.run_id == run.id, col(Node.action).not_in(APART))).all()
        ideas = session.exec(select(Idea).where(Idea.run_id == run.id)).all()
        drafts = session.exec(select(Draft).where(Draft.run_id == run.id)).all()
    return StreamRecord(
        start=clock.start,
        cutoff=clock.cutoff,
        moved_with="time" if context.budget.steps is None else "nodes",
        moves=tuple(_move(context, run, move) for move in made),
        nodes=tuple(_start(run, node, made) for node in sorted(nodes, key=lambda node: node.id)),
        posts=tuple(_posts(context, run, made, ideas, drafts, nodes)),
    )


def _move(context: RunContext, run: Run, move: ClockAdvance) -> ClockMove:
    counts = None if context.community_at is None else context.community_at(move.as_of).counts()
    return ClockMove(
        seconds=_seconds(run, move.at),
        as_of=move.as_of,
        topics=counts.topics if counts else 0,
        messages=counts.messages if counts else 0,
        kernels=counts.kernels if counts else 0,
    )


def _start(run: Run, node: Node, made: Sequence[ClockAdvance]) -> NodeStart:
    return NodeStart(
        node=node.id,
        seconds=_seconds(run, node.created_at),
        as_of=max(move.as_of for move in made if move.node <= node.id),
    )


def _posts(
    context: RunContext,
    run: Run,
    made: Sequence[ClockAdvance],
    ideas: Sequence[Idea],
    drafts: Sequence[Draft],
    nodes: Sequence[Node],
) -> list[PostUse]:
    """Return the documents that were read, in order of their latest text that was."""
    found = []
    heirs = heirs_of(ideas)
    for row in sorted(known_analyses(context), key=lambda row: (row.known_at, row.id)):
        passed = next(move for move in made if move.as_of >= row.known_at)
        own = sorted({heirs[idea.id] for idea in ideas if row.id in idea.sources})
        using = {draft.id for draft in drafts if set(own) & set(draft.idea_ids)}
        # A topic that has grown since was drawn on before, too.
        begun = [node.id for node in nodes if node.draft_id in using and _start(run, node, made).as_of >= passed.as_of]
        found.append(
            PostUse(
                item=row.id,
                posted=row.known_at,
                seconds=_seconds(run, passed.at),
                as_of=passed.as_of,
                ideas=tuple(own),
                nodes=tuple(sorted(begun)),
            )
        )
    return found


def _seconds(run: Run, at: datetime) -> float:
    return round(worked_seconds(run.gaps, run.created_at, at), 3)

"""Posts in result.json: what became known as a replay's clock moved, which nodes used it, and what tries to steer the bot."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session, select

from bot.community.ideas.evidence import heirs_of
from bot.community.reading.batches import known_analyses
from bot.community.reading.suspicion import steering
from bot.engine.context import RunContext
from bot.engine.tree import APART
from bot.report.credits import POSTS
from bot.report.result import SuspiciousPost
from bot.report.stream import ClockMove, NodeStart, PostUse, StreamRecord
from bot.status.knowledge import find_sources
from state.clock import StreamClock
from state.clock_advances import ClockAdvance, clock_advances
from state.knowledge import reproductions
from state.ledgers import worked_seconds
from state.tables import Draft, Idea, ModelCall, Node, Run


@dataclass(frozen=True)
class _Rows:
    """A run's rows, its nodes in order."""

    run: Run
    ideas: Sequence[Idea]
    drafts: Sequence[Draft]
    nodes: Sequence[Node]

    def using(self, ideas: Collection[int]) -> list[Node]:
        """Return the nodes of drafts that use one of these ideas."""
        drafts = {draft.id for draft in self.drafts if not set(ideas).isdisjoint(draft.idea_ids)}
        return [node for node in self.nodes if node.draft_id in drafts]

    def seconds(self, at: datetime) -> float:
        """Return a time as time in the run."""
        return round(worked_seconds(self.run.gaps, self.run.created_at, at), 3)


def _read_rows(session: Session, run_id: str) -> _Rows:
    return _Rows(
        run=session.get_one(Run, run_id),
        ideas=session.exec(select(Idea).where(Idea.run_id == run_id)).all(),
        drafts=session.exec(select(Draft).where(Draft.run_id == run_id)).all(),
        nodes=sorted(session.exec(select(Node).where(Node.run_id == run_id)), key=lambda node: node.id),
    )


def stream_record(context: RunContext) -> StreamRecord | None:
    """Return the record of a run's clock; None if it did not move."""
    clock = context.clock
    if not isinstance(clock, StreamClock):
        return None
    with context.store.read() as session:
        rows = _read_rows(session, context.run_id)
        moves = [ClockAdvance(-1, clock.start, 1, rows.run.created_at), *clock_advances(session, context.run_id)]
    starts = {node.id: max(move.as_of for move in moves if move.node <= node.id) for node in rows.nodes}
    return StreamRecord(
        start=clock.start,
        cutoff=clock.cutoff,
        moved_with="time" if context.budget.steps is None else "nodes",
        moves=tuple(_move(context, rows, move) for move in moves),
        nodes=tuple(
            NodeStart(node=node.id, seconds=rows.seconds(node.created_at), as_of=starts[node.id])
            for node in rows.nodes
            if node.action not in APART
        ),
        posts=tuple(_used_posts(context, rows, moves, starts)),
    )


def _move(context: RunContext, rows: _Rows, move: ClockAdvance) -> ClockMove:
    counts = None if context.community_at is None else context.community_at(move.as_of).counts()
    return ClockMove(
        seconds=rows.seconds(move.at),
        as_of=move.as_of,
        topics=counts.topics if counts else 0,
        messages=counts.messages if counts else 0,
        kernels=counts.kernels if counts else 0,
    )


def _used_posts(
    context: RunContext, rows: _Rows, moves: Sequence[ClockAdvance], starts: dict[int, datetime]
) -> Iterator[PostUse]:
    """Yield the documents that were read, in order of their latest text that was."""
    heirs = heirs_of(rows.ideas)
    for row in sorted(known_analyses(context), key=lambda row: (row.known_at, row.id)):
        passed = next(move for move in moves if move.as_of >= row.known_at)
        own = sorted({heirs[idea.id] for idea in rows.ideas if row.id in idea.sources})
        yield PostUse(
            item=row.id,
            posted=row.known_at,
            seconds=rows.seconds(passed.at),
            as_of=passed.as_of,
            ideas=tuple(own),
            # A topic that has grown since was drawn on before, too.
            nodes=tuple(
                node.id for node in rows.using(own) if node.action not in APART and starts[node.id] >= passed.as_of
            ),
        )


def suspicious_posts(context: RunContext) -> tuple[SuspiciousPost, ...]:
    """Return the posts that the run has read, ran or showed to coders and that look as if they tried to steer it."""
    with context.store.read() as session:
        rows = _read_rows(session, context.run_id)
        ran = {row.id: row.node for row in reproductions(context.store, context.run_id, context.clock.as_of())}
        return (*_analysed(context, rows, ran), *_only_shown(context, session, rows, ran))


def _analysed(context: RunContext, rows: _Rows, ran: dict[str, int | None]) -> Iterator[SuspiciousPost]:
    """Yield the documents that an analyst read, by item."""
    found = [row for row in known_analyses(context) if row.suspicion]
    titles = find_sources(context.store, context.card.slug, [row.id for row in found], context.clock.as_of())
    for row in found:
        own = {idea.id for idea in rows.ideas if not {row.id, *row.posts}.isdisjoint(idea.sources)}
        made = {node.id for node in rows.using(own)} | {node.id for node in rows.nodes if node.id == ran.get(row.id)}
        yield SuspiciousPost(
            item=row.id,
            title=titles[row.id].heading,
            reason=row.suspicion,
            ideas=tuple(sorted(own)),
            nodes=tuple(sorted(made)),
        )


def _only_shown(
    context: RunContext, session: Session, rows: _Rows, ran: dict[str, int | None]
) -> Iterator[SuspiciousPost]:
    """Yield the posts that no analyst read, but a coder was shown, or that were run, by time."""
    if context.community is None:
        return
    nodes: defaultdict[str, set[int | None]] = defaultdict(set)
    for item, node in (*posts_shown(session, context.run_id), *ran.items()):
        nodes[item].add(node)
    read = {item for row in known_analyses(context) for item in (row.id, *row.posts)}
    for post in context.community.find(sorted(nodes.keys() - read)):
        if reason := steering(post.title, post.text):
            # A lab has the number of its first script, which it may never have got to.
            made = tuple(node.id for node in rows.nodes if node.id in nodes[post.item])
            yield SuspiciousPost(item=post.item, title=post.title, reason=reason, ideas=(), nodes=made)


def posts_shown(session: Session, run_id: str) -> Iterator[tuple[str, int]]:
    """Yield each post that a coder was shown, with the node that it worked on."""
    query = select(ModelCall.node, ModelCall.items).where(ModelCall.run_id == run_id, ModelCall.role == "coder")
    for node, items in session.exec(query):
        if node is not None:
            yield from ((one["id"], node) for one in items if one["id"].partition("/")[0] in POSTS)

"""Posts in result.json: what became known as a replay's clock moved, which nodes used it, and what tries to steer the bot."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict
from datetime import datetime

from bot.community.ideas.evidence import heirs_of
from bot.community.reading.suspicion import steering
from bot.engine.context import RunContext
from bot.engine.run_record import RunRecord
from bot.engine.tree import SEPARATE
from bot.report.credits import POSTS
from bot.report.result import SuspiciousPost
from bot.report.stream import ClockMove, NodeStart, PostUse, StreamRecord
from bot.status.knowledge import find_sources
from state.clock import StreamClock
from state.clock_advances import ClockAdvance
from state.tables import Node


def _nodes_using(run: RunRecord, ideas: Collection[int]) -> list[Node]:
    drafts = {draft.id for draft in run.drafts if not set(ideas).isdisjoint(draft.idea_ids)}
    return [node for node in run.nodes.values() if node.draft_id in drafts]


def stream_record(context: RunContext, run: RunRecord) -> StreamRecord | None:
    """Return the record of a run's clock; None if it did not move."""
    clock = context.clock
    if not isinstance(clock, StreamClock):
        return None
    moves = [ClockAdvance(-1, clock.start, 1, run.row.created_at), *run.clock_advances]
    starts = {id: max(move.as_of for move in moves if move.node <= id) for id in run.nodes}
    return StreamRecord(
        start=clock.start,
        cutoff=clock.cutoff,
        moved_with="time" if context.budget.steps is None else "nodes",
        moves=tuple(_move(context, run, move) for move in moves),
        nodes=tuple(NodeStart(node=n.id, seconds=_seconds(run, n.created_at), as_of=starts[n.id]) for n in run.scripts),
        posts=tuple(_used_posts(context, run, moves, starts)),
    )


def _seconds(run: RunRecord, time: datetime) -> float:
    return round(run.seconds(time), 3)


def _move(context: RunContext, run: RunRecord, move: ClockAdvance) -> ClockMove:
    counts = {"topics": 0, "messages": 0, "kernels": 0}
    if context.community_at is not None:
        counts = asdict(context.community_at(move.as_of).counts())
    return ClockMove(seconds=_seconds(run, move.at), as_of=move.as_of, **counts)


def _used_posts(
    context: RunContext, run: RunRecord, moves: Sequence[ClockAdvance], starts: dict[int, datetime]
) -> Iterator[PostUse]:
    """Yield the documents that were read, in order of their latest text that was."""
    heirs = heirs_of(run.ideas)
    for row in sorted(run.analyses, key=lambda row: (row.known_at, row.id)):
        clock_move = next(move for move in moves if move.as_of >= row.known_at)
        idea_ids = sorted({heirs[idea.id] for idea in run.ideas if row.id in idea.sources})
        # A topic that has grown since was drawn on before, too.
        nodes = (n for n in _nodes_using(run, idea_ids) if n.action not in SEPARATE)
        yield PostUse(
            item=row.id,
            posted=row.known_at,
            seconds=_seconds(run, clock_move.at),
            as_of=clock_move.as_of,
            ideas=tuple(idea_ids),
            nodes=tuple(node.id for node in nodes if starts[node.id] >= clock_move.as_of),
        )


def suspicious_posts(context: RunContext, run: RunRecord) -> tuple[SuspiciousPost, ...]:
    """Return the posts that the run has read, ran or showed to coders and that look as if they tried to steer it."""
    kernel_nodes = {row.id: row.node for row in run.kernels}
    return (*_analysed(context, run, kernel_nodes), *_only_shown(context, run, kernel_nodes))


def _analysed(context: RunContext, run: RunRecord, kernel_nodes: dict[str, int | None]) -> Iterator[SuspiciousPost]:
    """Yield the documents that an analyst read, by item."""
    suspicious_rows = [row for row in run.analyses if row.suspicion]
    titles = find_sources(context.store, context.card.slug, [row.id for row in suspicious_rows], context.clock.as_of())
    for row in suspicious_rows:
        idea_ids = {idea.id for idea in run.ideas if not {row.id, *row.posts}.isdisjoint(idea.sources)}
        node_ids = {node.id for node in _nodes_using(run, idea_ids)} | ({kernel_nodes.get(row.id)} & run.nodes.keys())
        yield SuspiciousPost(
            item=row.id,
            title=titles[row.id].heading,
            reason=row.suspicion,
            ideas=tuple(sorted(idea_ids)),
            nodes=tuple(sorted(node_ids)),
        )


def _only_shown(context: RunContext, run: RunRecord, kernel_nodes: dict[str, int | None]) -> Iterator[SuspiciousPost]:
    """Yield the posts that no analyst read, but a coder was shown, or that were run, by time."""
    if context.community is None:
        return
    nodes: defaultdict[str, set[int | None]] = defaultdict(set)
    for item, node in (*run.items_shown("coder"), *kernel_nodes.items()):
        if item.partition("/")[0] in POSTS:
            nodes[item].add(node)
    read = {item for row in run.analyses for item in (row.id, *row.posts)}
    for post in context.community.find(sorted(nodes.keys() - read)):
        if reason := steering(post.title, post.text):
            # A lab has the number of its first script, which it may never have got to.
            node_ids = tuple(node.id for node in run.nodes.values() if node.id in nodes[post.item])
            yield SuspiciousPost(item=post.item, title=post.title, reason=reason, ideas=(), nodes=node_ids)

"""Posts that try to steer the bot: why they look so, and what came of them."""

from collections import defaultdict
from collections.abc import Iterator

from sqlmodel import Session, select

from bot.community.dependencies.rows import posts_shown
from bot.community.reading.batches import known_analyses
from bot.community.reading.suspicion import steering
from bot.engine.context import RunContext
from bot.report.knowledge import source_of
from bot.report.result import SuspiciousPost
from state.knowledge import reproductions
from state.tables import Draft, Idea, Node


def suspicious_posts(context: RunContext) -> tuple[SuspiciousPost, ...]:
    """Return the posts that the run has read, ran or showed to coders and that look as if they tried to steer it."""
    with context.store.read() as session:
        return (*_analysed(context, session), *_only_shown(context, session))


def _analysed(context: RunContext, session: Session) -> Iterator[SuspiciousPost]:
    """Yield the documents that an analyst read, by item."""
    run, rows = context.run_id, [row for row in known_analyses(context) if row.suspicion]
    ran = {row.id: row.node for row in reproductions(context.store, run, context.clock.as_of())}
    ideas = session.exec(select(Idea).where(Idea.run_id == run)).all()
    drafts = session.exec(select(Draft).where(Draft.run_id == run)).all()
    nodes = session.exec(select(Node).where(Node.run_id == run)).all()
    for row in rows:
        own = {idea.id for idea in ideas if {row.id, *row.posts} & set(idea.sources)}
        using = {draft.id for draft in drafts if own & set(draft.idea_ids)}
        made = {node.id for node in nodes if node.draft_id in using or node.id == ran.get(row.id)}
        yield SuspiciousPost(
            item=row.id,
            title=source_of(session, context.card.slug, row.id, {}).title,
            reason=row.suspicion,
            ideas=tuple(sorted(own)),
            nodes=tuple(sorted(made)),
        )


def _only_shown(context: RunContext, session: Session) -> Iterator[SuspiciousPost]:
    """Yield the posts that no analyst read, but a coder was shown, or that were run, by time."""
    if context.community is None:
        return
    nodes: defaultdict[str, set[int]] = defaultdict(set)
    for node, items in posts_shown(session, context.run_id).items():
        for item in items:
            nodes[item].add(node)
    for row in reproductions(context.store, context.run_id, context.clock.as_of()):
        nodes[row.id] |= {row.node} if row.node is not None else set()
    # A lab has the number of its first script, which it may never have got to.
    there = set(session.exec(select(Node.id).where(Node.run_id == context.run_id)))
    read = {item for row in known_analyses(context) for item in (row.id, *row.posts)}
    for post in context.community.find(sorted(nodes.keys() - read)):
        if reason := steering(post.title, post.text):
            made = tuple(sorted(nodes[post.item] & there))
            yield SuspiciousPost(item=post.item, title=post.title, reason=reason, ideas=(), nodes=made)

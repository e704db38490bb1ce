"""Posts that try to steer the bot: why they look so, and what came of them."""

from sqlmodel import select

from bot.community.reading.batches import known_analyses
from bot.engine.context import RunContext
from bot.report.knowledge import source_of
from bot.report.result import SuspiciousPost
from state.knowledge import reproductions
from state.tables import Draft, Idea, Node


def suspicious_posts(context: RunContext) -> tuple[SuspiciousPost, ...]:
    """Return the documents that the run has read and that look as if they tried to steer it, by item."""
    run, rows = context.run_id, [row for row in known_analyses(context) if row.suspicion]
    ran = {row.id: row.node for row in reproductions(context.store, run, context.clock.as_of())}
    found = []
    with context.store.read() as session:
        ideas = session.exec(select(Idea).where(Idea.run_id == run)).all()
        drafts = session.exec(select(Draft).where(Draft.run_id == run)).all()
        nodes = session.exec(select(Node).where(Node.run_id == run)).all()
        for row in rows:
            own = {idea.id for idea in ideas if {row.id, *row.posts} & set(idea.sources)}
            using = {draft.id for draft in drafts if own & set(draft.idea_ids)}
            made = {node.id for node in nodes if node.draft_id in using or node.id == ran.get(row.id)}
            found.append(
                SuspiciousPost(
                    item=row.id,
                    title=source_of(session, context.card.slug, row.id, {}).title,
                    reason=row.suspicion,
                    ideas=tuple(sorted(own)),
                    nodes=tuple(sorted(made)),
                )
            )
    return tuple(found)

"""Posts that became known in mid-run, as a page shows them: what they are, and which nodes used them."""

from dataclasses import dataclass

from sqlmodel import Session

from bot.report.knowledge import Source, source_of
from bot.report.result import RunResult
from bot.report.stream import PostUse

__all__ = ["KnownPost", "known_posts"]


@dataclass(frozen=True)
class KnownPost:
    """One post that was read."""

    use: PostUse
    source: Source


def known_posts(session: Session, result: RunResult) -> tuple[KnownPost, ...]:
    """Return the posts that were read while the clock moved; those that a node used come first."""
    if result.stream is None:
        return ()
    ordered = sorted(result.stream.posts, key=lambda use: (not use.nodes, use.posted, use.item))
    return tuple(KnownPost(use, source_of(session, result.competition_id, use.item, {})) for use in ordered)

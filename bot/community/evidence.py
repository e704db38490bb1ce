"""Evidence for ideas: what those who have read their sources think of them, and what came of those that were tried."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from state.tables import Analysis, Draft, Idea, Report

__all__ = ["NEUTRAL_SUPPORT", "Evidence", "evidence"]

NEUTRAL_SUPPORT = 5.0
"""Support of an idea that comes from reports alone: nobody has judged it."""


@dataclass(frozen=True)
class Evidence:
    """What speaks for one idea."""

    idea: Idea
    support: float
    """Mean effectiveness of its sources, 0 to 10."""
    times_used: int
    """Drafts that use it."""
    best_score: float | None
    """Of the reports on these; None where there is none, or nobody knows which way scores point."""


def evidence(
    ideas: Sequence[Idea],
    analyses: Sequence[Analysis],
    drafts: Sequence[Draft],
    reports: Sequence[Report],
    oriented: Callable[[float], float] | None,
) -> list[Evidence]:
    """Return the ideas with what speaks for them, best supported first.

    Args:
        ideas: the ideas; the others are what is known beside them.
        analyses: of posts.
        drafts: plans made of ideas.
        reports: of what came of drafts.
        oriented: turns a score so that more is better; None: that is not known.
    """
    support = {one.id: one.effectiveness for one in analyses}
    scores = {one.draft_id: one.score for one in reports if one.score is not None}
    found = []
    for idea in ideas:
        judged = [support[source] for source in idea.sources if source in support]
        users = [draft.id for draft in drafts if idea.id in draft.idea_ids]
        scored = [scores[draft] for draft in users if draft in scores]
        best = max(scored, key=oriented, default=None) if oriented is not None else None
        found.append(Evidence(idea, sum(judged) / len(judged) if judged else NEUTRAL_SUPPORT, len(users), best))
    return sorted(found, key=lambda one: (-one.support, one.idea.id))

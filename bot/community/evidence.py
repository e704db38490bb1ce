"""Evidence for ideas: how good their sources are, and what each idea gained where it was measured."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from state.tables import Analysis, Draft, Idea, Report

NEUTRAL_SUPPORT = 5.0
"""Support of an idea that nobody has judged or measured."""
WHOLE = "the draft as a whole"
"""Name of the component of a report that holds the draft's own gain, measured by the engine."""
_SUPPORT_A_NOISE = 2.0
"""Support added by a gain of one standard error."""


@dataclass(frozen=True)
class Evidence:
    """How well one idea is supported."""

    idea: Idea
    support: float
    """0 to 10: from its measured gains; without any, the best of its sources'."""
    times_used: int
    """Drafts that use it."""
    gains: tuple[float, ...]
    """Gains of the idea itself, each from a comparison that differs in nothing else; above 0 is better, in the metric's unit.
    What a draft gained as a whole does not count."""


def evidence(
    ideas: Sequence[Idea],
    analyses: Sequence[Analysis],
    drafts: Sequence[Draft],
    reports: Sequence[Report],
    noise: float | None,
) -> list[Evidence]:
    """Return the ideas with their evidence, best supported first.

    Args:
        ideas: the pool.
        analyses: of posts.
        drafts: plans made of ideas.
        reports: on drafts.
        noise: standard error of a score in this run, the unit of gains; None: unknown.
    """
    worth = {one.id: one.effectiveness for one in analyses}
    for report in reports:
        if (whole := _whole(report)) is not None:
            worth[f"report/{report.id}"] = _support(whole["gain"], whole["gain_error"])
    found = []
    for idea in ideas:
        judged = [worth[source] for source in idea.sources if source in worth]
        gains = tuple(
            float(part["gain"])
            for report in reports
            for part in report.components
            if part.get("idea") == idea.id and part.get("gain") is not None
        )
        support = max(judged, default=NEUTRAL_SUPPORT)
        if gains:
            support = _support(statistics.fmean(gains), noise)
        used = sum(idea.id in draft.idea_ids for draft in drafts)
        found.append(Evidence(idea, support, used, gains))
    return sorted(found, key=lambda one: (-one.support, one.idea.id))


def _whole(report: Report) -> Mapping[str, Any] | None:
    return next((part for part in report.components if part.get("name") == WHOLE), None)


def _support(gain: float, error: float | None) -> float:
    """Return support, 0 to 10, for a gain in standard errors; where the error is unknown, for its sign alone."""
    in_errors = gain / error if error else float((gain > 0) - (gain < 0))
    return min(10.0, max(0.0, NEUTRAL_SUPPORT + _SUPPORT_A_NOISE * in_errors))

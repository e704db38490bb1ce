"""Evidence for ideas: what each gained where it was measured, else what its sources were measured or judged to be worth."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from bot.engine.results import typical_noise
from bot.engine.tree import BASELINE
from state.knowledge import analyses, drafts, ideas, reports, reproductions
from state.store import Store
from state.tables import Analysis, Draft, Idea, Node, Report, Reproduction

NEUTRAL_SUPPORT = 5.0
"""Support of an idea that nobody has judged or measured."""
WHOLE = "the draft as a whole"
"""Name of the component of a report that holds the draft's own gain, measured by the engine."""
_SUPPORT_A_NOISE = 2.0
"""Support added by a gain of one standard error."""
_MOST_OF_WHOLE = 3.0
"""Most that a source which was measured as a whole adds or takes: what of it was the idea's is unknown."""
_MOST_CLAIMED = 1.5
"""Most that a post adds or takes whose claims nobody has measured here."""

# Its own gains, a reproduced kernel, the report on a draft, a post's claims, nothing.
Basis = Literal["measured", "kernel", "report", "claimed", "none"]
BASES: Mapping[str, str] = {
    "measured": "measured",
    "kernel": "kernel run",
    "report": "draft measured",
    "claimed": "claimed",
    "none": "not judged",
}
"""A basis in words."""
Gain = tuple[float, float | None]
"""A gain, above 0 where it is better, and its standard error, None if unknown; in the metric's unit."""


@dataclass(frozen=True)
class Evidence:
    """How well one idea is supported."""

    idea: Idea
    sources: tuple[str, ...]
    """Its own, and those of ideas that were merged into it."""
    support: float
    """0 to 10: from its measured gains; without any, from the best of its sources, within what these were measured."""
    basis: Basis
    """What the support rests on."""
    times_used: int
    """Drafts that use it."""
    gains: tuple[float, ...]
    """Gains of the idea itself, each from a comparison that differs in nothing else; above 0 is better, in the metric's unit.
    What a draft gained as a whole does not count."""
    error: float | None
    """Standard error of the mean of the gains; None: unknown, or there are none."""

    @property
    def live(self) -> bool:
        """Whether it is offered."""
        return self.idea.state == "live"

    @property
    def in_vain(self) -> bool:
        """Whether it was measured, and gained nothing beyond noise."""
        return bool(self.gains) and statistics.fmean(self.gains) <= (self.error or 0.0)


def pool_evidence(store: Store, run_id: str, as_of: datetime, *, lower_is_better: bool) -> list[Evidence]:
    """Return all ideas of a run that are known at a time, closed ones too, with their evidence; see `evidence`."""
    with store.read() as session:
        baseline = session.get(Node, (run_id, BASELINE))
    return evidence(
        ideas(store, run_id, as_of),
        analyses(store, run_id, as_of),
        drafts(store, run_id, as_of),
        reports(store, run_id, as_of),
        typical_noise(store, run_id),
        kernel_gains(
            reproductions(store, run_id, as_of),
            None if baseline is None else baseline.score,
            lower_is_better=lower_is_better,
        ),
    )


def kernel_gains(rows: Sequence[Reproduction], baseline: float | None, *, lower_is_better: bool) -> dict[str, Gain]:
    """Return by how much each kernel that was run beat the baseline's score, by item."""
    sign = -1 if lower_is_better else 1
    return {
        row.id: (sign * (row.measured - baseline), row.noise)
        for row in rows
        if row.measured is not None and baseline is not None
    }


def evidence(
    ideas: Sequence[Idea],
    analyses: Sequence[Analysis],
    drafts: Sequence[Draft],
    reports: Sequence[Report],
    noise: float | None,
    kernels: Mapping[str, Gain] | None = None,
) -> list[Evidence]:
    """Return the ideas with their evidence, best supported first.

    Args:
        ideas: the pool.
        analyses: of posts.
        drafts: plans made of ideas.
        reports: on drafts.
        noise: standard error of a score in this run, the unit of gains; None: unknown.
        kernels: what `kernel_gains` returns.
    """
    worth: dict[str, tuple[float, Basis]] = {
        # Whoever tries to steer readers is not believed; what others wrote in the same thread is not held against it.
        one.id: (_claimed(min(one.effectiveness, NEUTRAL_SUPPORT) if one.suspicion else one.effectiveness), "claimed")
        for one in analyses
    }
    for item, (gain, error) in (kernels or {}).items():
        worth[item] = _bounded(_in_errors(gain, error or noise), _MOST_OF_WHOLE), "kernel"
    for report in reports:
        if (whole := next((part for part in report.components if part.get("name") == WHOLE), None)) is not None:
            worth[f"report/{report.id}"] = _bounded(_in_errors(*_gain(whole, noise)), _MOST_OF_WHOLE), "report"
    heirs = heirs_of(ideas)
    found = []
    for idea in ideas:
        same = {one.id for one in ideas if heirs[one.id] == idea.id} | {idea.id}
        sources = tuple(dict.fromkeys(item for one in ideas if one.id in same for item in one.sources))
        gains = [_gain(part, noise) for report in reports for part in measured_parts(report) if part["idea"] in same]
        judged: list[tuple[float, Basis]] = [worth[item] for item in sources if item in worth]
        added, basis = max(judged, key=lambda one: one[0], default=(0.0, "none"))
        error = _error_of_mean(gains)
        if gains:
            added, basis = _in_errors(statistics.fmean(gain for gain, _ in gains), error), "measured"
        found.append(
            Evidence(
                idea=idea,
                sources=sources,
                support=min(10.0, max(0.0, NEUTRAL_SUPPORT + added)),
                basis=basis,
                times_used=sum(bool(same & {*draft.idea_ids}) for draft in drafts),
                gains=tuple(gain for gain, _ in gains),
                error=error,
            )
        )
    return sorted(found, key=lambda one: (-one.support, one.idea.id))


def heirs_of(ideas: Sequence[Idea]) -> dict[int, int]:
    """Return for each idea the one that it was merged into in the end, itself if it was not, by number."""
    into = {idea.id: idea.successors[0] for idea in ideas if idea.state == "merged"}
    heirs = {}
    for idea in ideas:
        last = idea.id
        while last in into:
            last = into[last]
        heirs[idea.id] = last
    return heirs


def measured_parts(report: Report) -> list[Mapping[str, Any]]:
    """Return the components of a report that carry out an idea and have a gain of their own."""
    return [part for part in report.components if part.get("idea") is not None and part.get("gain") is not None]


def _gain(part: Mapping[str, Any], noise: float | None) -> Gain:
    error = part.get("gain_error")
    return float(part["gain"]), noise if error is None else float(error)


def _error_of_mean(gains: Sequence[Gain]) -> float | None:
    errors = [error for _, error in gains if error is not None]
    return math.hypot(*errors) / len(gains) if errors and len(errors) == len(gains) else None


def _in_errors(gain: float, error: float | None) -> float:
    """Return the support that a gain adds: so much a standard error; where that is unknown, for its sign alone."""
    return _SUPPORT_A_NOISE * (gain / error if error else float((gain > 0) - (gain < 0)))


def _claimed(effectiveness: float) -> float:
    return _bounded((effectiveness - NEUTRAL_SUPPORT) * _MOST_CLAIMED / 5, _MOST_CLAIMED)


def _bounded(added: float, most: float) -> float:
    return min(most, max(-most, added))

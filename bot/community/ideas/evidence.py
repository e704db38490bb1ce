"""Evidence for ideas: their measured gains, else what their sources were measured or judged to be worth."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from bot.community.ideas.uses import Uses, added, credited, uses
from bot.community.prompt_views import ComponentNote
from bot.engine.experiment import Experiment
from bot.engine.run_record import RunRecord
from bot.engine.tree import BASELINE
from state.tables import Analysis, Draft, Idea, Node, Report


def unreported_parts(run: RunRecord) -> list[ComponentNote]:
    """Return the ideas that each script and experiment of drafts without a report adds, with its paired gain."""
    ideas, reported = {idea.id: idea.text for idea in run.ideas}, {report.draft_id for report in run.reports}
    if not ideas:
        return []
    nodes = {row.id: row for row in run.scripts if row.status == "valid"}
    logged = {experiment.name: experiment for experiment in run.experiments}
    by_node = {experiment.node: experiment for experiment in logged.values()}
    over = {
        experiment.node: logged.get(experiment.result.gain.over)
        for experiment in logged.values()
        if experiment.result.gain is not None
    }
    open_nodes = [row for row in nodes.values() if row.draft_id is not None and row.draft_id not in reported]
    parts = []
    for row in open_nodes:
        reference = over.get(row.id)
        parent = nodes.get(next(iter(row.parents), 0) if reference is None else reference.node)
        before = None if parent is None else _uses(run, parent, by_node.get(parent.id), ideas)
        own_uses = _uses(run, row, by_node.get(row.id), ideas)
        gain = run.gains.get(row.id) if before is not None or own_uses.named_ideas else None
        part = ComponentNote(
            name=f"node {row.id}",
            analysis="",
            idea=credited(own_uses, before),
            ideas=tuple(sorted(added(own_uses, before))),
            gain=None if gain is None else gain.value,
            gain_error=None if gain is None else gain.std_error,
        )
        parts.append(part)
    return [part for part in parts if part.ideas]


def _uses(run: RunRecord, row: Node, logged: Experiment | None, ideas: Mapping[int, str]) -> Uses:
    sources = {} if row.code_sha is None else {"script.py": row.code_sha}
    if logged is not None and logged.sources:
        # As they are: put into one text, files of other kinds would hide the code from the parser.
        sources = dict(logged.sources)
    return uses({name: run.text(sha) for name, sha in sources.items()}, row.plan, ideas)


NEUTRAL_SUPPORT = 5.0
"""Support of an idea that was neither judged nor measured."""
WHOLE_DRAFT = "the draft as a whole"
"""Name of the component of a report that holds the draft's own gain, measured by the engine."""
_SUPPORT_A_NOISE = 2.0
"""Support added by a gain of one standard error."""
_MOST_OF_WHOLE = 3.0
"""Maximum change of support by what was measured as a whole, such as a source: the idea's part in it is unknown."""
_MOST_CLAIMED = 1.5
"""Maximum change of support by a post whose claims were not measured here."""

# Its own gains, gains of several ideas at once, a reproduced kernel, the report on a draft, a post's claims; built but without
# any of these; nothing.
Basis = Literal["measured", "together", "kernel", "report", "claimed", "built", "none"]
BASES: Mapping[str, str] = {
    "measured": "measured",
    "together": "measured together with other ideas",
    "kernel": "notebook run here",
    "report": "draft measured",
    "claimed": "claimed in posts",
    "built": "built, but not measured separately",
    "none": "not judged",
}
"""A basis in words."""
Gain = tuple[float, float | None]
"""A gain, above 0 if it is better, and its standard error, None if unknown; in the metric's unit."""


@dataclass(frozen=True)
class IdeaEvidence:
    """How well one idea is supported."""

    idea: Idea
    sources: tuple[str, ...]
    """Its own, and those of ideas that were merged into it."""
    support: float
    """0 to 10: from its measured gains; without any, from the best of its sources."""
    basis: Basis
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
    def basis_in_words(self) -> str:
        """Basis of the support, in words."""
        return BASES[self.basis]

    @property
    def has_no_gain(self) -> bool:
        """Whether it was measured, and gained nothing beyond noise."""
        return bool(self.gains) and statistics.fmean(self.gains) <= (self.error or 0.0)


def pool_evidence(run: RunRecord) -> list[IdeaEvidence]:
    """Return all ideas of a run with their evidence, closed ones too; see `evidence`."""
    baseline = run.nodes.get(BASELINE)
    score = None if baseline is None else baseline.score
    kernels = {
        row.id: (run.oriented(row.measured) - run.oriented(score), row.noise)
        for row in run.kernels
        if row.measured is not None and score is not None
    }
    noise, parts = run.typical_noise, unreported_parts(run)
    return evidence(run.ideas, run.analyses, run.drafts, run.reports, noise, kernels, parts)


def evidence(
    ideas: Sequence[Idea],
    analyses: Sequence[Analysis],
    drafts: Sequence[Draft],
    reports: Sequence[Report],
    noise: float | None,
    kernels: Mapping[str, Gain] | None = None,
    unreported: Sequence[ComponentNote] = (),
) -> list[IdeaEvidence]:
    """Return the ideas with their evidence, best supported first.

    `noise` is the standard error of a score in this run, the unit of gains; `unreported` was measured in drafts without a
    report.
    """
    worth: dict[str, tuple[float, Basis]] = {}
    for analysis in analyses:
        # A post that tries to steer its readers is not believed; the other posts of the same thread are not affected.
        effect = min(analysis.effectiveness, NEUTRAL_SUPPORT) if analysis.suspicion else analysis.effectiveness
        worth[analysis.id] = _clamped((effect - NEUTRAL_SUPPORT) * _MOST_CLAIMED / 5, _MOST_CLAIMED), "claimed"
    for item, (gain, error) in (kernels or {}).items():
        worth[item] = _clamped(_in_errors(gain, error or noise), _MOST_OF_WHOLE), "kernel"
    for report in reports:
        for part in report.components:
            if part.get("name") == WHOLE_DRAFT:
                worth[f"report/{report.id}"] = _clamped(_in_errors(*_gain(part, noise)), _MOST_OF_WHOLE), "report"
                break
    heirs, evidence_list = heirs_of(ideas), []
    parts = [*(part for report in reports for part in report.components), *(note.model_dump() for note in unreported)]
    for idea in ideas:
        merged_ids = {merged.id for merged in ideas if heirs[merged.id] == idea.id} | {idea.id}
        sources = tuple(dict.fromkeys(item for merged in ideas if merged.id in merged_ids for item in merged.sources))
        gains = [
            _gain(part, noise) for part in parts if part.get("gain") is not None and part.get("idea") in merged_ids
        ]
        adding = [part for part in parts if merged_ids & {part.get("idea"), *part.get("ideas", ())}]
        joint_gains = [
            _gain(part, noise) for part in adding if part.get("idea") is None and part.get("gain") is not None
        ]
        source_values: list[tuple[float, Basis]] = [worth[item] for item in sources if item in worth]
        added, basis = max(source_values, key=lambda valued: valued[0], default=(0.0, "none"))
        error = _error_of_mean(gains)
        if gains:
            added, basis = _in_errors(_mean(gains), error), "measured"
        elif joint_gains:
            in_errors = _in_errors(_mean(joint_gains), _error_of_mean(joint_gains))
            added, basis = _clamped(in_errors, _MOST_OF_WHOLE), "together"
        elif adding and basis == "none":
            basis = "built"
        evidence_list.append(
            IdeaEvidence(
                idea=idea,
                sources=sources,
                support=min(10.0, max(0.0, NEUTRAL_SUPPORT + added)),
                basis=basis,
                times_used=sum(bool(merged_ids & {*draft.idea_ids}) for draft in drafts),
                gains=tuple(gain for gain, _ in gains),
                error=error,
            )
        )
    return sorted(evidence_list, key=lambda evidence_item: (-evidence_item.support, evidence_item.idea.id))


def heirs_of(ideas: Sequence[Idea]) -> dict[int, int]:
    """Return for each idea's number that of the idea it was finally merged into, or its own."""
    successors = {idea.id: idea.successors[0] for idea in ideas if idea.state == "merged"}
    heirs = {}
    for idea in ideas:
        last = idea.id
        while last in successors:
            last = successors[last]
        heirs[idea.id] = last
    return heirs


def _gain(part: Mapping[str, Any], noise: float | None) -> Gain:
    error = part.get("gain_error")
    return float(part["gain"]), noise if error is None else float(error)


def _mean(gains: Sequence[Gain]) -> float:
    return statistics.fmean(gain for gain, _ in gains)


def _error_of_mean(gains: Sequence[Gain]) -> float | None:
    errors = [error for _, error in gains if error is not None]
    return math.hypot(*errors) / len(gains) if errors and len(errors) == len(gains) else None


def _in_errors(gain: float, error: float | None) -> float:
    """Return the support that a gain adds, in proportion to its standard error; if that is unknown, by its sign."""
    return _SUPPORT_A_NOISE * (gain / error if error else float((gain > 0) - (gain < 0)))


def _clamped(added: float, limit: float) -> float:
    return min(limit, max(-limit, added))

"""Credits: how much a run's ideas, drafts and scripts gained, and what came of each post."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from bot.engine.run_record import RunRecord
from state.tables import Report, Reproduction

POSTS = ("topic", "message", "kernel")
"""Kinds of posts, as items name them before the slash."""
_BEYOND_NOISE = 2.0
"""Standard errors that a gain must exceed to be beyond noise."""
_KeyT = TypeVar("_KeyT")


@dataclass(frozen=True)
class MeasuredGain:
    """A measured difference of scores, above 0 where it is better, and its standard error; None: unknown."""

    value: float
    error: float | None = None

    @property
    def beyond_noise(self) -> bool:
        """Whether it is beyond noise; one whose standard error is unknown is not."""
        return self.error is not None and self.value > _BEYOND_NOISE * self.error


@dataclass(frozen=True)
class PostCredit:
    """What came of a post."""

    ideas: tuple[int, ...]
    """Drawn from it, with those that they were merged or split into."""
    drafts: tuple[str, ...]
    """Those that used one of these ideas, or are built on the reproduced kernel."""
    idea_gain: MeasuredGain | None
    """The best one measured of such an idea alone."""
    draft_gain: MeasuredGain | None
    """The best one of such a draft, to which other ideas may have contributed."""
    submitted: bool
    """Whether it went into a submission."""


@dataclass(frozen=True)
class Credits:
    """The gains of a run's drafts and scripts, and what came of its posts."""

    draft_gains: Mapping[str, MeasuredGain]
    """Of a draft's best script over all that others had scored before it, by draft."""
    script_gains: Mapping[int, MeasuredGain]
    """Over what a script is built on, by node."""
    posts: Mapping[str, PostCredit]
    """Posts that an idea was drawn from or that were reproduced, by item, the most useful first."""


def measure_credits(run: RunRecord) -> Credits:
    """Return what came of a run's posts, ideas and drafts."""
    ideas, drafts = run.ideas, run.drafts
    kernels = [row for row in run.kernels if row.node is not None]
    submitted = _trace_sources(run, kernels)
    paired_gains = {node: score.gain for node, score in run.scores.items() if score.gain}
    script_gains = {node: MeasuredGain(gain.value, gain.std_error) for node, gain in paired_gains.items()}
    draft_gains = _measure_drafts(run)
    idea_gains = _best_idea_gains(run.reports)
    successors = {idea.id: idea.successors for idea in ideas}
    items = dict.fromkeys([*(item for idea in ideas for item in idea.sources), *(row.id for row in kernels)])
    posts = {}
    for item in items:
        if item.partition("/")[0] not in POSTS:
            continue
        idea_ids = _add_successors([idea.id for idea in ideas if item in idea.sources], successors)
        nodes = {row.node for row in kernels if row.id == item}
        draft_ids = [d.id for d in drafts if set(d.idea_ids) & set(idea_ids) or d.codebase_node in nodes]
        posts[item] = PostCredit(
            ideas=tuple(idea_ids),
            drafts=tuple(draft_ids),
            idea_gain=_best_gain(idea_gains, idea_ids),
            draft_gain=_best_gain(draft_gains, draft_ids),
            submitted=item in submitted,
        )
    ordered_posts = dict(sorted(posts.items(), key=lambda entry: _usefulness(entry[1]), reverse=True))
    return Credits(draft_gains, script_gains, ordered_posts)


def _trace_sources(run: RunRecord, kernels: Sequence[Reproduction]) -> set[str]:
    """Return all that went into the submitted nodes; what a report alone passed on is left out."""
    sources = defaultdict[str, list[str]](list)
    for idea in run.ideas:
        sources[f"idea/{idea.id}"] += idea.sources
        for successor in idea.successors:
            sources[f"idea/{successor}"].append(f"idea/{idea.id}")
    for draft in run.drafts:
        sources[f"draft/{draft.id}"] += [*(f"idea/{id}" for id in draft.idea_ids), f"node/{draft.codebase_node}"]
    for node in run.nodes.values():
        sources[f"node/{node.id}"] += [*(f"node/{id}" for id in node.parents), f"draft/{node.draft_id}"]
    for kernel in kernels:
        sources[f"node/{kernel.node}"].append(kernel.id)
    items = set[str]()
    remaining = [f"node/{row.node}" for row in run.submissions]
    while remaining:
        item = remaining.pop()
        if item not in items:
            items.add(item)
            remaining += sources[item]
    return items


def _measure_drafts(run: RunRecord) -> dict[str, MeasuredGain]:
    """Return by how much each draft's best script beats all that others had scored before it."""
    valid = [(node.id, node.score) for node in run.scripts if node.status == "valid"]
    scores = {node: run.oriented(score) for node, score in valid if score is not None}
    draft_of = {node.id: node.draft_id for node in run.scripts}
    # Of the paired difference, or of the score where nothing was compared.
    std_errors = {node: (score.gain and score.gain.std_error) or score.std_error for node, score in run.scores.items()}
    gains = {}
    for draft in run.drafts:
        draft_nodes = [node for node in scores if draft_of[node] == draft.id]
        best = max(draft_nodes, key=lambda node: (scores[node], -node), default=0)
        earlier = [score for node, score in scores.items() if node < best and draft_of[node] != draft.id]
        if earlier:
            errors = [error for node in draft_nodes if (error := std_errors.get(node)) is not None]
            gains[draft.id] = MeasuredGain(scores[best] - max(earlier), max(errors, default=None))
    return gains


def _best_idea_gains(reports: Sequence[Report]) -> dict[int, MeasuredGain]:
    gains: dict[int, MeasuredGain] = {}
    for part in (part for report in reports for part in report.components):
        gain, error, idea = part.get("gain"), part.get("gain_error"), part.get("idea")
        if idea is not None and isinstance(gain, int | float) and (idea not in gains or gain > gains[idea].value):
            gains[idea] = MeasuredGain(float(gain), float(error) if isinstance(error, int | float) else None)
    return gains


def _add_successors(ideas: list[int], successors: Mapping[int, Sequence[int]]) -> list[int]:
    lineage = list[int]()
    remaining = ideas[::-1]
    while remaining:
        idea = remaining.pop()
        if idea not in lineage:
            lineage.append(idea)
            remaining += successors.get(idea, ())
    return lineage


def _best_gain(gains: Mapping[_KeyT, MeasuredGain], keys: Iterable[_KeyT]) -> MeasuredGain | None:
    return max((gains[key] for key in keys if key in gains), key=lambda gain: gain.value, default=None)


def _usefulness(credit: PostCredit) -> tuple[float, ...]:
    gains = [-float("inf") if gain is None else gain.value for gain in (credit.idea_gain, credit.draft_gain)]
    return (credit.submitted, *gains, len(credit.drafts), len(credit.ideas))

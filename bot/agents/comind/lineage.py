"""Start and findings of CoMind's labs, and the families of models that pause: pure functions of the tree."""

import math
import random
from collections import Counter, defaultdict
from collections.abc import Sequence

from bot.engine.context import RunContext
from bot.engine.families import FAMILIES
from bot.engine.rounding import rounded_score
from bot.engine.strategy import Action, Remaining
from bot.engine.tree import NodeView, Tree
from bot.models.quoting import in_quotes
from state.labs import labs
from state.tables import Lab
from state.words import plural

_PUBLISHED, _BEST, _NEW = 1, 2, 3
"""Starts of the first three drafts of a run."""
_STEEPNESS = 5
"""Of n scripts the one of rank r is sampled with a weight of (n - r + 1) to this power (AIRA_2, arXiv 2603.26499)."""
_RARE = 0.25
"""Share by which a script weighs more, over the root of the scripts of its rarest family (OpenMLE-Evo, arXiv 2607.28568)."""
_CROSSED = 1 / 7
"""Share of labs that start from two scripts."""
_STALL = 5
"""Latest labs that are considered; if none of them gained, one starts a new family."""
_TIRED = 3
"""Labs without a gain, of the latest ones, after which a family pauses."""
_NOISE = 2.0
"""Standard errors of a paired difference from which it is a gain."""
_MAIN = 3
"""Families of a lab's best script that count: a stack uses many, and says little of each."""
_MIN_SECONDS, _LEAST_SHARE, _SHORT_LEAST, _FIRST_LEAST = 1500.0, 0.4, 300.0, 60.0
"""Minimum seconds for another lab, as runs on all rows use less time better: in a long run, as a share of a shorter one, in the
shortest; and for the first lab, without which a short run tries nothing."""


class LabsPolicy:
    """Opens a lab for each free slot while there is time for one.

    The first three labs start from the task alone and then the posts, from the best script so far, and from scratch. Later ones
    start from a script that is sampled by its rank, or one in seven from two, unless all its families pause; after several labs
    in a row without a gain one starts a new family, but not in the last third of the run.
    """

    def next_actions(self, tree: Tree, budget: Remaining, free_slots: int, rng: random.Random) -> Sequence[Action]:
        """Return a lab for each free slot."""
        first = 1 + drafts_begun(tree)
        if not is_worth_a_lab(budget, first - 1):
            return ()
        return [
            Action("lab", _parents(tree, budget, first + offset, rng), draft_id=first + offset, slot=offset)
            for offset in range(free_slots)
        ]


def drafts_begun(tree: Tree) -> int:
    """Return the number of the last draft that was started, 0 if none was."""
    return max((node.draft_id or 0 for node in tree.nodes), default=0)


def is_worth_a_lab(budget: Remaining, labs_begun: int) -> bool:
    """Return whether another lab fits into the remaining time, after so many drafts."""
    if budget.seconds is None or budget.seconds_total is None:
        return True
    least_seconds = max(_SHORT_LEAST, min(_MIN_SECONDS, _LEAST_SHARE * budget.seconds_total))
    return budget.seconds >= (least_seconds if labs_begun else _FIRST_LEAST)


def _parents(tree: Tree, budget: Remaining, draft_id: int, rng: random.Random) -> tuple[int, ...]:
    nodes, latest = own_ranked(tree), _latest_outcomes(tree)
    remaining: float | None = budget.steps
    total: float | None = budget.steps_total
    if remaining is None:
        remaining, total = budget.seconds, budget.seconds_total
    is_late = remaining is None or total is None or remaining < total / 3
    stalls = len(latest) >= _STALL and not any(has_gain for _, has_gain in latest)
    if draft_id in (_PUBLISHED, _NEW) or not nodes or (stalls and not is_late):
        return ()
    if draft_id == _BEST:
        return (nodes[0].id,)
    return sample_parents(tree, rng)


def own_ranked(tree: Tree) -> list[NodeView]:
    """Return the scored scripts that a lab may start from, best first, without the baseline."""
    nodes = (node for node in tree.valid() if not node.baseline and not node.spoiled)
    return sorted(nodes, key=lambda n: (-n.fitness, n.id))


def sample_parents(tree: Tree, rng: random.Random) -> tuple[int, ...]:
    """Return a script that is sampled by its rank, or one time in seven two; there must be one."""
    nodes = own_ranked(tree)
    paused, counts = set(resting(tree)), used_families(tree)
    weights = {}
    for place, node in enumerate(nodes):
        rarest = min((counts[family] for family in node.families), default=1)
        weights[node] = (len(nodes) - place) ** _STEEPNESS * (1 + _RARE / math.sqrt(rarest))
    active = {node: weight for node, weight in weights.items() if not node.families or set(node.families) - paused}
    first = _sample(active or weights, rng)
    unrelated = {node: weight for node, weight in active.items() if node.draft_id != first.draft_id}
    if unrelated and rng.random() < _CROSSED:
        return (first.id, _sample(unrelated, rng).id)
    return (first.id,)


def _sample(weights: dict[NodeView, float], rng: random.Random) -> NodeView:
    [node] = rng.choices(list(weights), list(weights.values()))
    return node


def used_families(tree: Tree) -> Counter[str]:
    """Return how many scored scripts are of each family."""
    return Counter(family for node in tree.valid() for family in node.families)


def resting(tree: Tree) -> list[str]:
    """Return the families that pause: of the latest labs three worked with it, and none of them gained.

    The pause ends once enough other labs have ended, as a family may be worth returning to.
    """
    latest = _latest_outcomes(tree)
    gainless = Counter(family for families, has_gain in latest if not has_gain for family in families)
    gaining = {family for families, has_gain in latest if has_gain for family in families}
    return sorted(family for family, labs in gainless.items() if labs >= _TIRED and family not in gaining)


def _latest_outcomes(tree: Tree) -> list[tuple[tuple[str, ...], bool]]:
    """Return the outcomes of the latest labs, open ones included."""
    drafts = sorted({n.draft_id for n in tree.nodes if n.draft_id is not None and n.state in ("valid", "buggy")})
    return [lab_outcome(tree, draft) for draft in drafts[-_STALL:]]


def lab_outcome(tree: Tree, draft: int) -> tuple[tuple[str, ...], bool]:
    """Return the main families of a lab's best script, and whether it beats all earlier scores of others beyond noise."""
    nodes = tree.of_draft(draft)
    best = max(nodes, key=lambda n: (n.valid and not n.spoiled, n.fitness, -n.id))
    before = max(
        (n.fitness for n in tree.valid() if n.draft_id != draft and n.id < best.id and not n.spoiled), default=-math.inf
    )
    # The error is that of a comparison with another script of the run; a better pair would hardly differ.
    error = max(n.gain_error for n in nodes)
    return best.families[:_MAIN], best.valid and best.fitness > before + _NOISE * error


_QUOTED = 2
"""Newest labs of a direction whose conclusions are quoted."""
_PART = 120
"""Characters of each part of a conclusion."""


def insights(context: RunContext, tree: Tree) -> tuple[str, ...]:
    """Return a line for each direction, a set of families of models: its labs, gains, best score, conclusions."""
    labs_by_families: defaultdict[tuple[str, ...], list[tuple[Lab, bool]]] = defaultdict(list)
    for row in labs(context.store, context.run_id):
        if row.ended_at is not None:
            has_score = any(n.valid for n in tree.of_draft(int(row.draft_id or 0)))
            families, has_gain = lab_outcome(tree, int(row.draft_id or 0)) if has_score else ((), False)
            labs_by_families[families].append((row, has_gain))
    unscored = () if context.experiments is None else context.experiments.unscored()
    noise = {result.node: result.score.std_error for result in context.results if result.score}
    lines = []
    for families, labs_and_gains in labs_by_families.items():
        nodes = [
            n
            for row, _ in labs_and_gains
            for n in tree.of_draft(int(row.draft_id or 0))
            if n.valid and n.id not in unscored
        ]
        top = max(nodes, key=lambda n: (n.fitness, -n.id), default=None)
        best = "nothing scored"
        if top is not None:
            best = f"best node {top.id}: {rounded_score(top.score or 0.0, noise.get(top.id))}"
        gains = sum(has_gain for _, has_gain in labs_and_gains)
        summary = f"{plural(len(labs_and_gains), 'lab')}, {gains} of them gained"
        conclusions = [f"lab {row.id} {conclusion(row)}" for row, _ in labs_and_gains[-_QUOTED:]]
        lines.append(f"{' + '.join(families) or 'no known family'} ({summary}; {best}): {'; '.join(conclusions)}")
    return tuple(lines)


def conclusion(row: Lab) -> str:
    """Return the conclusion of a coder: its method, the effect of each part, limitations, and next steps."""
    keys = ("method", "components", "limitations", "next")
    parts = [f"{key}: {in_quotes(row.report[key], _PART)}" for key in keys if row.report.get(key)]
    return ", ".join(parts) or f"reported no conclusions ({in_quotes(row.reason)})"


def ensemble_gaps(context: RunContext, tree: Tree) -> str:
    """Return the families of models that the blend lacks: those that were scored, and untried ones."""
    blend = context.blend
    families = {family for node in tree.valid() for family in node.families}
    blended = {family for node in tree.valid() if blend and node.id in blend.weights for family in node.families}
    parts = [f"Model families in the blend: {', '.join(sorted(blended))}."] if blended else []
    if blend is not None and (out := sorted(families - blended)):
        parts.append(f"Scored, but not in the blend: {', '.join(out)}.")
    if families:
        parts.append(
            f"Not in any scored solution yet: {', '.join(family for family in FAMILIES if family not in families)}."
        )
    return " ".join(parts)

"""What labs found, by direction of research, and what the blend lacks: lines for the coordinator, made by code."""

from collections import defaultdict

from bot.agents.comind.lineage import came_of
from bot.engine.context import RunContext
from bot.engine.families import FAMILIES
from bot.engine.rounding import rounded_score
from bot.engine.tree import Tree
from bot.models.quoting import line
from state.labs import labs
from state.tables import Lab
from state.words import plural

_QUOTED = 2
"""Labs of a direction whose conclusions are quoted, the newest."""
_PART = 120
"""Characters of each part of a conclusion."""


def insights(context: RunContext, tree: Tree) -> tuple[str, ...]:
    """Return a line for each direction, which is a set of families of models: its labs, gains, best score, conclusions."""
    labs_by_families: defaultdict[tuple[str, ...], list[tuple[Lab, bool]]] = defaultdict(list)
    for row in labs(context.store, context.run_id):
        if row.ended_at is not None:
            has_score = any(n.valid for n in tree.of_draft(int(row.draft_id or 0)))
            families, has_gain = came_of(tree, int(row.draft_id or 0)) if has_score else ((), False)
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
    """Return what a coder concluded: its method, what each part brought, limitations, and next steps."""
    keys = ("method", "components", "limitations", "next")
    parts = [f"{key}: {line(row.report[key], _PART)}" for key in keys if row.report.get(key)]
    return ", ".join(parts) or f"concluded nothing ({row.reason})"


def lacks(context: RunContext, tree: Tree) -> str:
    """Return which families of models the blend has not: those that were scored, and those that nobody tried."""
    blend = context.blend
    families = {family for node in tree.valid() for family in node.families}
    blended = {family for node in tree.valid() if blend and node.id in blend.weights for family in node.families}
    parts = [f"Families of models in the blend: {', '.join(sorted(blended))}."] if blended else []
    if blend is not None and (out := sorted(families - blended)):
        parts.append(f"Scored, but not in it: {', '.join(out)}.")
    if families:
        parts.append(f"Nothing scored yet uses: {', '.join(family for family in FAMILIES if family not in families)}.")
    return " ".join(parts)

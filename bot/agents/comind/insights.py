"""What labs found, by direction of research, and what the blend lacks: lines for the coordinator, made by code."""

from collections import defaultdict

from bot.agents.comind.lineage import came_of
from bot.engine.context import RunContext
from bot.engine.families import FAMILIES
from bot.engine.rounding import shown
from bot.engine.tree import Tree
from bot.models.quoting import line
from state.labs import labs
from state.tables import Lab

_QUOTED = 2
"""Labs of a direction whose conclusions are quoted, the newest."""
_PART = 120
"""Characters of each part of a conclusion."""


def insights(context: RunContext, tree: Tree) -> tuple[str, ...]:
    """Return a line for each direction, which is a set of families of models: its labs, gains, best score, conclusions."""
    of: defaultdict[tuple[str, ...], list[tuple[Lab, bool]]] = defaultdict(list)
    for row in labs(context.store, context.run_id):
        if row.ended_at is not None:
            scored = any(n.valid for n in tree.of_draft(int(row.draft_id or 0)))
            families, gained = came_of(tree, int(row.draft_id or 0)) if scored else ((), False)
            of[families].append((row, gained))
    noise = {one.node: one.score.std_error for one in context.results if one.score}
    lines = []
    for families, found in of.items():
        nodes = [n for row, _ in found for n in tree.of_draft(int(row.draft_id or 0)) if n.valid]
        top = max(nodes, key=lambda n: (n.fitness, -n.id), default=None)
        best = "nothing scored" if top is None else f"best node {top.id}: {shown(top.score or 0.0, noise.get(top.id))}"
        counted = (
            f"{len(found)} lab{'s' if len(found) > 1 else ''}, {sum(gained for _, gained in found)} of them gained"
        )
        said = [f"lab {row.id} {conclusion(row)}" for row, _ in found[-_QUOTED:]]
        lines.append(f"{' + '.join(families) or 'no known family'} ({counted}; {best}): {'; '.join(said)}")
    return tuple(lines)


def conclusion(row: Lab) -> str:
    """Return what a coder concluded: its method, what each part brought, limitations, and next steps."""
    keys = ("method", "components", "limitations", "next")
    parts = [f"{key}: {line(row.report[key], _PART)}" for key in keys if row.report.get(key)]
    return ", ".join(parts) or f"concluded nothing ({row.reason})"


def lacks(context: RunContext, tree: Tree) -> str:
    """Return which families of models the blend has not: those that were scored, and those that nobody tried."""
    blend = context.blend
    used = {family for node in tree.valid() for family in node.families}
    inside = {family for node in tree.valid() if blend and node.id in blend.weights for family in node.families}
    parts = [f"Families of models in the blend: {', '.join(sorted(inside))}."] if inside else []
    if blend is not None and (out := sorted(used - inside)):
        parts.append(f"Scored, but not in it: {', '.join(out)}.")
    if used:
        parts.append(f"Nothing scored yet uses: {', '.join(one for one in FAMILIES if one not in used)}.")
    return " ".join(parts)

"""Cards: what each scored script of a run is, in a line made by code."""

import re
from collections.abc import Mapping
from typing import Any

from bot.engine.attempts import attempt, load_tree
from bot.engine.context import RunContext
from bot.engine.results import BlendSoFar, Result, newest_blend, nodes_in_words
from bot.engine.tree import BASELINE, NodeView
from bot.models.quoting import line
from state.knowledge import reproductions
from state.labs import labs
from state.tables import Lab, Reproduction

_FAMILIES = (
    ("blend", re.compile(r"\b(?:VotingClassifier|VotingRegressor|StackingClassifier|StackingRegressor)\b")),
    ("transformer", re.compile(r"\b(?:transformers|sentence_transformers)\b")),
    ("neural net", re.compile(r"\b(?:torch|tensorflow|keras|MLPClassifier|MLPRegressor)\b")),
    ("lightgbm", re.compile(r"\b(?:lightgbm|LGBM\w+)\b")),
    ("xgboost", re.compile(r"\b(?:xgboost|XGB\w+)\b")),
    ("catboost", re.compile(r"\b(?:catboost|CatBoost\w+)\b")),
    ("boosted trees", re.compile(r"\b(?:HistGradientBoosting\w+|GradientBoosting\w+|AdaBoost\w+)\b")),
    ("forest", re.compile(r"\b(?:RandomForest\w+|ExtraTrees\w+)\b")),
    ("kernel method", re.compile(r"\b(?:SVC|SVR|KernelRidge|GaussianProcess\w+|NuSVC|NuSVR)\b")),
    ("neighbours", re.compile(r"\b(?:KNeighbors\w+|faiss|NearestNeighbors)\b")),
    ("naive Bayes", re.compile(r"\b\w+NB\b")),
    ("discriminant analysis", re.compile(r"\b(?:LinearDiscriminantAnalysis|QuadraticDiscriminantAnalysis)\b")),
    (
        "linear",
        re.compile(
            r"\b(?:LogisticRegression|LinearSVC|LinearSVR|Ridge\w*|Lasso\w*|ElasticNet\w*|LinearRegression|SGD\w+)\b"
        ),
    ),
)
FAMILIES = tuple(name for name, _ in _FAMILIES if name != "blend")
"""Families of models by name."""
_MOST_FAMILIES = 3
_BEST = 5
_KIN = 3
"""Ancestors beyond its parents, and siblings, that a lab is shown (as in OpenMLE-Evo, arXiv 2607.28568)."""
_BEST_HINTS, _NEWEST_HINTS = 3, 30
"""A lab's experiments that are shown: the best, and to itself the newest too."""
_LABS, _NOTES = 20, 16
"""Labs and notes that are shown, the newest."""
_REMARK = 150
"""Characters of an experiment's note."""
_COLUMNS = (
    "node · score ± its standard error · gain over the node it builds on · family · seconds · weight in the engine's blend · "
    "what"
)


def families(script: str) -> tuple[str, ...]:
    """Return the families of models that a script names in imports and estimators, the most often named first: at most three."""
    counts = {name: len(mark.findall(script)) for name, mark in _FAMILIES}
    return tuple(
        sorted((name for name, count in counts.items() if count), key=lambda name: -counts[name])[:_MOST_FAMILIES]
    )


def card(result: Result, blend: BlendSoFar | None) -> str:
    """Return the line of one node, marked if it is a member of the newest blend."""
    noise = f" ± {result.noise:.2g}" if result.noise is not None else ""
    score = "no score" if result.score is None else f"{shown(result.score, result.noise)}{noise}"
    gain = "" if result.gain is None else f" · gain {shown_gain(result.gain, result.gain_error)}"
    family = "baseline" if result.node == BASELINE else " + ".join(result.families) or "other"
    error = f" · failed: {result.error[:200]}" if result.error else ""
    weight = "" if blend is None or result.node not in blend.weights else f" · {weight_of(blend, result.node)}"
    parents = f" (on node {result.parents[0]})" if result.parents else ""
    return f"node {result.node}{parents} · {score}{gain} · {family} · {result.seconds:.0f} s{weight} · {result.title}{error}"


def kin(context: RunContext, lab: int) -> tuple[int, ...]:
    """Return the nodes that a lab is shown: its parents and their ancestors, its siblings' best, and the run's best."""
    tree, rows = load_tree(context), {one.id: one for one in labs(context.store, context.run_id)}
    parents = rows[lab].parents if lab in rows else []
    lineage = list(parents)
    for node in lineage:
        lineage += [one for one in tree[node].parents if one not in lineage and len(lineage) < len(parents) + _KIN]
    ranked = sorted(tree.valid(), key=lambda one: (-one.fitness, one.id))
    siblings = [
        next((one.id for one in ranked if one.id in context.decisions.of_lab(row.id)), row.id)
        for row in rows.values()
        if row.id != lab and set(row.parents) & set(parents)
    ]
    return tuple(dict.fromkeys((*lineage, *siblings[-_KIN:], *(one.id for one in ranked[:_BEST]))))


def board(context: RunContext, lab: int, everything: bool = False, with_kernels: bool = False) -> list[str]:
    """Return the board's lines: a lab's own nodes and those of its kin, and experiments of the labs that made them.

    Args:
        context: the run.
        lab: whose board it is.
        everything: all nodes that the run's table of results shows, and all labs' experiments.
        with_kernels: the best public kernels too, as they were measured here.
    """
    kept = {*context.decisions.of_lab(lab), *kin(context, lab)}
    blend = context.blend
    lines = [card(one, blend) for one in context.results if everything or one.node in kept]
    lines += [blend_line(blend)] if blend is not None else []
    if with_kernels:
        lines += [f"public {row.id} (node {row.node}) · {text}" for row, text in measured(context)[:_BEST]]
    related = {context.decisions.lab_of(node) for node in kept}
    for row in labs(context.store, context.run_id)[-_LABS:]:
        if everything or row.id in related:
            lines += _hint_lines(context, row, _NEWEST_HINTS if row.id == lab else 0)
    return [f"[{_COLUMNS}]", *lines] if lines else ["nothing has been scored yet"]


def measured(context: RunContext) -> list[tuple[Reproduction, str]]:
    """Return the public kernels that were run here and have a score, the best first, each with a line of what it scored."""
    rows = reproductions(context.store, context.run_id, context.clock.as_of())
    ran = sorted(
        (row for row in rows if row.measured is not None), key=lambda r: -context.card.oriented(r.measured or 0.0)
    )
    lines = []
    for row in ran:
        published = "unknown" if row.published is None else f"{row.published:g}"
        noise = "" if row.noise is None else f" ± {row.noise:.2g}"
        score = f"{shown(row.measured or 0.0, row.noise)}{noise} measured here (published: {published})"
        repaired = ", repaired" if row.repaired else ""
        lines.append(f"{score} · {row.seconds:.0f} s{repaired} · {line(row.title, 120)}")
    return list(zip(ran, lines, strict=True))


def _hint_lines(context: RunContext, row: Lab, newest: int) -> list[str]:
    """Return the lines of a lab's best experiments, and of so many of its newest: it may log hundreds."""
    hints = row.hints
    order = sorted(range(len(hints)), key=lambda at: -context.card.oriented(hints[at]["score"]))
    kept = sorted({*order[:_BEST_HINTS], *range(max(0, len(hints) - newest), len(hints))})
    more = [f"lab {row.id}, folds · {len(hints) - len(kept)} more"] if len(kept) < len(hints) else []
    return [*(hint_line(row.id, hints[at]) for at in kept), *more]


def hint_line(lab: int, hint: Mapping[str, Any]) -> str:
    """Return the line of an experiment that a coder cross-validated itself."""
    noise = "" if hint["error"] is None else f" ± {hint['error']:.2g}"
    gain = hint["gain"]
    paired = "" if gain is None else f" · gain {shown_gain(gain, hint['gain_error'])} over {hint['against']}, paired"
    note = f" · {line(hint['note'], _REMARK)}" if hint["note"] else ""
    return f"lab {lab}, folds · {hint['name']} · {hint['score']:.6g}{noise}{paired}{note}"


def lab_cards(context: RunContext, lab: int) -> tuple[str, ...]:
    """Return a line for each other lab that made a node of a lab's kin: its title, what it scored, what it concluded."""
    lines = []
    best = {one.node: one for one in context.results if one.score is not None}
    related = {context.decisions.lab_of(node) for node in kin(context, lab)}
    for row in labs(context.store, context.run_id):
        if row.id == lab or row.ended_at is None or row.id not in related:
            continue
        scored = [best[node] for node in context.decisions.of_lab(row.id) if node in best]
        top = max(scored, key=lambda one: context.card.oriented(one.score or 0.0), default=None)
        score = "nothing scored" if top is None else f"best node {top.node}: {shown(top.score or 0.0, top.noise)}"
        report = "; ".join(f"{key}: {value}" for key, value in row.report.items() if value)
        lines.append(f"lab {row.id}, {row.title}: {score}; {len(row.hints)} experiments logged; {report or row.reason}")
    return tuple(lines[-_LABS:])


def lab_notes(context: RunContext, without: int) -> tuple[str, ...]:
    """Return the last notes that other labs left, oldest first."""
    rows = labs(context.store, context.run_id)
    return tuple(f"lab {row.id}: {text}" for row in rows if row.id != without for text in row.notes)[-_NOTES:]


def shown(value: float, noise: float | None) -> str:
    """Return a score as a coder may see it: rounded to two significant digits of its noise, which hides most labels."""
    if noise is None or not noise > 0:
        return f"{value:.4g}"
    return _rounded(value, noise)


def blend_line(blend: BlendSoFar) -> str:
    """Return what a coder may see of a blend: its score and its gain, rounded as a script's are."""
    noise = "" if blend.noise is None else f" ± {blend.noise:.2g}"
    many = len(blend.weights) > 1
    what = (
        f"blend of {nodes_in_words(sorted(blend.weights))}"
        if many
        else f"calibration of node {next(iter(blend.weights))}"
    )
    than = "the best of these" if many else "it as it is"
    gain = ""
    if blend.gain is not None:
        how = "better" if blend.gain > 0 else "worse"
        gain = f", {how} than {than} by {shown_gain(abs(blend.gain), blend.gain_error).removeprefix('+')}"
    return f"the engine's {what}: {shown(blend.score, blend.noise)}{noise}{gain}"


def share_line(context: RunContext, node: int) -> str | None:
    """Return what a script adds to the blend; None if nothing is blended, or not yet with this script."""
    blend, before = context.blend, newest_blend(context.store, context.run_id, without=node)
    if blend is None or node not in blend.of:
        return None
    share = (
        f"this script has {weight_of(blend, node)} in it" if node in blend.weights else "this script has no part in it"
    )
    earlier = "" if before is None else f"; without it the blend had {shown(before.score, before.noise)}"
    return f"{blend_line(blend)}; {share}{earlier}"


def weight_of(blend: BlendSoFar, node: int) -> str:
    """Return a member's weight in words."""
    return f"weight {blend.weights[node]:.2f}"


def best_shown(context: RunContext, best: NodeView) -> str:
    """Return the best node and its score, rounded by its own noise: that of another node may be as small as one likes."""
    return f"node {best.id}, {shown(best.score or 0.0, attempt(context, best.id).noise)}"


def shown_gain(gain: float, error: float | None) -> str:
    """Return a gain as a coder may see it, and whether it is beyond noise."""
    if error is None or not error > 0:
        return f"{gain:+.3g}"
    beyond = "beyond noise" if abs(gain) > 2 * error else "within noise"
    return f"{_rounded(gain, error, '+')} ± {error:.2g} ({beyond})"


def _rounded(value: float, noise: float, sign: str = "") -> str:
    """Return a number to two significant digits of its noise, also where these stand before the point."""
    decimals = 1 - int(f"{noise:e}".partition("e")[2])
    return f"{round(value, decimals):{sign}.{max(0, decimals)}f}"

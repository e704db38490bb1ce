"""The board: what each experiment of a run is, in a line made by code."""

from bot.engine.context import RunContext
from bot.engine.experiment import Experiment, experiment_name, rank_experiments
from bot.engine.results import BlendSoFar
from bot.engine.rounding import rounded, rounded_score, with_error
from bot.engine.tree import BASELINE, BASELINE_NAME
from bot.evaluation.answers import Gain, NodeScore
from bot.models.quoting import in_quotes
from state.knowledge import reproductions
from state.labs import labs
from state.tables import Reproduction

_BEST, _NEWEST = 20, 10
"""Lines of a longer board: the best and the newest."""
_LABS, _NOTES = 20, 16
"""Labs and notes that are shown, the newest."""
_MAX_PUBLIC = 5
_MEMBERS = 8
"""Members of the ensemble that its line names."""
_REMARK, _NOTED, _REPORTED = 150, 500, 700
"""Characters of an experiment's note, a lab's note, and a part of a lab's report."""
_UNSCORED = (
    "stored without a score: scoring validation rows would reveal labels; to get a score, pass --oof, even for one fold"
)
_COLUMNS = "[name · out-of-fold score ± standard error · kind · lab · weight in the ensemble · note]"


def experiment_line(experiment: Experiment, blend: BlendSoFar | None) -> str:
    """Return the line of one experiment, with its weight if it is a member of the newest ensemble."""
    result = experiment.result
    error = experiment.shown_error and f" ± {experiment.shown_error}"
    folds = "" if result.folds is None else f" on folds {', '.join(map(str, result.folds))} only"
    missing = "" if result.arrays.test is not None else " · no test predictions yet"
    withdrawn = " · withdrawn" if experiment.withdrawn else ""
    author = "the engine" if experiment.lab is None else f"lab {experiment.lab}"
    share = None if blend is None else blend.weights.get(experiment.node)
    weight = "" if share is None else f" · weight {share:.2f}"
    note = f" · {in_quotes(experiment.note, _REMARK)}" if experiment.note else ""
    score = f"{experiment.shown_score}{error}{folds}{missing}{withdrawn}"
    return f"{experiment.name} · {score} · {experiment.kind} · {author}{weight}{note}"


def board(context: RunContext, everything: bool = False, with_kernels: bool = False) -> list[str]:
    """Return the board's lines, the best experiment first, withdrawn ones at the end.

    Args:
        context: the run.
        everything: all experiments, not only the best and the newest.
        with_kernels: the best public notebooks too, as they were measured here.
    """
    log = context.experiments
    experiments = [] if log is None else log.all()
    ranking = sorted(rank_experiments(experiments, context.card), key=lambda experiment: experiment.withdrawn)
    shown_ones = {experiment.node for experiment in (*ranking[:_BEST], *experiments[-_NEWEST:])}
    blend = context.blend
    lines = [experiment_line(e, blend) for e in ranking if everything or e.node in shown_ones]
    more_count = len(ranking) - len(lines)
    lines += [f"{more_count} more: `lab board --all`"] if more_count else []
    lines += [ensemble_line(context, blend)] if blend is not None else []
    lines += [_script_line(context, node) for node in _scripts(context)]
    if with_kernels:
        lines += [f"public {row.id} · {text}" for row, text in measured_notebooks(context)[:_MAX_PUBLIC]]
    return [_COLUMNS, *lines] if lines else ["nothing logged yet"]


def _scripts(context: RunContext) -> list[int]:
    """Return the scored scripts of the run, its baseline among them."""
    experiments = {experiment.node for experiment in context.experiments.all()} if context.experiments else set()
    return [result.node for result in context.results if result.node not in experiments and result.score is not None]


def _script_line(context: RunContext, node: int) -> str:
    result = next(result for result in context.results if result.node == node)
    author = f"{BASELINE_NAME} (the engine's)" if node == BASELINE else f"script of node {node}"
    score = result.score or NodeScore(0.0)
    figure = with_error(rounded_score(score.value, score.std_error), score.std_error)
    return f"{author} · {figure} on validation rows · {in_quotes(result.title, _REMARK)}"


def measured_notebooks(context: RunContext) -> list[tuple[Reproduction, str]]:
    """Return the public notebooks with a score measured here, the best first, each with a line on it."""
    rows = reproductions(context.store, context.run_id, context.clock.as_of())
    measured_rows = sorted(
        (row for row in rows if row.measured is not None), key=lambda r: -context.card.oriented(r.measured or 0.0)
    )
    lines = []
    for row in measured_rows:
        published = "unknown" if row.published is None else f"{row.published:g}"
        figure = with_error(rounded_score(row.measured or 0.0, row.noise), row.noise)
        score = f"{figure} measured here (published: {published})"
        repaired = ", repaired" if row.repaired else ""
        lines.append(f"{score} · {row.seconds:.0f} s{repaired} · {in_quotes(row.title, 120)}")
    return list(zip(measured_rows, lines, strict=True))


def lab_cards(context: RunContext, lab: int) -> tuple[str, ...]:
    """Return a line for each other lab that has closed: its title, its best experiment, its conclusion."""
    log, lines = context.experiments, []
    experiments = [] if log is None else log.all()
    for row in labs(context.store, context.run_id):
        if row.id == lab or row.ended_at is None:
            continue
        own_experiments = [experiment for experiment in experiments if experiment.lab == row.id]
        top = next(iter(rank_experiments(own_experiments, context.card)), None)
        score = "nothing logged" if top is None else f"best {top.name}: {top.shown_score}"
        report = "; ".join(f"{key}: {in_quotes(value, _REPORTED)}" for key, value in row.report.items() if value)
        outcome = report or f"ended: {in_quotes(row.reason, _REPORTED)}"
        lines.append(
            f"lab {row.id}, {in_quotes(row.title, _REMARK)}: {score}; {len(own_experiments)} experiments; {outcome}"
        )
    return tuple(lines[-_LABS:])


def lab_notes(context: RunContext, without: int) -> tuple[str, ...]:
    """Return the last notes that other labs left, oldest first."""
    rows = labs(context.store, context.run_id)
    return tuple(f"lab {row.id}: {in_quotes(text, _NOTED)}" for row in rows if row.id != without for text in row.notes)[
        -_NOTES:
    ]


def answer(context: RunContext, experiment: Experiment, *, verbose: bool = False, checked: bool = False) -> str:
    """Return the engine's answer to a logged experiment.

    Args:
        context: the run.
        experiment: the experiment.
        verbose: whether its coder asked for scores by column.
        checked: whether its coder asked for the check against leaks.
    """
    result, metric = experiment.result, context.card.metric
    error = experiment.shown_error and f" ± {experiment.shown_error}"
    folds = "" if result.folds is None else f", folds {', '.join(map(str, result.folds))} only"
    lines = [
        f"{experiment.name}: {metric.name} {experiment.shown_score}{error} out of fold{folds} ({metric.direction})"
    ]
    if not experiment.has_score:
        lines = [f"{experiment.name}: {_UNSCORED}"]
    if result.gain is not None:
        lines.append(f"against {result.gain.over}, paired: {gain_in_words(result.gain)}")
    if result.ensemble_gain is not None and not experiment.fitted_on_others:
        lines.append(f"estimated gain for the ensemble: {gain_in_words(result.ensemble_gain)}")
    if result.columns and (verbose or result.warnings):
        lines.append(
            "by column: " + ", ".join(f"{in_quotes(name, 80)} {score:.5g}" for name, score in result.columns.items())
        )
    lines += [f"warning: {text}" for text in result.warnings]
    if checked or result.check == "gains less than its folds suggest":
        lines.append(f"leak check on validation rows: {result.check}")
    if result.arrays.test is None:
        lines.append("without test predictions it cannot be submitted; log it again with --test")
    return "\n".join(lines)


def gain_in_words(gain: Gain) -> str:
    """Return a gain with its standard error, and whether it is beyond noise; above 0 is better."""
    if gain.value == 0:
        return "no difference"
    if gain.std_error is None or not gain.std_error > 0:
        return f"{gain.value:+.3g}"
    is_significant = abs(gain.value) > 2 * gain.std_error
    words = ("better" if gain.value > 0 else "worse") if is_significant else "within noise"
    return f"{rounded(gain.value, gain.std_error, '+')} ± {gain.std_error:.2g} ({words})"


def ensemble_line(context: RunContext, blend: BlendSoFar) -> str:
    """Return the newest ensemble: its score, its gain over its best member, and its members with their weights."""
    names = {node: experiment_name(context.store, context.run_id, node) for node in blend.weights}
    withdrawn: frozenset[int] = frozenset() if context.experiments is None else context.experiments.withdrawn()
    if removed := [names[node] for node in blend.weights if node in withdrawn]:
        return f"the engine's ensemble is being refitted without {', '.join(removed)}"
    by_weight = sorted(blend.weights.items(), key=lambda item: (-abs(item[1]), item[0]))
    members = ", ".join(f"{names[node]} {weight:.2f}" for node, weight in by_weight[:_MEMBERS])
    members += f" and {len(by_weight) - _MEMBERS} more" if len(by_weight) > _MEMBERS else ""
    figure = blend.score
    score = with_error(
        f"{figure.value:.6g}" if context.experiments else rounded_score(figure.value, figure.std_error),
        figure.std_error,
    )
    gain = "" if figure.gain is None else f", {gain_in_words(figure.gain)} over its best member"
    return f"the engine's ensemble (without stacks): {score}{gain}; members: {members}"

"""The first screen's answers in sentences: how good a run is, how sure that is, why its choice won, and what to do next."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from bot.engine.families import FAMILIES, families_in
from bot.report import words
from bot.report.data import ReportData
from bot.report.nodes import NodeRow
from bot.report.result import RunResult
from state.words import plural

_LATE_SHARE = 0.8
"""A last gain after this share of the time suggests that more time would have brought more."""
_MANY_FAILED = 0.4
_MAX_SHOWN = 3
"""Most sources and most next steps."""


def how_good(result: RunResult) -> Iterator[str]:
    """Yield the verdict, and the line of the leaderboard that comes next."""
    yield from filter(None, [words.unbeaten(result)])
    yield words.verdict(result)
    yield from words.beside_simple(result)
    if result.score is not None and result.n_teams > 1:
        own_score = result.oriented(result.score)
        better = {name: line for name, line in result.thresholds.items() if result.oriented(line) > own_score}
        if better:
            name = min(better, key=lambda name: result.oriented(better[name]))
            yield f"The next threshold, {name}, is at {words.score(better[name])}."


def how_sure(result: RunResult) -> Iterator[str]:
    """Yield how the score compares with what was expected, and what the guards say."""
    if result.self_reported:
        yield "Uncertain: scripts reported their own scores."
    elif result.validation_interval is None:
        yield words.sentence(f"no interval: {result.validation_interval_note or 'none was computed'}")
    else:
        test = "similar new rows" if result.own_data else f"the {words.test(result)}"
        ending = {None: ".", True: "; the score is inside it.", False: "; the score is OUTSIDE it."}
        yield f"Validation predicts {words.interval(result)} on {test} (95% interval){ending[result.score_in_interval]}"
    yield from _guards(result)


def _guards(result: RunResult) -> Iterator[str]:
    findings = [finding for finding in result.guards if finding.node in (None, result.chosen_node)]
    if not findings:
        yield "No guard ran."
        return
    warnings = list(dict.fromkeys(finding.guard for finding in findings if finding.verdict == "suspicious"))
    failures = list(dict.fromkeys(finding.guard for finding in findings if finding.verdict == "not run"))
    pass_count = sum(finding.passed for finding in findings)
    if warnings:
        yield f"{'A guard warns' if len(warnings) == 1 else 'Guards warn'}: {', '.join(warnings)}."
    if failures:
        yield f"{plural(len(failures), 'guard')} could not run: {', '.join(failures)}."
    if pass_count:
        subject = plural(pass_count, "other guard" if warnings or failures else "guard")
        yield f"{subject} found no problem."


def why_it_won(data: ReportData) -> Iterator[str]:
    """Yield two sentences: the features and models that were selected, and by how much they are better than the rest."""
    result = data.result
    node = next((node for node in data.nodes if node.id == result.chosen_node), None)
    if node is None:
        yield "No node has a score." if result.is_ongoing else "Nothing was selected."
        return
    is_baseline = node.id == 1 and not node.blend
    yield ("Nothing beat the rule-based baseline." if is_baseline else f"{_made_of(data, node)}.")
    if better := [*_better_by(data, node)]:
        yield words.sentence("; ".join(better))


def _made_of(data: ReportData, node: NodeRow) -> str:
    """Return the features and models of the selected node, or of its ensemble's heaviest members."""
    ensemble, nodes = data.result.blend if node.blend else None, {row.id: row for row in data.nodes}
    notes = {e.node: f"{e.name}{f': {e.note}' if e.note else ''}" for lab in data.labs for e in lab.experiments}
    top = [words.first_words(name, 40) for name in islice(data.importances, _MAX_SHOWN)]
    subject = "it" if data.importance_node == node.id else f"node {data.importance_node}"
    features = " and ".join(filter(None, [", ".join(top[:-1]), *top[-1:]]))
    suffix = f"; {subject} relies most on {features}" if features else ""
    if ensemble is None:
        return f"It is {_in_words(node, notes)}{suffix}"
    heaviest = sorted(ensemble.weights.items(), key=lambda item: -abs(item[1]))[:_MAX_SHOWN]
    members = [f"{_in_words(nodes[id], notes)} (weight {weight:.2f})" for id, weight in heaviest if id in nodes]
    lighter = len(ensemble.weights) - len(members)
    return f"It is an ensemble of {'; '.join(members)}{f'; and {lighter} more with less weight' if lighter else ''}{suffix}"


def _better_by(data: ReportData, node: NodeRow) -> Iterator[str]:
    """Yield, as clauses, the score beside the baseline's, what an ensemble gains, and where the ideas come from."""
    baseline = next((row for row in data.nodes if row.id == 1 and row.validation is not None), None)
    if baseline is not None and baseline.id != node.id and node.validation is not None:
        yield f"its validation score is {words.score(node.validation)} (baseline: {words.score(baseline.validation)})"
    ensemble = data.result.blend if node.blend else None
    if ensemble is not None and ensemble.gain is not None:
        error = "" if ensemble.gain_error is None else f" ± {ensemble.gain_error:.2g}"
        over = "its best member" if len(ensemble.weights) > 1 else "its uncalibrated member"
        yield f"its gain over {over} is {ensemble.gain:+.3g}{error}"
    draft = next((draft.row for draft in data.knowledge.drafts if draft.row.id == node.draft_id), None)
    idea_ids = set() if draft is None else set(draft.idea_ids)
    items = dict.fromkeys(item for e in data.knowledge.ideas if e.idea.id in idea_ids for item in e.sources)
    authors = {item: data.sources[item].author for item in items}
    sources = [f"{item}{f' by {words.first_words(author, 40)}' if author else ''}" for item, author in authors.items()]
    if sources:
        suffix = f" and {plural(len(sources) - _MAX_SHOWN, 'other post')}" if len(sources) > _MAX_SHOWN else ""
        yield f"its ideas come from {', '.join(sources[:_MAX_SHOWN])}{suffix}"


def _in_words(node: NodeRow, notes: Mapping[int, str]) -> str:
    """Return what its author noted of a node, and the models in its files, where the note names others or none."""
    note = words.first_words(notes.get(node.id, node.plan), 120).rstrip(".") or node.action
    in_files, in_note = set(node.families), families_in(note)
    models = f"; its files use {', '.join(node.families)}" if in_files - in_note else ""
    missing = sorted((in_note & set(FAMILIES)) - in_files) if in_files else []
    return f"node {node.id}, {note}{models}{f'; none of its files uses {missing[0]}' if missing else ''}"


def what_next(data: ReportData) -> Sequence[str]:
    """Return what you might do now, the most urgent first."""
    return tuple(islice(_next_steps(data), _MAX_SHOWN))


def _next_steps(data: ReportData) -> Iterator[str]:
    result = data.result
    if result.is_ongoing:
        limit = f" of {words.duration(result.time_limit)}" if result.time_limit else ""
        yield f"Reload this page later: {words.duration(result.wall_seconds)}{limit} have passed."
        return
    if result.misconfigured:
        yield "Correct the model's key or name and run the bot again: `bot doctor` checks both."
    elif result.no_answer:
        yield "The model gave no usable answer: test it with `bot doctor`."
    elif result.status != "finished":
        yield "Run `bot resume` with this run's folder to continue; finished work is kept."
    if any(finding.verdict == "suspicious" for finding in result.doubts):
        yield "Look at the guards' warnings before you trust the score."
    if result.live and result.submission_exists and result.score_kind != "private":
        yield "Select the final submissions on Kaggle: the bot cannot do that."
    if result.own_data and result.chosen_node is not None:
        yield "Predict new rows with `python solution/predict.py NEW.csv`; solution/README.md lists the requirements."
    if result.failed_share is not None and result.failed_share > _MANY_FAILED:
        yield f"Read the errors: {words.percent(result.failed_share, 0)} of the scripts have no score."
    yield from _more_time(result)
    if result.model == "builtin":
        yield "Try a language model with --model: the built-in model only follows fixed rules."
    unused = sum(not data.knowledge.drafts_of[e.idea.id] and not e.idea.reason for e in data.knowledge.ideas)
    if unused:
        yield f"{plural(unused, 'idea')} in the pool {'was' if unused == 1 else 'were'} not tried."


def _more_time(result: RunResult) -> Iterator[str]:
    if result.live or not result.best_over_time or result.wall_seconds <= 0:
        return
    last = result.best_over_time[-1][0]
    if last >= _LATE_SHARE * result.wall_seconds:
        yield f"Allow more time: the score still improved after {words.duration(last)} of {words.duration(result.wall_seconds)}."
    elif len(result.best_over_time) > 1:
        yield f"The last gain came after {words.duration(last)}: more time alone may not help."

"""Running replays one after another, and printing their results, for `bot replay` and `bot resume`."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import chain
from pathlib import Path
from shutil import get_terminal_size
from textwrap import TextWrapper

import typer
from pydantic_core import to_jsonable_python
from rich.console import Console

from bot.cli.live_view import LiveRuns, Say, print_line
from bot.cli.output import number, print_json, print_table
from bot.evaluation.answers.board import MEDALS
from bot.evaluation.answers.findings import grouped_findings
from bot.execution.folder import RunFolder
from bot.notebooks.weights import WEIGHTS
from bot.replay.run_queue import Failed, Job, RunOutcome, run_each
from bot.report.result import RunResult
from bot.report.words import beside_simple, disbelief, duration, interval, medal, money, origin, percent, unbeaten
from bot.report.words import verdict as verdict_of
from sandbox.leases import Leases
from sandbox.leftovers import find_orphaned_resources
from state.words import plural

_COLUMNS = (
    *("competition", "agent", "seed", "score", "expected (95%)"),
    *("gold / silver / bronze / median", "win rate", "medal", "spent"),
)


def run_all(jobs: Sequence[Job | RunOutcome], leases: Leases, *, json: bool, plain: bool = False) -> list[RunOutcome]:
    """Run one after another, and pass on existing outcomes; a failure is shown and stops no other run.

    After a request to stop, the remaining runs are not started.
    """
    console = Console(stderr=True)
    outcomes: list[RunOutcome] = []
    live = LiveRuns(console, plain=plain)

    def show(job: Job) -> AbstractContextManager[Say]:
        count = f"[{len(outcomes) + 1}/{len(jobs)}] " if len(jobs) > 1 else ""
        return live.run(f"{count}{job.run.settings.agent} on {job.run.snapshot.card.slug}", job.run.folder)

    with live.display(transient=True):
        for outcome in run_each(jobs, leases, show):
            if isinstance(outcome.result, Failed) or len(jobs) > 1:
                print_line(console, f"{outcome.run_id}: {outcome_line(outcome.result)}")
            if json:
                print_outcome(outcome)
            outcomes.append(outcome)
    if not_started := len(jobs) - len(outcomes):
        console.print(f"{not_started} runs were not started: run `bot resume` with the folder that contains the runs")
    return outcomes


def outcome_line(result: RunResult | Failed) -> str:
    """Return the outcome of a run, or its error, in one line."""
    if isinstance(result, Failed):
        return f"{result.status}: {result.error}"
    if result.own_data:
        outcome = verdict_of(result).removesuffix(".")
    elif name := origin(result):
        outcome = f"no submission of its own, only {name}"
    elif result.valid_submission:
        outcome = f"beats {percent(result.win_rate)} of the teams, {result.medal or 'no'} medal"
    else:
        outcome = f"no valid submission: {result.message or result.prediction_note}"
    return f"{outcome}; {duration(result.wall_seconds)}, {money(result.llm.cost_usd)}"


def remove_leftovers(out: Path) -> None:
    """Remove what killed bots left behind in a folder of runs, and print it."""
    for orphan in find_orphaned_resources(out):
        typer.echo(f"cleaned up after a killed bot: {orphan.remove()}", err=True)


def print_outcome(outcome: RunOutcome) -> None:
    """Print a run's result, or why it has none, as one JSON object."""
    print_json({"run": str(outcome.run), "run_id": outcome.run_id, **to_jsonable_python(outcome.result)})


def report(outcomes: Sequence[RunOutcome], *, json: bool) -> None:
    """Print the table, unless results were printed as JSON, and exit with the worst status of all."""
    if not json:
        if rows := [_row(o.result) for o in outcomes if isinstance(o.result, Failed) or not o.result.own_data]:
            print_table(_COLUMNS, rows)
        wrapper = TextWrapper(get_terminal_size().columns, break_long_words=False, break_on_hyphens=False)
        for line in chain.from_iterable(map(_lines, outcomes)):
            typer.echo(wrapper.fill(line) if sys.stdout.isatty() else line)
    raise typer.Exit(max(status_of(o.result) for o in outcomes))


def status_of(result: RunResult | Failed) -> int:
    """Return the exit status that a run stands for."""
    if isinstance(result, Failed):
        return 2 if result.usage_error else 1
    return 2 if result.misconfigured else 0 if result.valid_submission and not result.no_answer else 1


def _lines(outcome: RunOutcome) -> Iterator[str]:
    result = outcome.result
    if isinstance(result, Failed):
        yield f"{outcome.run_id}: {result.error}"
        return
    if result.own_data:
        yield from filter(None, [unbeaten(result)])
        yield verdict_of(result)
        yield from beside_simple(result)
        yield f"expected score on new rows (95% interval): {_expected(result)}"
    if not result.valid_submission and not result.own_data:
        yield f"no valid submission: {result.message or result.prediction_note}"
    if result.prediction_source:
        yield f"submitted: node {result.chosen_node}, {result.prediction_note}"
    if result.selection:
        yield f"final selection: {result.selection.reason}"
    if result.self_reported:
        yield f"Validation scores are self-reported (printed by scripts): {result.self_reported}"
    doubts = ((d.node, d.guard, d.verdict, d.sentence) for d in result.doubts)
    for node, guards, verdict, sentence in grouped_findings(doubts):
        subject = "the data" if node is None else f"node {node}"
        yield f"guard{'s' if ',' in guards else ''} {guards} on {subject} ({verdict}): {sentence}"
    if result.stopped_by:
        yield f"ended early: {result.stopped_by}"
    if result.status != "finished":
        yield f"to resume the run: bot resume {outcome.run}"
    folder = RunFolder(outcome.run)
    if result.submission_exists:
        yield f"{'predictions' if result.own_data else 'submission'}: {folder.submission}"
    if (predict := folder.solution / "predict.py").is_file():
        yield f"to predict new rows: python {predict} NEW.csv (requirements: README.md in the same folder)"
        if result.score is not None and (folder.solution / WEIGHTS).is_dir():
            yield "the stored models have not seen the withheld rows; `predict.py NEW.csv --retrain` trains on all rows"
    yield f"report: {folder.report}"
    if result.no_answer:
        yield f"{result.model} gave no usable answer: {result.no_answer}"
        if result.submission_exists:
            yield "the bot's own baseline was submitted; `bot doctor` tests the model"


def _row(result: RunResult | Failed) -> tuple[str, ...]:
    run_cells = (result.competition_id, result.agent, str(result.seed))
    if isinstance(result, Failed):
        return (*run_cells, "–", "–", "–", "–", "failed", "–")
    lines = " / ".join(number(result.thresholds.get(name)) for name in (*MEDALS, "median"))
    rank: str = medal(result) or ("above median" if result.above_median else "none")
    if result.n_teams < 2 or disbelief(result):
        rank = "one team" if result.n_teams < 2 else "not counted"
    rank = ", ".join(filter(None, (rank, origin(result))))
    work = f"{result.wall_seconds:.0f} s, {plural(result.nodes, 'node')}, {plural(result.llm.calls, 'model call')}"
    cost = "unknown cost" if result.llm.cost_usd is None else f"${result.llm.cost_usd:.2f}"
    score, win_rate = number(result.score), f"{result.win_rate:.1%}"
    return (*run_cells, score, _expected(result), lines, win_rate, rank, f"{work}, {cost}")


def _expected(result: RunResult) -> str:
    """Return the interval expected for the hidden score, and whether the score lay outside."""
    if result.self_reported:
        return "self-reported"
    if result.validation_interval is None:
        return "–"
    return f"{interval(result)}{' (outside)' if result.score_in_interval is False else ''}"

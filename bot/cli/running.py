"""Running replays one after another, and printing what came of them: what `bot replay` and `bot resume` share."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import typer
from rich.console import Console

from bot.cli.output import number, print_json, print_table
from bot.engine.patience import may_pass
from bot.evaluation.guards.findings import told_together
from bot.models.settings import ModelSettings
from bot.replay.prepare import PreparedRun
from bot.replay.progress_line import shown
from bot.replay.run import Show
from bot.replay.run import replay as replay_one
from bot.replay.settings import ReplaySettings
from sandbox import Sandbox
from sandbox.leases import Leases
from state.errors import BotError, Interrupted, UsageError
from state.redaction import Redactor

_COLUMNS = (
    *("competition", "agent", "seed", "score", "expected (95%)"),
    *("gold / silver / bronze / median", "win rate", "medal", "spent"),
)


@dataclass(frozen=True)
class Job:
    """A run to be worked on, and with what."""

    run: PreparedRun
    sandbox: Sandbox
    models: ModelSettings
    redactor: Redactor


def run_all(jobs: Sequence[Job | Mapping[str, Any]], leases: Leases, *, json: bool) -> list[Mapping[str, Any]]:
    """Run one after another, results that are there already passed on; what fails is told and stops no other.

    When somebody asks to stop, the runs that are left are not begun.
    """
    console = Console(stderr=True)
    results: list[Mapping[str, Any]] = []
    for position, job in enumerate(jobs, 1):
        result = _work(job, f"[{position}/{len(jobs)}] " if len(jobs) > 1 else "", leases, console)
        if json:
            print_json(result)
        results.append(result)
        if result.get("status") == "stopped":
            if left := len(jobs) - position:
                console.print(f"{left} more were not begun: `bot resume` with the folder of all runs finishes them")
            break
    return results


def _work(job: Job | Mapping[str, Any], count: str, leases: Leases, console: Console) -> Mapping[str, Any]:
    if not isinstance(job, Job):
        return job
    run = job.run
    with shown(console, f"{count}{run.settings.agent} on {run.snapshot.card.slug}") as show:
        result = _run(job, leases, show)
    if "error" in result:
        console.print(f"{run.id}: {result['error']}", markup=False, highlight=False, soft_wrap=True)
    return result


def _run(job: Job, leases: Leases, show: Show) -> dict[str, Any]:
    run = job.run
    base: dict[str, Any] = {"run": str(run.folder.path), "run_id": run.id}
    try:
        return base | asyncio.run(replay_one(run, job.sandbox, leases, job.models, job.redactor, show))
    except (BotError, OSError) as error:
        if not isinstance(error, BotError) and not may_pass(error):
            raise
        return base | failed(run.settings, run.snapshot.card.slug, error)


def failed(settings: ReplaySettings, competition: str, error: Exception) -> dict[str, Any]:
    """Return what is told of a run that has no result."""
    return {
        "competition_id": competition,
        "agent": settings.agent,
        "seed": settings.seed,
        "error": str(error),
        "usage_error": isinstance(error, UsageError),
        "status": "stopped" if isinstance(error, Interrupted) else "failed",
    }


def show_results(results: Sequence[Mapping[str, Any]], *, json: bool) -> None:
    """Print the table, unless results were printed as JSON, and exit with the worst status of all."""
    if not json:
        _print(results)
    raise typer.Exit(max(map(_status, results)))


def _status(result: Mapping[str, Any]) -> int:
    if result.get("usage_error") or result.get("misconfigured"):
        return 2
    return 0 if result.get("valid_submission") else 1


def _print(results: Sequence[Mapping[str, Any]]) -> None:
    rows = [_row(result) for result in results]
    print_table(_COLUMNS, rows)
    for result in results:
        if "error" in result:
            typer.echo(f"{result['run_id']}: {result['error']}")
            continue
        if not result["valid_submission"]:
            typer.echo(f"no valid submission: {result.get('message') or result['handed_in_note']}")
        for told in _doubts(result):
            typer.echo(told)
        if result["stopped_by"]:
            typer.echo(f"ended early: {result['stopped_by']}")
        if result["status"] != "finished":
            typer.echo(f"it can go on: bot resume {result['run']}")
        typer.echo(f"report: {result['run']}/report.html")


def _row(result: Mapping[str, Any]) -> tuple[str, ...]:
    run = (result["competition_id"], result["agent"], str(result["seed"]))
    if "error" in result:
        return (*run, "–", "–", "–", "–", "failed", "–")
    medal = next(
        (m for m in ("gold", "silver", "bronze") if result[f"{m}_medal"]),
        "above median" if result["above_median"] else "none",
    )
    lines = " / ".join(number(result[f"{m}_threshold"]) for m in ("gold", "silver", "bronze", "median"))
    return (
        *run,
        number(result["score"]),
        _expected(result),
        lines,
        f"{result['win_rate']:.1%}",
        medal,
        _spent(result),
    )


def _spent(result: Mapping[str, Any]) -> str:
    llm = result["llm"]
    cost = "unknown cost" if llm["cost_usd"] is None else f"${llm['cost_usd']:.2f}"
    return f"{result['wall_seconds']:.0f} s, {result['nodes']} nodes, {llm['calls']} model calls, {cost}"


def _expected(result: Mapping[str, Any]) -> str:
    """Return where the hidden score was to be expected by the validation score, and whether it lay there."""
    bounds = result.get("validation_interval")
    if result.get("self_reported"):
        return "self-reported"
    if bounds is None:
        return "–"
    return f"{bounds[0]:.4g} to {bounds[1]:.4g}{' (outside)' if result.get('score_in_interval') is False else ''}"


def _doubts(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield what guards say against the data and the chosen node, and that nobody has checked the scores."""
    if reason := result.get("self_reported"):
        yield f"validation scores are self-reported, only what scripts print counts: {reason}"
    doubts = (
        (one["node"], one["guard"], one["verdict"], one["sentence"])
        for one in result.get("guards", ())
        if one["verdict"] != "passed" and one["node"] in (None, result["chosen_node"])
    )
    for node, guards, verdict, sentence in told_together(doubts):
        of = "the data" if node is None else f"node {node}"
        yield f"guard{'s' if ',' in guards else ''} of {of}, {guards} ({verdict}): {sentence}"

"""`bot snapshot import mle-bench`: make snapshots of prepared MLE-bench competitions."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from bot.cli.options import Json
from bot.cli.output import print_json, print_table, progress_line
from bot.evaluation.client.process import WorkerProcess
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.research.importers.mle_bench.importing import BenchImport, BenchImportResult, Dates
from bot.research.importers.mle_bench.prepared_files import PreparedCompetition, find_places
from bot.research.importers.staging import importing_into
from bot.research.metric_search.grade_calls import FoundMetric, MetricQuestion
from scrapers.snapshots.fields import parse_time
from state.clock import SystemClock
from state.errors import InfrastructureFailure, Problem, SnapshotError, UsageError

_SECONDS = 3600.0
"""Time limit of the search for one metric."""
_MEMORY = 16 * 1024**3
"""Address space of the search: a submission of ten million texts is held as Python objects."""


def mle_bench(
    folders: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="MLE-bench data folders, or folders of single competitions")
    ],
    out: Annotated[Path, typer.Option(help="folder for the snapshots; existing ones are skipped")],
    package: Annotated[
        Path | None,
        typer.Option(help="MLE-bench's folder mlebench/competitions (default: the files next to prepared/)"),
    ] = None,
    competition: Annotated[list[str] | None, typer.Option(help="import only this competition; can be repeated")] = None,
    enabled_at: Annotated[str | None, typer.Option(help="start date, if the leaderboard has no dates")] = None,
    deadline: Annotated[str | None, typer.Option(help="deadline, if the leaderboard has no dates")] = None,
    json: Json = False,
) -> None:
    """Make a snapshot of each prepared MLE-bench competition.

    The metric and its direction are determined by running each competition's grade.py. Exits with 1 if an import fails.

    Example: bot snapshot import mle-bench ~/.cache/mle-bench/data --package mle-bench/mlebench/competitions --out snapshots
    """
    places = find_places(folders, package, competition or ())
    dates = _dates(enabled_at, deadline)
    with importing_into(out):
        outcomes = import_places(places, out, dates)
    _show(outcomes, json=json)
    if any(outcome.status == "failed" for outcome in outcomes):
        raise typer.Exit(1)


def import_places(places: Sequence[PreparedCompetition], out: Path, dates: Dates | None) -> list[BenchImportResult]:
    """Import one after another, with a progress line on stderr."""
    outcomes: list[BenchImportResult] = []
    with asyncio.Runner() as runner, progress_line() as say:
        worker = WorkerProcess(seconds=_SECONDS, memory_bytes=_MEMORY)

        def report(slug: str, doing: str) -> None:
            say(f"{len(outcomes) + 1} of {len(places)}: {slug}: {doing}", len(outcomes) / len(places))

        def find_metric(question: MetricQuestion) -> FoundMetric:
            call = worker.call("bot.research.metric_search.find_metric:find_metric", FoundMetric, None, question)
            try:
                return runner.run(call)
            except InfrastructureFailure as error:
                problem = Problem("grade.py", None, f"cannot be compared with the bot's metrics: {error}")
                raise SnapshotError([problem]) from error

        importing = BenchImport(out, METRIC_DIRECTIONS, find_metric, SystemClock().now(), dates, report)
        try:
            for number, place in enumerate(places, start=1):
                say(f"{number} of {len(places)}: {place.slug}: started", len(outcomes) / len(places))
                outcomes.append(importing.run(place))
                outcome = outcomes[-1]
                reason = f": {outcome.problems[0]}" if outcome.problems else ""
                say(f"{number} of {len(places)}: {outcome.slug}: {outcome.status}{reason}", number / len(places))
        finally:
            runner.run(worker.aclose())
    return outcomes


def _dates(enabled_at: str | None, deadline: str | None) -> Dates | None:
    if enabled_at is None and deadline is None:
        return None
    if enabled_at is None or deadline is None:
        raise UsageError("--enabled-at and --deadline must be given together")
    begins, end = _time("--enabled-at", enabled_at), _time("--deadline", deadline)
    if end < begins:
        raise UsageError("--deadline is before --enabled-at")
    return Dates(begins, end, "given on the command line")


def _time(option: str, text: str) -> datetime:
    try:
        return parse_time(text)
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from error


def _show(outcomes: Sequence[BenchImportResult], *, json: bool) -> None:
    counts = {status: sum(o.status == status for o in outcomes) for status in ("imported", "already exists", "failed")}
    if json:
        records = [{**asdict(o), "problems": list(map(str, o.problems))} for o in outcomes]
        print_json({"competitions": records, **counts})
        return
    columns = ("competition", "", "metric", "rows", "teams", "notes")
    print_table(columns, [_row(outcome) for outcome in outcomes])
    for outcome in outcomes:
        for problem in outcome.problems:
            typer.echo(f"{outcome.slug}: {problem}")
    typer.echo(", ".join(f"{count} {status}" for status, count in counts.items() if count))


def _row(outcome: BenchImportResult) -> tuple[str, ...]:
    remarks = [f"left out: {name}" for name in outcome.omitted] + list(outcome.notes)
    metric_lines = [f"{outcome.metric}, {outcome.direction}"] if outcome.metric else []
    if outcome.explanation:
        metric_lines.append(outcome.explanation)
    if outcome.problems:
        remarks = ["see below"]
    return (
        outcome.slug,
        outcome.status,
        "\n".join(metric_lines),
        "" if outcome.rows is None else f"{outcome.rows:,}",
        "" if outcome.teams is None else f"{outcome.teams:,}",
        "\n".join(remarks),
    )

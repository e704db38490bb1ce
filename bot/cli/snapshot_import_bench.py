"""`bot snapshot import mle-bench`: prepared MLE-bench competitions become snapshots."""

import asyncio
import contextlib
import fcntl
import os
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from bot.cli.output import print_json, print_table
from bot.evaluation.directions import METRIC_DIRECTIONS
from bot.evaluation.worker import Worker
from scrapers.fields import parse_time
from scrapers.imports.mle_bench.finding import FoundMetric, Question
from scrapers.imports.mle_bench.importing import Importing, remove_leftovers
from scrapers.imports.mle_bench.manifest_of import Dates
from scrapers.imports.mle_bench.outcome import Outcome
from scrapers.imports.mle_bench.places import Place, find_places
from state.clock import SystemClock
from state.errors import InfrastructureFailure, Problem, SnapshotError, UsageError

_SECONDS = 3600.0
"""The longest search for one metric."""
_MEMORY = 16 * 1024**3
"""Of address space, of the search: a submission of ten million texts is held as Python's own."""


def mle_bench(
    folders: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="an MLE-bench data folder, or one competition's folder in it")
    ],
    out: Annotated[Path, typer.Option(help="the folder of snapshots; what is there already is left as it is")],
    package: Annotated[
        Path | None,
        typer.Option(help="`mlebench/competitions` of MLE-bench's repository (default: its files beside prepared/)"),
    ] = None,
    competition: Annotated[list[str] | None, typer.Option(help="only this one (may be given again)")] = None,
    enabled_at: Annotated[str | None, typer.Option(help="the start, where a leaderboard has no dates")] = None,
    deadline: Annotated[str | None, typer.Option(help="the end, where a leaderboard has no dates")] = None,
    json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Make a snapshot of each prepared MLE-bench competition; one that is there already is skipped.

    Metric and direction are found by comparing scores of each competition's own grade.py, which is run. Exits with 1 where
    a competition could not be imported.

    Example: bot snapshot import mle-bench ~/.cache/mle-bench/data --package mle-bench/mlebench/competitions --out snapshots
    """
    places = find_places(folders, package, competition or ())
    dates = _dates(enabled_at, deadline)
    with _sole_writer(out):
        remove_leftovers(out)
        outcomes = _import(places, out, dates)
    _show(outcomes, json=json)
    if any(outcome.status == "failed" for outcome in outcomes):
        raise typer.Exit(1)


def _import(places: Sequence[Place], out: Path, dates: Dates | None) -> list[Outcome]:
    """Import one after another, with a line on stderr that says how far it is."""
    outcomes: list[Outcome] = []
    console = Console(stderr=True)
    with asyncio.Runner() as runner, console.status("") as line:
        worker = Worker(seconds=_SECONDS, memory_bytes=_MEMORY)

        def told(slug: str, doing: str) -> None:
            line.update(Text(f"{len(outcomes) + 1} of {len(places)}: {slug}: {doing}"))

        def find_metric(question: Question) -> FoundMetric:
            return runner.run(_find(worker, question))

        importing = Importing(out, METRIC_DIRECTIONS, find_metric, SystemClock().now(), dates, told)
        try:
            for number, place in enumerate(places, start=1):
                if not console.is_terminal:
                    begun = f"{number} of {len(places)}: {place.slug}: begun"
                    console.print(begun, markup=False, highlight=False, soft_wrap=True)
                outcomes.append(importing.run(place))
                if not console.is_terminal:
                    console.print(_line(outcomes[-1], number, len(places)), markup=False, soft_wrap=True)
        finally:
            runner.run(worker.aclose())
    return outcomes


async def _find(worker: Worker, question: Question) -> FoundMetric:
    try:
        return await worker.find_metric(question)
    except InfrastructureFailure as error:
        raise SnapshotError([Problem("grade.py", None, f"could not be compared with metrics: {error}")]) from error


def _dates(enabled_at: str | None, deadline: str | None) -> Dates | None:
    if enabled_at is None and deadline is None:
        return None
    if enabled_at is None or deadline is None:
        raise UsageError("--enabled-at and --deadline go together")
    begins, ends = _time("--enabled-at", enabled_at), _time("--deadline", deadline)
    if ends < begins:
        raise UsageError("--deadline is before --enabled-at")
    return Dates(begins, ends, "given on the command line")


def _time(option: str, text: str) -> datetime:
    try:
        return parse_time(text)
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from error


@contextlib.contextmanager
def _sole_writer(out: Path) -> Iterator[None]:
    """Hold the folder of snapshots; a second import into it would take the first one's unfinished folders for leftovers."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        handle = os.open(out, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise UsageError(f"--out: {out} cannot be written to: {error.strerror}") from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UsageError(f"another import writes into {out}") from error
        yield
    finally:
        os.close(handle)


def _line(outcome: Outcome, number: int, many: int) -> str:
    why = f": {outcome.problems[0]}" if outcome.problems else ""
    return f"{number} of {many}: {outcome.slug}: {outcome.status}{why}"


def _show(outcomes: Sequence[Outcome], *, json: bool) -> None:
    counts = {
        status: sum(one.status == status for one in outcomes) for status in ("imported", "there already", "failed")
    }
    if json:
        print_json({"competitions": [one.told() for one in outcomes], **counts})
        return
    columns = ("competition", "", "metric", "rows", "teams", "left out, and what else to know")
    print_table(columns, [_row(outcome) for outcome in outcomes])
    for outcome in outcomes:
        for problem in outcome.problems:
            typer.echo(f"{outcome.slug}: {problem}")
    typer.echo(", ".join(f"{many} {status}" for status, many in counts.items() if many))


def _row(outcome: Outcome) -> tuple[str, ...]:
    known = [f"left out: {one}" for one in outcome.left_out] + list(outcome.notes)
    found = [f"{outcome.metric}, {outcome.direction}"] if outcome.metric else []
    if outcome.how:
        found.append(outcome.how)
    if outcome.problems:
        known = ["told below"]
    return (
        outcome.slug,
        outcome.status,
        "\n".join(found),
        _count(outcome.rows),
        _count(outcome.teams),
        "\n".join(known),
    )


def _count(number: int | None) -> str:
    return "" if number is None else f"{number:,}"

"""`bot solve`: a data scientist's own data, from a folder to predictions, a package that predicts, and a report."""

import asyncio
import re
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import aclosing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bot.agents.settings import ReplayOptions
from bot.cli.configuration import settings_file
from bot.cli.options import Config, Json, Plain, existing, with_options
from bot.cli.output import print_table, progress_line
from state.errors import UnsupportedLayout

if TYPE_CHECKING:
    from bot.evaluation.view_names import Withholding
    from bot.solve.solve_options import DetectedTask, SolveOptions
    from scrapers.snapshots.snapshot import Snapshot

_USUAL = {"time": 600.0}
"""Defaults that differ from those of a replay."""
_NOT_OF_OWN_DATA = ("cutoff", "pace", "signals", "community")
"""Options on a community, or on a past leaderboard."""

_MIN_SECONDS = 60.0
"""Of --time: the search, and reading a small table."""
_SHORTEST_SEARCH, _MAX_SLOWNESS = 30.0, 12.0
"""Seconds of a free core that are left for the search in any case, and how many times as long that may take on a busy one."""
_LARGE_BYTES, _SECONDS_PER_MB, _READING_SHARE = 20_000_000, 0.3, 1 / 4
"""Of data from which on reading takes a while, how long on one core, and the share of --time after which rows are sampled."""
_LINE_SECONDS = 15.0
"""Seconds between two lines on progress if there is no terminal."""


@with_options(ReplayOptions, without=_NOT_OF_OWN_DATA, usual=_USUAL)
def solve(
    *,
    data: Annotated[
        Path,
        typer.Argument(help="folder or zip with train and test tables, one table, or one folder of files per class"),
    ],
    target: Annotated[
        str | None, typer.Option(help="column to predict (default: the one missing from the test table)")
    ] = None,
    metric: Annotated[
        str | None, typer.Option(help="metric (default: roc_auc for two classes, log_loss for more, rmse for numbers)")
    ] = None,
    id: Annotated[str | None, typer.Option(help="column with row ids (default: one that looks like an id)")] = None,
    group: Annotated[
        str | None, typer.Option(help="single table: column whose groups are never split (`none` splits by row)")
    ] = None,
    time_column: Annotated[
        str | None, typer.Option(help="single table: withhold the latest rows by this column (default: a date column)")
    ] = None,
    shuffle: Annotated[
        bool, typer.Option("--shuffle", help="single table: withhold rows at random instead of by date")
    ] = False,
    train: Annotated[str | None, typer.Option(help="table with training rows (default: the table named train)")] = None,
    test: Annotated[str | None, typer.Option(help="table with rows to predict (default: the table named test)")] = None,
    header: Annotated[
        bool | None,
        typer.Option("--header/--no-header", help="whether the first row contains column names (default: detected)"),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="do not ask: accept the most likely interpretation of ambiguous data")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="write predictions even if a constant scores better")] = False,
    chosen_options: dict[str, Any],
    model: Annotated[str, typer.Option(help="builtin, openai:NAME or recorded:DIR")] = "builtin",
    config: Config = None,
    out: Annotated[Path, typer.Option(help="folder in which to create the run folder")] = Path("runs"),
    plain: Plain = False,
    json: Json = False,
) -> None:
    """Train on your own data, and write predictions, a script and a report.

    Needs no leaderboard, dates or answers. Shows the detected task first, and asks for what it cannot detect.

    Example: bot solve my-data --target price --time 10m
    """
    existing([data], quiet=True)
    typer.echo(f"reading {data}", err=True)
    # Imported here: the help, and a wrong path, need none of it.
    from bot.cli.running import remove_leftovers, report, run_all
    from bot.execution.disk_space import check_free
    from bot.execution.open_leases import open_leases
    from bot.replay.prepare import prepare_own
    from bot.replay.setup import Setup
    from bot.solve.solve_options import SolveOptions

    setup = Setup.read(chosen_options, model, out, settings_file(config), usual=_USUAL, min_seconds=_MIN_SECONDS)
    options = setup.options
    if setup.caution:
        typer.echo(setup.caution, err=True)
    data_options = SolveOptions(target, metric, id, group, time_column, shuffle, train, test, header, yes, options.time)
    check_free(out, setup.configuration.disk)
    remove_leftovers(out)
    out.mkdir(parents=True, exist_ok=True)
    now = datetime.now(UTC)
    configured = setup.configuration
    with open_leases(configured.leases, options.gpus, configured.fleet, configured.sandbox) as (leases, gpus):
        with tempfile.TemporaryDirectory(prefix=".own-data-", dir=out) as scratch:
            snapshot, detected = _build(data, Path(scratch), data_options, out, now)
            settings = replace(setup, gpus=gpus, leases=leases).settings(snapshot, options.agent, options.seed)
            # Without notes there are no posts, and prompts should not mention any.
            settings = settings.model_copy(update={"community": options.notes is not None, "force": force})
            validation, slowness = asyncio.run(_split(snapshot, options.split_seed, settings.withholding))
            detected.add("validation", validation)
            if not json:
                print_table(("", "detected (reason)", "confidence"), detected.lines)
            for topic, sentence, confidence in detected.lines if json else ():
                typer.echo(f"{topic}: {sentence} ({confidence})", err=True)
            # The time is that of the whole command, reading included.
            remaining = settings.time - (datetime.now(UTC) - now).total_seconds()
            shortest = _SHORTEST_SEARCH * min(slowness, _MAX_SLOWNESS)
            if remaining < shortest:
                typer.echo(
                    f"busy machine or large data: the search will end about {shortest - remaining:.0f} s after --time",
                    err=True,
                )
            settings = settings.model_copy(update={"time": max(shortest, remaining)})
            run = prepare_own(snapshot, settings, out, now)
        outcomes = run_all([setup.job(run)], leases, json=json, plain=plain)
    report(outcomes, json=json)


def _build(
    data: Path, scratch: Path, options: "SolveOptions", out: Path, now: datetime
) -> tuple["Snapshot", "DetectedTask"]:
    """Return the snapshot-like folder of the data, and what was detected."""
    from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
    from bot.solve.build_snapshot import build_snapshot
    from bot.solve.input_files import collect_files
    from scrapers.snapshots.snapshot import Snapshot

    folder = scratch / "task"
    with _reading(data, options.seconds), collect_files(data, out) as collected:
        detected = build_snapshot(collected, folder, _slug(data), options, now)
    return Snapshot.load(folder, METRIC_DIRECTIONS, own_data=True), detected


@contextmanager
def _reading(data: Path, seconds: float) -> Iterator[None]:
    """Show the progress of reading large data."""
    size = sum(path.stat().st_size for path in (data.rglob("*") if data.is_dir() else [data]) if path.is_file())
    if size < _LARGE_BYTES:
        yield
        return
    expected_seconds = min(size / 1e6 * _SECONDS_PER_MB, _READING_SHARE * seconds)
    started, finished = time.monotonic(), threading.Event()
    with progress_line(_LINE_SECONDS) as say:

        def show() -> None:
            while not finished.wait(1.0):
                seconds = time.monotonic() - started
                say(
                    f"reading {size / 1e6:,.0f} MB: {seconds:,.0f} s of about {expected_seconds:,.0f} s",
                    min(0.99, seconds / expected_seconds),
                )

        shower = threading.Thread(target=show)
        shower.start()
        try:
            yield
        finally:
            finished.set()
            shower.join()


def _slug(data: Path) -> str:
    """Return a task's name by that of its data; `data` alone says nothing."""
    path = data.resolve()
    name = path.name.removesuffix(path.suffix) if data.is_file() else path.name
    name = path.parent.name if name.lower() == "data" else name
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-._")[:80] or "own-data"


async def _split(snapshot: "Snapshot", seed: int, withholding: "Withholding") -> tuple[str, float]:
    """Return how rows will be withheld, or why none can be; and how many times as long as an idle machine this one takes."""
    from bot.evaluation.client.worker import Worker

    async with aclosing(Worker()) as worker:
        try:
            sentence = await worker.describe_split(snapshot.data, snapshot.card, seed, withholding)
        except UnsupportedLayout as error:
            sentence = f"cannot withhold rows, so the bot uses the scores that scripts print: {error}"
        return sentence, worker.slowness

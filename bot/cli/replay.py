"""`bot replay`: run agents on past competitions and compare them with the real leaderboards."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import typer

from bot.agents import AGENTS
from bot.agents.settings import ReplayOptions
from bot.cli.configuration import settings_file
from bot.cli.options import Config, Fleet, Json, Plain, existing, with_options
from state.errors import UsageError
from state.words import did_you_mean


@with_options(ReplayOptions, without=("agent",))
def replay(
    snapshots: Annotated[list[Path], typer.Argument(help="snapshot folders")],
    chosen_options: dict[str, Any],
    agent: Annotated[str | None, typer.Option(help=f"agents, separated by commas: {', '.join(AGENTS)}")] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="builtin, openai:NAME or recorded:DIR (default: the configured model if it has a key, else builtin)"
        ),
    ] = None,
    record: Annotated[Path | None, typer.Option(help="folder in which to record all model calls")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="number of runs, with consecutive seeds starting at --seed")] = 1,
    fleet: Fleet = None,
    config: Config = None,
    out: Annotated[Path, typer.Option(help="folder in which to create the run folders")] = Path("runs"),
    plain: Plain = False,
    json: Json = False,
) -> None:
    """Replay past competitions on a simulated clock, graded on the real leaderboard.

    Example: bot replay snapshots/spooky-author-identification --model builtin --time 5m
    """
    existing(snapshots, quiet=json)
    # Imported here: the help, and a wrong path, need none of it.
    from bot.cli.running import remove_leftovers, report, run_all
    from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
    from bot.execution.disk_space import check_free
    from bot.execution.open_leases import open_leases
    from bot.replay.prepare import prepare
    from bot.replay.settings import cutoff_on
    from bot.replay.setup import Setup
    from bot.report.words import cutoff_note
    from scrapers.snapshots.snapshot import Snapshot

    setup = Setup.read(chosen_options, model, out, settings_file(config), fleet)
    if setup.caution:
        typer.echo(setup.caution, err=True)
    loaded = [Snapshot.load(path, METRIC_DIRECTIONS) for path in snapshots]
    options = setup.options
    _check_notes(options, len(loaded))
    agents = [options.agent] if agent is None else _agents(agent)
    planned = [*product(loaded, agents, range(options.seed, options.seed + seeds))]
    for snapshot in loaded:
        if note := cutoff_note(cutoff_on(snapshot.card, options.cutoff), snapshot.card.deadline):
            typer.echo(f"{snapshot.card.slug}: {note}", err=True)
    if record is not None and len(planned) > 1:
        raise UsageError("--record works with one run at a time")
    check_free(out, setup.configuration.disk)
    remove_leftovers(out)
    configured = setup.configuration
    with open_leases(configured.leases, options.gpus, configured.fleet, configured.sandbox) as (leases, gpus):
        local_setup = replace(setup, gpus=gpus, leases=leases)
        recorded = {"record": record and record.resolve()}
        runs = [(s, local_setup.settings(s, a, n).model_copy(update=recorded)) for s, a, n in planned]
        jobs = [local_setup.job(run) for run in prepare(runs, out, datetime.now(UTC))]
        outcomes = run_all(jobs, leases, json=json, plain=plain)
    report(outcomes, json=json)


def _check_notes(options: ReplayOptions, competitions: int) -> None:
    """Refuse a folder of notes where it makes no sense."""
    if options.notes is None:
        return
    if not options.community:
        raise UsageError("--notes cannot be combined with --no-community: notes are read like posts")
    if competitions > 1:
        raise UsageError("--notes works with one snapshot at a time")


def _agents(text: str) -> Sequence[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in AGENTS]
    if unknown or not names:
        wrong = unknown[0] if unknown else text
        raise UsageError(f"--agent: {wrong!r}: unknown agent; {did_you_mean(wrong, AGENTS)}")
    return list(dict.fromkeys(names))

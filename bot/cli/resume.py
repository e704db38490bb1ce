"""`bot resume`: finish runs that were stopped, killed or never started."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.configuration import configured
from bot.cli.options import Fleet, Json, Plain, existing
from bot.execution.folder import run_folders
from sandbox.settings import NO_FLEET
from state.errors import UsageError

if TYPE_CHECKING:
    from bot.replay.run_queue import RunOutcome


def resume(
    paths: Annotated[list[Path], typer.Argument(help="run folders, or folders that contain runs")],
    snapshot: Annotated[
        list[Path] | None, typer.Option(help="new path of a snapshot that has moved; can be repeated")
    ] = None,
    fleet: Fleet = None,
    plain: Plain = False,
    json: Json = False,
) -> None:
    """Resume interrupted runs without repeating completed steps.

    Finished runs are only shown.

    Example: bot resume runs
    """
    existing(paths, quiet=json)
    # Imported here: the help, and a wrong path, need none of it.
    from bot.cli.running import remove_leftovers, report, run_all
    from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
    from bot.execution.disk_space import check_free
    from bot.execution.open_leases import open_leases
    from bot.replay.run_queue import Job, unfinished_jobs
    from scrapers.snapshots.snapshot import Snapshot

    folders = run_folders(paths)
    if not folders:
        raise UsageError(f"no runs in {', '.join(map(str, paths))}")
    moved_snapshots = {s.card.slug: s for s in (Snapshot.load(path, METRIC_DIRECTIONS) for path in snapshot or [])}
    for out in dict.fromkeys(folder.path.resolve().parent for folder in folders):
        remove_leftovers(out)
    jobs = list(unfinished_jobs(folders, moved_snapshots))
    work = [job.run for job in jobs if isinstance(job, Job)]
    settings = configured(work[0].settings.config if work else None)
    for run in work:
        check_free(run.folder.path.parent, settings.disk)
    # Scripts run where the option says, else where they ran when their run started.
    by_fleet: dict[str, list[Job | RunOutcome]] = {}
    for job in jobs:
        fleet_before = job.run.settings.fleet if isinstance(job, Job) else None
        by_fleet.setdefault(fleet or fleet_before or NO_FLEET, []).append(job)
    outcomes: list[RunOutcome] = []
    for address, fleet_jobs in by_fleet.items():
        gpus = max((job.run.settings.gpus for job in fleet_jobs if isinstance(job, Job)), default=0)
        with open_leases(settings.leases, gpus, settings.fleet.at(address), settings.sandbox) as (leases, _):
            outcomes += run_all(fleet_jobs, leases, json=json, plain=plain)
        if outcomes[-1].result.status == "stopped":
            break
    report(outcomes, json=json)

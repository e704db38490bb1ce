"""`bot resume`: finish runs that were stopped, killed or never started."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from bot.cli.configured import configured, model_settings, redactor_of
from bot.cli.running import Failed, Job, Outcome, report, run_all
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.execution.disk_space import check_free
from bot.execution.folder import RunFolder, is_run_on, run_folders
from bot.execution.open_leases import open_leases
from bot.replay.prepare import PreparedRun, finished_result, read_config
from bot.replay.settings import ReplaySettings
from sandbox.choose import choose
from sandbox.environments import environment_named
from sandbox.instance import instance_of
from sandbox.leftovers import left_by_killed
from scrapers.snapshots.snapshot import Snapshot
from state.errors import BotError, UsageError


def resume(
    paths: Annotated[list[Path], typer.Argument(help="folders of runs, or folders with such folders")],
    snapshot: Annotated[
        list[Path] | None, typer.Option(help="a snapshot that has moved since the runs began; may be repeated")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="print one result.json per line")] = False,
) -> None:
    """Finish runs: what was paid for, trained or decided is not done again; finished runs are only shown.

    Example: bot resume runs
    """
    folders = run_folders(paths)
    if not folders:
        raise UsageError(f"there is no run in {', '.join(map(str, paths))}")
    moved = {found.card.slug: found for found in (Snapshot.load(path, METRIC_DIRECTIONS) for path in snapshot or [])}
    for out in dict.fromkeys(folder.path.resolve().parent for folder in folders):
        for left in left_by_killed(out):
            typer.echo(f"left by a killed bot: {left.remove()}", err=True)
    jobs = list(_jobs(folders, moved))
    work = [job.run for job in jobs if isinstance(job, Job)]
    settings = configured(work[0].settings.config if work else None)
    gpus = max((run.settings.gpus for run in work), default=0)
    for run in work:
        check_free(run.folder.path.parent, settings.disk)
    with open_leases(settings.leases, gpus) as (leases, _):
        outcomes = run_all(jobs, leases, json=json)
    report(outcomes, json=json)


def _jobs(folders: Sequence[RunFolder], moved: Mapping[str, Snapshot]) -> Iterator[Job | Outcome]:
    """Yield the outcome of each finished run, and for each other run its job, or why it cannot be resumed."""
    for folder in folders:
        if result := finished_result(folder):
            yield Outcome(folder.path, result.run_id, result)
            continue
        run_id, settings = read_config(folder)
        try:
            yield _job(folder, run_id, settings, moved)
        except BotError as error:
            yield Outcome(folder.path, run_id, Failed.by(error, settings, settings.snapshot.name))


def _job(folder: RunFolder, run_id: str, settings: ReplaySettings, moved: Mapping[str, Snapshot]) -> Job:
    if settings.blended:
        raise UsageError(f"{folder.path} is an unfinished blend: remove it, and blend the runs again with `bot blend`")
    found = next((one for slug, one in moved.items() if is_run_on(slug, run_id)), None)
    snapshot = found or Snapshot.load(settings.snapshot, METRIC_DIRECTIONS)
    configuration = configured(settings.config)
    models = model_settings(configuration)
    environments, name = configuration.sandbox.environments_folder, settings.environment
    sandbox = choose(
        settings.sandbox,
        trusted=models.resolve(settings.model).kind == "builtin",
        instance=instance_of(folder.path.resolve().parent),
        settings=configuration.sandbox,
        environment=environment_named(environments, name) if name else None,
    )
    return Job(PreparedRun(run_id, settings, snapshot, folder), sandbox, models, redactor_of(configuration))

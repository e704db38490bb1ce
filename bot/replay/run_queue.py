"""Several replays, one after another: each prepared or begun before, and a failure stops no other."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

from bot.configuration import read_settings
from bot.configuration.own_secrets import open_redactor
from bot.engine.retry_budget import is_transient
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.execution.folder import RunFolder, is_run_on
from bot.models.settings import Environment, ModelSettings
from bot.replay.prepare import PreparedRun, finished_result, read_config
from bot.replay.run import replay
from bot.replay.settings import ReplaySettings
from bot.report.result import RunResult
from sandbox import Sandbox
from sandbox.choose import choose
from sandbox.environments import environment_named
from sandbox.instance import instance_of
from sandbox.leases import Leases
from scrapers.snapshots.snapshot import Snapshot
from state.errors import BotError, Interrupted, UsageError
from state.redaction import Redactor


@dataclass(frozen=True)
class Job:
    """A run to do, and what it needs."""

    run: PreparedRun
    sandbox: Sandbox
    models: ModelSettings
    redactor: Redactor


@dataclass(frozen=True)
class Failed:
    """A run that has no result."""

    competition_id: str
    agent: str
    seed: int
    error: str
    usage_error: bool
    status: Literal["stopped", "failed"]

    @classmethod
    def from_error(cls, error: Exception, settings: ReplaySettings, competition: str) -> Self:
        """Return a run that an error ended."""
        status: Literal["stopped", "failed"] = "stopped" if isinstance(error, Interrupted) else "failed"
        return cls(competition, settings.agent, settings.seed, str(error), isinstance(error, UsageError), status)


@dataclass(frozen=True)
class RunOutcome:
    """The outcome of a run."""

    run: Path
    """The run's folder."""
    run_id: str
    result: RunResult | Failed


def run_each(
    jobs: Iterable[Job | RunOutcome],
    leases: Leases,
    show_job: Callable[[Job], AbstractContextManager[Callable[[str], None]]],
) -> Iterator[RunOutcome]:
    """Run one after another, and yield each outcome; existing outcomes are passed on.

    After a request to stop, the run's outcome is the last. The next job is asked for only when the one before has ended.
    """
    for job in jobs:
        outcome = job if isinstance(job, RunOutcome) else _run(job, leases, show_job)
        yield outcome
        if outcome.result.status == "stopped":
            return


def _run(
    job: Job, leases: Leases, show_job: Callable[[Job], AbstractContextManager[Callable[[str], None]]]
) -> RunOutcome:
    run = job.run
    with show_job(job) as say:
        try:
            result: RunResult | Failed = asyncio.run(replay(run, job.sandbox, leases, job.models, job.redactor, say))
        except (BotError, OSError) as error:
            if not isinstance(error, BotError) and not is_transient(error):
                raise
            result = Failed.from_error(error, run.settings, run.snapshot.card.slug)
    return RunOutcome(run.folder.path, run.id, result)


def unfinished_jobs(folders: Sequence[RunFolder], snapshots: Mapping[str, Snapshot]) -> Iterator[Job | RunOutcome]:
    """Yield the outcome of each finished run, and for each other run its job, or why it cannot be resumed.

    The known snapshots, by slug, take the place of those at the paths that the runs began with.
    """
    for folder in folders:
        if result := finished_result(folder):
            yield RunOutcome(folder.path, result.run_id, result)
            continue
        run_id, settings = read_config(folder)
        try:
            yield _job(folder, run_id, settings, snapshots)
        except BotError as error:
            yield RunOutcome(folder.path, run_id, Failed.from_error(error, settings, settings.snapshot.name))


def _job(folder: RunFolder, run_id: str, settings: ReplaySettings, snapshots: Mapping[str, Snapshot]) -> Job:
    moved_snapshot = next((s for slug, s in snapshots.items() if is_run_on(slug, run_id)), None)
    snapshot = moved_snapshot or Snapshot.load(settings.snapshot, METRIC_DIRECTIONS, own_data=settings.own_data)
    configuration = read_settings(settings.config)
    models = ModelSettings(Environment.read(), configuration.models)
    environments, name = configuration.sandbox.environments_folder, settings.environment
    sandbox = choose(
        settings.sandbox,
        trusted=models.resolve(settings.model).kind == "builtin",
        instance=instance_of(folder.path.resolve().parent),
        settings=configuration.sandbox,
        environment=environment_named(environments, name) if name else None,
    )
    return Job(PreparedRun(run_id, settings, snapshot, folder), sandbox, models, open_redactor(configuration))

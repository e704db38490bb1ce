"""Preparing runs: all get their folders with config.json before the first one starts."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from pydantic import ValidationError

from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.execution.folder import RunFolder, is_live, run_id
from bot.execution.own_grader import keep_grader
from bot.replay.settings import ReplaySettings, config_record
from bot.report.result import NOT_DRAWN, RunResult, read_result
from scrapers.snapshots.fields import sentences
from scrapers.snapshots.files import GRADER
from scrapers.snapshots.snapshot import Snapshot
from state.errors import UsageError
from state.files import write_whole


@dataclass(frozen=True)
class PreparedRun:
    """A run that may start."""

    id: str
    settings: ReplaySettings
    snapshot: Snapshot
    folder: RunFolder


def prepare(runs: Iterable[tuple[Snapshot, ReplaySettings]], out: Path, now: datetime) -> Sequence[PreparedRun]:
    """Create every run's folder with its config.json; runs that would share an id get later microseconds.

    Raises OSError: a folder cannot be created.
    """
    prepared_runs = []
    for snapshot, settings in runs:
        folder = _new_folder(snapshot, settings, out, now)
        grader = snapshot.path / GRADER
        if snapshot.card.metric.name not in METRIC_DIRECTIONS and grader.is_file():
            keep_grader(grader, folder)
        prepared_runs.append(_recorded(snapshot, settings, folder))
    return prepared_runs


def prepare_own(snapshot: Snapshot, settings: ReplaySettings, out: Path, now: datetime) -> PreparedRun:
    """Create the folder of a run on one's own data, and move the snapshot-like folder that was grown of it there.

    Raises OSError: the folder cannot be created, or not be moved.
    """
    folder = _new_folder(snapshot, settings, out, now)
    snapshot.path.rename(folder.task)
    settings = settings.model_copy(update={"snapshot": folder.task.resolve(), "own_data": True})
    return _recorded(replace(snapshot, path=settings.snapshot), settings, folder)


def _new_folder(snapshot: Snapshot, settings: ReplaySettings, out: Path, now: datetime) -> RunFolder:
    """Create a run's folder; if there is one of this time already, of a later microsecond."""
    run_key = (snapshot.card.slug, settings.agent, settings.model, settings.seed)
    time = now
    while (out / run_id(*run_key, time)).exists():
        time += timedelta(microseconds=1)
    folder = RunFolder(out / run_id(*run_key, time))
    folder.make()
    return folder


def _recorded(snapshot: Snapshot, settings: ReplaySettings, folder: RunFolder) -> PreparedRun:
    name = folder.path.name
    write_whole(folder.config, json.dumps(config_record(name, settings), indent=1) + "\n")
    return PreparedRun(name, settings, snapshot, folder)


def read_config(folder: RunFolder) -> tuple[str, ReplaySettings]:
    """Return a run's id and settings.

    Raises UsageError: it is not a run's folder, or its settings are those of another version.
    """
    try:
        record = json.loads(folder.config.read_text(encoding="utf-8"))
        if is_live(record):
            reason = "is a live run of the daemon, so it has no hidden answers"
            raise UsageError(f"{folder.path} {reason}; see `bot status` and the run's report")
        return str(record["run_id"]), ReplaySettings.model_validate(record["settings"])
    except ValidationError as error:
        reason = "; ".join(sentences(error))
        raise UsageError(
            f"{folder.path} is not a replay folder that this version can read: config.json: {reason}"
        ) from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{folder.path} is not a run folder: cannot read config.json ({error})") from error


def finished_result(folder: RunFolder) -> RunResult | None:
    """Return result.json if nothing is left to do for the run, else None."""
    try:
        result = read_result(folder)
    except UsageError:
        return None
    return result if result.status == "finished" and result.report_error != NOT_DRAWN else None

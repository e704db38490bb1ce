"""Preparing runs: each gets its folder and its config.json before the first one starts."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from bot.replay.settings import ReplaySettings, config_record
from bot.runs.folder import RunFolder, run_id
from scrapers.snapshot import Snapshot


@dataclass(frozen=True)
class PreparedRun:
    """A run that may start."""

    id: str
    settings: ReplaySettings
    snapshot: Snapshot
    folder: RunFolder


def prepare(runs: Iterable[tuple[Snapshot, ReplaySettings]], out: Path, now: datetime) -> Sequence[PreparedRun]:
    """Make every run's folder with its config.json.

    Args:
        runs: snapshot and settings of each run.
        out: the folder that holds run folders and nothing else.
        now: the time that goes into the ids; runs that would share an id get later microseconds.

    Raises:
        OSError: a folder cannot be made.
    """
    prepared = []
    for snapshot, settings in runs:
        at = now
        while (out / run_id(snapshot.card.slug, settings.agent, settings.model, settings.seed, at)).exists():
            at += timedelta(microseconds=1)
        name = run_id(snapshot.card.slug, settings.agent, settings.model, settings.seed, at)
        folder = RunFolder(out / name)
        folder.make()
        folder.config.write_text(json.dumps(config_record(name, settings), indent=1) + "\n", encoding="utf-8")
        prepared.append(PreparedRun(name, settings, snapshot, folder))
    return prepared

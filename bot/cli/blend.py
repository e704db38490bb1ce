"""`bot blend`: blend the scripts of finished replays of one competition."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from bot.cli.configured import configured, model_settings, redactor_of
from bot.cli.options import Config, Json
from bot.cli.running import print_outcome, report
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.execution.disk_space import check_free
from bot.execution.folder import run_folders
from bot.execution.open_leases import open_leases
from bot.replay.blended import blend_runs, blended_run, stored_runs
from bot.replay.several import Outcome
from sandbox.choose import choose
from sandbox.workspace import remove_tree
from scrapers.snapshots.snapshot import Snapshot
from state.errors import BotError


def blend(
    runs: Annotated[list[Path], typer.Argument(help="folders of finished replays, or folders with such")],
    snapshot: Annotated[Path | None, typer.Option(help="the snapshot, if it has moved since the runs")] = None,
    out: Annotated[Path, typer.Option(help="folder in which the blend gets a folder, as a run does")] = Path("runs"),
    config: Config = None,
    json: Json = False,
) -> None:
    """Blend the scripts of finished replays of one competition: several seeds and agents together, without a model.

    Nothing is trained: the files of the scored runs are blended, by weights fitted on the rows that all runs withheld. These
    must be the same, as they are with the same --split-seed. The result is a run like any other, graded and with a report.

    Example: bot blend runs/spooky_author_identification-aide-* --out blends
    """
    settings = configured(config)
    stored = stored_runs(run_folders(runs))
    loaded = Snapshot.load(snapshot or stored[0].settings.snapshot, METRIC_DIRECTIONS)
    check_free(out, settings.disk)
    # Nothing runs in it.
    sandbox = choose("process", trusted=True)
    models, redactor = model_settings(settings), redactor_of(settings)
    with open_leases(settings.leases, 0) as (leases, _):
        run = blended_run(stored, loaded, out, datetime.now(UTC))
        try:
            result = asyncio.run(blend_runs(run, stored, sandbox, leases, models, redactor, _say))
        except BotError:
            remove_tree(run.folder.path)
            raise
    outcome = Outcome(run.folder.path, run.id, result)
    if json:
        print_outcome(outcome)
    report([outcome], json=json)


def _say(line: str) -> None:
    typer.echo(line, err=True)

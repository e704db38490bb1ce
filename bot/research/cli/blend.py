"""`bot blend`: blend finished replays of one competition."""

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
from bot.replay.run_queue import RunOutcome
from bot.research.blended import blend_runs, stored_runs
from scrapers.snapshots.snapshot import Snapshot


def blend(
    runs: Annotated[list[Path], typer.Argument(help="finished replays, or folders that contain them")],
    snapshot: Annotated[Path | None, typer.Option(help="snapshot, if it has moved since the runs")] = None,
    out: Annotated[Path, typer.Option(help="folder in which the ensemble gets its run folder")] = Path("runs"),
    config: Config = None,
    json: Json = False,
) -> None:
    """Blend finished replays of one competition: several seeds and agents together, without a model.

    Nothing is trained: predictions of scored scripts and experiments are blended, by weights fitted on rows that all runs
    withheld. These must be the same, as they are with the same --split-seed. The result is a run like any other, graded and
    with a report.

    Example: bot blend runs/spooky_author_identification-aide-* --out blends
    """
    settings = configured(config)
    finished_runs = stored_runs(run_folders(runs))
    loaded = Snapshot.load(snapshot or finished_runs[0].settings.snapshot, METRIC_DIRECTIONS)
    check_free(out, settings.disk)
    models, redactor = model_settings(settings), redactor_of(settings)
    with open_leases(settings.leases, 0) as (leases, _):
        run, result = blend_runs(
            finished_runs, loaded, out, leases, models, redactor, lambda line: typer.echo(line, err=True)
        )
    outcome = RunOutcome(run.folder.path, run.id, result)
    if json:
        print_outcome(outcome)
    report([outcome], json=json)

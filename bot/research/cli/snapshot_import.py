"""`bot snapshot import`: make snapshots of past competitions from other formats on disk."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated, Any, Literal

import typer
from pydantic_core import to_jsonable_python

from bot.cli.options import Json
from bot.cli.output import print_json, print_table, progress_line
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.extensions import declared
from bot.research.cli.snapshot_import_mle_bench import mle_bench
from bot.research.cli.snapshot_meta_kaggle import import_meta_kaggle
from bot.research.importers.mle_live.importing import ImportRequest, LiveImportResult, import_mle_live
from bot.research.importers.staging import importing_into, staging_folder
from scrapers.snapshots.snapshot import Snapshot, format_summary
from state.clock import SystemClock
from state.errors import UsageError

import_app = typer.Typer(
    name="import", help="Make snapshots of past competitions from local files.", no_args_is_help=True
)

_LINE = 60.0
"""Seconds between two progress lines if there is no terminal."""


def _command(lay_out: Callable[[Path, Path], None]) -> Callable[[Path, Path], None]:
    def command(
        folder: Annotated[Path, typer.Argument(help="folder to import (read only)")],
        out: Annotated[Path, typer.Option(help="folder for the new snapshot")],
    ) -> None:
        if out.exists():
            raise UsageError(f"{out} already exists: choose a different folder with --out")
        with importing_into(out.parent), staging_folder(out) as place:
            lay_out(folder, place)
            lines = format_summary(Snapshot.load(place, METRIC_DIRECTIONS))
            place.rename(out)
        typer.echo("\n".join(lines))

    return command


for _name, _place in declared("importers").items():
    _lay_out = resolve_name(_place)
    import_app.command(_name, help=_lay_out.__doc__)(_command(_lay_out))
import_app.command("mle-bench")(mle_bench)
import_app.command("meta-kaggle")(import_meta_kaggle)


@import_app.command("mle-live")
def mle_live(
    folder: Annotated[Path, typer.Argument(help="MLE-Live folder, or the folder of one of its competitions")],
    tasks: Annotated[Path, typer.Option(help="complete snapshot of the competition, or a folder of such snapshots")],
    out: Annotated[Path, typer.Option(help="folder for the new snapshots")],
    undated_at: Annotated[
        Literal["deadline"] | None,
        typer.Option(help="use the deadline as the date of undated posts (default: hide these posts)"),
    ] = None,
    competition: Annotated[
        list[str] | None, typer.Option(metavar="SLUG", help="import only this competition; can be repeated")
    ] = None,
    json: Json = False,
) -> None:
    """Combine forums and notebooks from MLE-Live with snapshots of the same competitions.

    Complete snapshots are skipped, so a stopped import can be continued. Exits with 1 if a competition fails, one of
    its lists cannot be read, or none was imported.

    Example: bot snapshot import mle-live MLE-Live --tasks tasks --out snapshots
    """
    request = ImportRequest(folder, tasks, out, at_deadline=undated_at is not None, only=tuple(competition or ()))
    with progress_line(_LINE) as say:
        outcomes = list(import_mle_live(request, METRIC_DIRECTIONS, SystemClock(), say))
    good = [o for o in outcomes if o.path is not None]
    if json:
        records = [_record(o) for o in outcomes]
        print_json({"out": str(out), "undated_at": undated_at, "snapshots": len(good), "competitions": records})
    else:
        _print(outcomes, dated=undated_at is not None)
    if not good or not all(o.whole for o in outcomes):
        raise typer.Exit(1)


def _record(outcome: LiveImportResult) -> dict[str, Any]:
    path = None if outcome.path is None else str(outcome.path)
    counts = None if outcome.counts is None else to_jsonable_python(asdict(outcome.counts))
    facts = {"competition": outcome.competition, "status": outcome.status, "path": path, "sentence": outcome.sentence}
    return facts | (counts or {"rows": None, "undated": None, "omitted": [], "remarks": [], "broken": []})


def _print(outcomes: Sequence[LiveImportResult], *, dated: bool) -> None:
    undated = "dated at the deadline" if dated else "undated, so never shown"
    columns = ("competition", "topics", "messages", "kernels", undated, "left out", "status")
    print_table(columns, [_row(o) for o in outcomes])
    for outcome in outcomes:
        if outcome.sentence:
            typer.echo(f"{outcome.competition}: {outcome.status}: {outcome.sentence}")
        if counts := outcome.counts:
            for label, problems in (("failed: ", counts.broken), ("left out: ", counts.omitted), ("", counts.remarks)):
                for problem in problems:
                    typer.echo(f"{outcome.competition}: {label}{problem}")


def _row(outcome: LiveImportResult) -> tuple[str, ...]:
    if outcome.counts is None:
        return (outcome.competition, *"–––––", outcome.status)
    rows, omitted = outcome.counts.rows, sum(reason.count for reason in outcome.counts.omitted)
    counts = (f"{count:,}" for count in (rows.topics, rows.messages, rows.kernels))
    status = outcome.status if outcome.whole else f"{outcome.status}, with a broken list"
    undated = ", ".join(f"{count:,} {name}" for name, count in outcome.counts.undated if count) or "none"
    return (outcome.competition, *counts, undated, f"{omitted:,}", status)

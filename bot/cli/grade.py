"""`bot grade`: grade a submission file against a snapshot."""

import asyncio
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.options import Json, existing
from bot.cli.output import number, print_json, print_table

if TYPE_CHECKING:
    from bot.evaluation.answers import GradeReport


def grade(
    snapshot: Annotated[Path, typer.Argument(help="snapshot folder")],
    file: Annotated[Path, typer.Argument(help="submission file")],
    json: Json = False,
) -> None:
    """Grade a submission file: validity, score, medals, win rate.

    Exits with 1 if the file is not valid.

    Example: bot grade snapshots/spooky-author-identification submission.csv
    """
    existing([snapshot, file], quiet=True)
    report = asyncio.run(_grade(snapshot, file))
    if json:
        print_json(report.model_dump(mode="json"))
    elif not report.valid_submission:
        typer.echo(f"invalid submission: {report.message}")
    else:
        rows = [
            ("score", number(report.score, 6)),
            *([("grader", report.grader)] if report.grader != "registry" else []),
            ("medal", report.medal or "none"),
            *((f"{name} line", number(value, 6)) for name, value in report.thresholds.items()),
            ("above median", "yes" if report.above_median else "no"),
            ("win rate", f"{report.win_rate:.1%} of {report.n_teams} teams"),
        ]
        print_table(("", report.competition_id), rows)
    if not report.valid_submission:
        raise typer.Exit(1)


async def _grade(folder: Path, file: Path) -> "GradeReport":
    # Imported here: the help, and a wrong path, need none of it.
    from bot.evaluation.client.worker import Worker
    from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
    from scrapers.snapshots.snapshot import Snapshot

    snapshot = Snapshot.load(folder, METRIC_DIRECTIONS)
    async with aclosing(Worker()) as worker:
        return await worker.grade(snapshot.path, snapshot.card, file)

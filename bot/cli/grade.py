"""`bot grade`: grade one submission file against a snapshot."""

import asyncio
from contextlib import aclosing
from pathlib import Path
from typing import Annotated, Any

import typer

from bot.cli.output import number, print_json, print_table
from bot.evaluation.directions import METRIC_DIRECTIONS
from bot.evaluation.worker import Worker
from scrapers.snapshot import Snapshot


def grade(
    snapshot: Annotated[Path, typer.Argument(help="the snapshot's folder")],
    file: Annotated[Path, typer.Argument(help="the submission file")],
    json: Annotated[bool, typer.Option("--json", help="print the report as one JSON object")] = False,
) -> None:
    """Grade a submission file: validity with reasons, score, medals, win rate.

    Exits with 1 where the file is not a valid submission.

    Example: bot grade snapshots/spooky-author-identification submission.csv
    """
    loaded = Snapshot.load(snapshot, METRIC_DIRECTIONS)
    report = asyncio.run(_grade(loaded, file))
    if json:
        print_json(report)
    else:
        _print(report)
    if not report["valid_submission"]:
        raise typer.Exit(1)


async def _grade(snapshot: Snapshot, file: Path) -> dict[str, Any]:
    async with aclosing(Worker()) as worker:
        report: dict[str, Any] = await worker.call(
            "grade",
            snapshot_dir=str(snapshot.path),
            card=snapshot.card.model_dump(mode="json"),
            submission_path=str(file),
        )
    return report


def _print(report: dict[str, Any]) -> None:
    if not report["valid_submission"]:
        typer.echo(f"not valid: {report['message']}")
        return
    medal = next((m for m in ("gold", "silver", "bronze") if report[f"{m}_medal"]), "none")
    rows = [
        ("score", number(report["score"], 6)),
        *([("grader", report["grader"])] if report["grader"] != "registry" else []),
        ("medal", medal),
        *((f"{m} line", number(report[f"{m}_threshold"], 6)) for m in ("gold", "silver", "bronze", "median")),
        ("above median", "yes" if report["above_median"] else "no"),
        ("win rate", f"{report['win_rate']:.1%} of {report['n_teams']} teams"),
    ]
    print_table(("", report["competition_id"]), rows)

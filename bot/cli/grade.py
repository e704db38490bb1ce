"""`bot grade`: grade one submission file or a list of them against snapshots, or average over reports."""

import asyncio
from contextlib import aclosing
from pathlib import Path
from typing import Annotated

import typer

from bot.cli.grade_many import average, grade_list
from bot.cli.options import Json
from bot.cli.output import number, print_json, print_table
from bot.evaluation.answers import Grade
from bot.evaluation.client.worker import Worker
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from scrapers.snapshots.snapshot import Snapshot
from state.errors import UsageError


def grade(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[SNAPSHOT FILE]", help="a snapshot's folder and a submission file; with --aggregate, reports"
        ),
    ] = None,
    submissions: Annotated[
        Path | None,
        typer.Option(help="grade everything in this list: lines of JSON with competition_id and submission_path"),
    ] = None,
    snapshots: Annotated[
        Path | None, typer.Option(help="the folder with the snapshots of the list's competitions")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="the folder for the list's grading report")] = None,
    aggregate: Annotated[
        bool, typer.Option("--aggregate", help="average over the seeds in grading reports, as MLE-bench does")
    ] = False,
    split: Annotated[
        Path | None,
        typer.Option(help="file with the competitions to average over, one per line; default: all in the reports"),
    ] = None,
    pad_missing: Annotated[
        bool,
        typer.Option("--pad-missing", help="count a missing report as no submission instead of leaving out its seed"),
    ] = False,
    json: Json = False,
) -> None:
    """Grade a submission file: validity with reasons, score, medals, win rate. Or a list of files for many competitions.

    Exits with 1 if the file is not a valid submission; for a list, if none is valid or one could not be graded.

    Example: bot grade snapshots/spooky-author-identification submission.csv

    Example: bot grade --submissions list.jsonl --snapshots snapshots --out reports

    Example: bot grade --aggregate reports/*.json --split low.txt
    """
    given = paths or []
    if submissions is not None:
        if given or aggregate or snapshots is None or out is None or split is not None or pad_missing:
            raise UsageError(
                "To grade a list, give --submissions LIST --snapshots FOLDER --out FOLDER, and nothing else."
            )
        usable = grade_list(submissions, snapshots, out, json=json)
    elif aggregate:
        if not given or snapshots is not None or out is not None:
            raise UsageError(
                "To average reports, give --aggregate REPORT..., and --split FILE for the competitions of a split."
            )
        average(given, split, pad_missing=pad_missing, json=json)
        usable = True
    else:
        if len(given) != 2 or snapshots is not None or out is not None or split is not None or pad_missing:
            raise UsageError("Name a snapshot's folder and a submission file; --submissions LIST grades many.")
        usable = _grade_one(given[0], given[1], json=json)
    if not usable:
        raise typer.Exit(1)


def _grade_one(snapshot: Path, file: Path, *, json: bool) -> bool:
    report = asyncio.run(_grade(Snapshot.load(snapshot, METRIC_DIRECTIONS), file))
    if json:
        print_json(report.model_dump(mode="json"))
    else:
        _print(report)
    return report.valid_submission


async def _grade(snapshot: Snapshot, file: Path) -> Grade:
    async with aclosing(Worker()) as worker:
        return await worker.grade(snapshot.path, snapshot.card, file)


def _print(report: Grade) -> None:
    if not report.valid_submission:
        typer.echo(f"not valid: {report.message}")
        return
    rows = [
        ("score", number(report.score, 6)),
        *([("grader", report.grader)] if report.grader != "registry" else []),
        ("medal", report.medal or "none"),
        *((f"{name} line", number(value, 6)) for name, value in report.thresholds.items()),
        ("above median", "yes" if report.above_median else "no"),
        ("win rate", f"{report.win_rate:.1%} of {report.n_teams} teams"),
    ]
    print_table(("", report.competition_id), rows)

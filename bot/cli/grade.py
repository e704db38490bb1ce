"""`bot grade`: grade one submission file or a list of them against snapshots, or average over reports."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

import typer

from bot.cli.options import Json
from bot.cli.output import Say, number, print_json, print_table, progress_line
from bot.evaluation.answers import Grade
from bot.evaluation.batches.aggregate import ASKED_FOR, aggregate, read_reports, read_split
from bot.evaluation.batches.grade_many import GradedList, find_snapshots, grade_many, write_report
from bot.evaluation.batches.submission_list import read_list
from bot.evaluation.client.worker import Worker
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from scrapers.snapshots.snapshot import Snapshot
from state.clock import SystemClock
from state.errors import UsageError

_FLAGS = ("submission_exists", "valid_submission", "gold_medal", "silver_medal", "bronze_medal", "above_median")


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


def grade_list(submissions: Path, snapshots: Path, out: Path, *, json: bool) -> bool:
    """Grade a list, write its report to `out`, and print it; returns whether all were graded and at least one is valid.

    Raises:
        UsageError: the list is wrong, or one of its competitions has no snapshot; nothing was graded.
    """
    listed = read_list(submissions)
    found = find_snapshots(listed, snapshots)

    async def work(say: Say) -> GradedList:
        async with aclosing(Worker()) as worker:
            return await grade_many(listed, found, worker, say)

    with progress_line() as say:
        graded = asyncio.run(work(say))
    summary = graded.summary()
    path = write_report(summary, out, SystemClock().now())
    for line in (*_invalid(graded), f"report: {path}"):
        typer.echo(line, err=True)
    if json:
        print_json(summary)
    else:
        _print_many(graded.reports)
    return bool(summary["total_valid_submissions"]) and not graded.failures


def average(reports: Sequence[Path], split: Path | None, *, pad_missing: bool, json: bool) -> None:
    """Print means and standard errors over the seeds in grading reports.

    Raises:
        UsageError: a file cannot be read, or there is no complete seed.
    """
    rows = read_reports(reports)
    competitions = sorted({row.competition_id for row in rows}) if split is None else read_split(split)
    result = aggregate(rows, competitions, pad_missing=pad_missing)
    if left := sum(row.competition_id in competitions for row in rows) - _used(result, rows, competitions, pad_missing):
        why = f"{left} of {len(rows)} reports are left out, as their seeds are missing for some competitions"
        typer.echo(f"{why}; --pad-missing counts a missing report as no submission.", err=True)
    if (seeds := result["num_seeds_averaged"]) < ASKED_FOR:
        typer.echo(f"{seeds} seeds are few: MLE-bench asks for {ASKED_FOR} or more.", err=True)
    if json:
        print_json(result)
        return
    shown = [
        (name.removesuffix("_percentage").replace("_", " "), f"{one['mean']:.2f} ± {one['standard_error']:.2f} %")
        for name, one in result["metrics"].items()
        if name.endswith("_percentage")
    ]
    typer.echo(f"{seeds} seeds of {result['num_competitions_per_seed']} competitions")
    print_table(("", "mean ± standard error"), shown)


def _used(result: Mapping[str, Any], rows: Sequence[Any], competitions: Sequence[str], pad_missing: bool) -> int:
    """Return how many reports are in the means."""
    if pad_missing:
        return sum(row.competition_id in competitions for row in rows)
    return int(result["num_seeds_averaged"]) * len(competitions)


def _invalid(graded: GradedList) -> Iterator[str]:
    for one in graded.reports:
        if not one.valid_submission:
            path = "no file" if one.submission_path == "None" else one.submission_path
            yield f"not valid: {one.competition_id}, {path}: {one.message}"
    for failure in graded.failures:
        yield f"not graded: {failure.competition_id}, {failure.submission_path}: {failure.message}"


def _print_many(reports: Sequence[Grade]) -> None:
    by_id: dict[str, list[Grade]] = {}
    for report in reports:
        by_id.setdefault(report.competition_id, []).append(report)
    rows = [_row(competition, of) for competition, of in by_id.items()]
    if len(rows) > 1:
        rows.append(_row("all", reports))
    print_table(("", "runs", "sent", "valid", "gold", "silver", "bronze", "above median", "win rate"), rows)


def _row(name: str, reports: Sequence[Grade]) -> list[str]:
    counts = [str(sum(getattr(one, flag) for one in reports)) for flag in _FLAGS]
    return [name, str(len(reports)), *counts, f"{fmean(one.win_rate for one in reports):.1%}"]

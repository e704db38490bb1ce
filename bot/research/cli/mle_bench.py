"""`bot mle-bench`: grade lists of submissions, and average over seeds, as MLE-bench does."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

import typer

from bot.cli.options import Json
from bot.cli.output import Say, print_json, print_table, progress_line
from bot.evaluation.answers import GradeReport
from bot.evaluation.client.worker import Worker
from bot.research.grading.aggregate import ASKED_FOR, aggregate, read_reports, read_split
from bot.research.grading.grade_many import GradedList, find_snapshots, grade_many, write_report
from bot.research.grading.submission_list import read_list
from state.clock import SystemClock

_FLAGS = ("submission_exists", "valid_submission", "gold_medal", "silver_medal", "bronze_medal", "above_median")

mle_bench_app = typer.Typer(
    name="mle-bench", help="Grade as MLE-bench does: lists of submissions, and means over seeds.", no_args_is_help=True
)


@mle_bench_app.command("grade")
def grade_submissions(
    submissions: Annotated[Path, typer.Argument(help="lines of JSON with competition_id and submission_path")],
    snapshots: Annotated[Path, typer.Option(help="the folder with the snapshots of the list's competitions")],
    out: Annotated[Path, typer.Option(help="the folder for the grading report")],
    json: Json = False,
) -> None:
    """Grade a list of submission files for many competitions, as MLE-bench does.

    Exits with 1 if none is valid or one could not be graded.

    Example: bot mle-bench grade list.jsonl --snapshots snapshots --out reports
    """
    submission_list = read_list(submissions)
    folders = find_snapshots(submission_list, snapshots)

    async def work(say: Say) -> GradedList:
        async with aclosing(Worker()) as worker:
            return await grade_many(submission_list, folders, worker, say)

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
    if not summary["total_valid_submissions"] or graded.failures:
        raise typer.Exit(1)


@mle_bench_app.command()
def average(
    reports: Annotated[list[Path], typer.Argument(help="grading reports")],
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
    """Average over the seeds in grading reports, as MLE-bench does: means and standard errors.

    Example: bot mle-bench average reports/*.json --split low.txt
    """
    rows = read_reports(reports)
    competitions = sorted({row.competition_id for row in rows}) if split is None else read_split(split)
    result = aggregate(rows, competitions, pad_missing=pad_missing)
    if unused := sum(row.competition_id in competitions for row in rows) - _count_used(
        result, rows, competitions, pad_missing
    ):
        reason = f"{unused} of {len(rows)} reports are left out, as their seeds are missing for some competitions"
        typer.echo(f"{reason}; --pad-missing counts a missing report as no submission.", err=True)
    if (seeds := result["num_seeds_averaged"]) < ASKED_FOR:
        typer.echo(f"{seeds} seeds are few: MLE-bench asks for {ASKED_FOR} or more.", err=True)
    if json:
        print_json(result)
        return
    rows_shown = [
        (name.removesuffix("_percentage").replace("_", " "), f"{metric['mean']:.2f} ± {metric['standard_error']:.2f} %")
        for name, metric in result["metrics"].items()
        if name.endswith("_percentage")
    ]
    typer.echo(f"{seeds} seeds of {result['num_competitions_per_seed']} competitions")
    print_table(("", "mean ± standard error"), rows_shown)


def _count_used(result: Mapping[str, Any], rows: Sequence[Any], competitions: Sequence[str], pad_missing: bool) -> int:
    """Return how many reports are in the means."""
    if pad_missing:
        return sum(row.competition_id in competitions for row in rows)
    return int(result["num_seeds_averaged"]) * len(competitions)


def _invalid(graded: GradedList) -> Iterator[str]:
    for report in graded.reports:
        if not report.valid_submission:
            path = "no file" if report.submission_path == "None" else report.submission_path
            yield f"not valid: {report.competition_id}, {path}: {report.message}"
    for failure in graded.failures:
        yield f"not graded: {failure.competition_id}, {failure.submission_path}: {failure.message}"


def _print_many(reports: Sequence[GradeReport]) -> None:
    by_id: dict[str, list[GradeReport]] = {}
    for report in reports:
        by_id.setdefault(report.competition_id, []).append(report)
    rows = [_row(competition, reports_of) for competition, reports_of in by_id.items()]
    if len(rows) > 1:
        rows.append(_row("all", reports))
    print_table(("", "runs", "sent", "valid", "gold", "silver", "bronze", "above median", "win rate"), rows)


def _row(name: str, reports: Sequence[GradeReport]) -> list[str]:
    counts = [str(sum(getattr(r, flag) for r in reports)) for flag in _FLAGS]
    return [name, str(len(reports)), *counts, f"{fmean(r.win_rate for r in reports):.1%}"]

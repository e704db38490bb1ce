"""`bot compare`: who is better, over finished replays."""

import textwrap
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from bot.cli.options import Json
from bot.cli.output import print_json, print_table
from bot.research.compare.comparison import Comparison, Pair
from bot.research.compare.comparison import compare as compared
from bot.research.compare.page import render
from bot.research.compare.runs import grading_reports, read_runs
from bot.research.compare.table import outcomes_table, spent_table
from bot.research.compare.verdict import conclusion, interval, percentage, points, verdict
from bot.research.grading.grade_many import report_text
from state.errors import UsageError
from state.words import plural

_WIDTH = 80


def compare(
    runs: Annotated[list[Path], typer.Argument(help="folders of finished replays, or folders with such")],
    html: Annotated[
        Path | None, typer.Option(help="write one self-contained page with figures, curves and tables")
    ] = None,
    reports: Annotated[
        Path | None,
        typer.Option(help="a folder for MLE-bench's grading reports: one for each agent and seed, to be averaged"),
    ] = None,
    json: Json = False,
) -> None:
    """Compare agents over finished replays: paired by competition and seed, with intervals and what can be concluded.

    Example: bot compare runs --html comparison.html
    """
    read = read_runs(runs)
    found = compared(read)
    if html is not None:
        _write(html, render(found))
    if reports is not None:
        for path, report in grading_reports(read).items():
            _write(reports / path, report_text(report))
    if json:
        print_json(_record(found))
    else:
        print_comparison(found)


def print_comparison(found: Comparison) -> None:
    """Print who wins and how surely, the agents' figures, and the leader's pairs."""
    for sentence in (verdict(found), conclusion(found)):
        typer.echo(textwrap.fill(sentence, _WIDTH))
    for table in (outcomes_table(found), spent_table(found)):
        print_table(("agent", *table.columns), [(name, *cells) for name, cells in table.rows], width=_WIDTH)
    if found.against_leader:
        columns = ("pair", "teams beaten, points (95%)", "by chance", "settled", "pairs")
        print_table(columns, [_row(found, pair) for pair in found.against_leader], width=_WIDTH)
    if more := len(found.pairs) - len(found.against_leader):
        typer.echo(f"{plural(more, 'more pair')} without the leader: --html or --json")
    for caution in found.cautions:
        typer.echo(textwrap.fill(f"{caution}.", _WIDTH))


def _row(found: Comparison, pair: Pair) -> tuple[str, ...]:
    it = pair.win_rate
    within = f" ({interval(it)})" if interval(it) else ""
    return (
        f"{found.title(pair.one)} over {found.title(pair.other)}",
        f"{points(it.mean)}{within}",
        percentage(pair.chance),
        "yes" if pair.settled else "no",
        f"{it.pairs} on {it.competitions}",
    )


def _record(found: Comparison) -> dict[str, Any]:
    """Return what `--json` prints."""
    return {
        "verdict": verdict(found),
        "conclusion": conclusion(found),
        "cautions": list(found.cautions),
        "agents": [asdict(row) for row in found.rows],
        "pairs": [
            {
                "one": asdict(pair.one),
                "other": asdict(pair.other),
                "win_rate": asdict(pair.win_rate),
                "any_medal": asdict(pair.medals),
                "chance": pair.chance,
                "settled": pair.settled,
            }
            for pair in found.pairs
        ],
    }


def _write(file: Path, text: str) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror or error}") from error

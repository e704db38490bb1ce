"""`bot compare`: who is better, over finished replays."""

import textwrap
from dataclasses import asdict
from json import dumps as json_text
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
    comparison = compared(read)
    if html is not None:
        _write(html, render(comparison))
    if reports is not None:
        for path, report in grading_reports(read).items():
            _write(reports / path, json_text(report, indent=2, allow_nan=False) + "\n")
    if json:
        print_json(_record(comparison))
    else:
        print_comparison(comparison)


def print_comparison(comparison: Comparison) -> None:
    """Print who wins and how surely, the agents' figures, and the leader's pairs."""
    for sentence in (verdict(comparison), conclusion(comparison)):
        typer.echo(textwrap.fill(sentence, _WIDTH))
    for table in (outcomes_table(comparison), spent_table(comparison)):
        print_table(("agent", *table.columns), [(name, *cells) for name, cells in table.rows], width=_WIDTH)
    if comparison.against_leader:
        columns = ("pair", "teams beaten, points (95%)", "p", "significant", "pairs")
        print_table(columns, [_row(comparison, pair) for pair in comparison.against_leader], width=_WIDTH)
    if hidden_pairs := len(comparison.pairs) - len(comparison.against_leader):
        typer.echo(f"{plural(hidden_pairs, 'more pair')} without the leader: --html or --json")
    for caution in comparison.cautions:
        typer.echo(textwrap.fill(f"{caution}.", _WIDTH))


def _row(comparison: Comparison, pair: Pair) -> tuple[str, ...]:
    it = pair.win_rate
    within = f" ({interval(it)})" if interval(it) else ""
    return (
        f"{comparison.title(pair.one)} over {comparison.title(pair.other)}",
        f"{points(it.mean)}{within}",
        percentage(pair.chance),
        "yes" if pair.settled else "no",
        f"{it.pairs} on {it.competitions}",
    )


def _record(comparison: Comparison) -> dict[str, Any]:
    """Return what `--json` prints."""
    return {
        "verdict": verdict(comparison),
        "conclusion": conclusion(comparison),
        "cautions": list(comparison.cautions),
        "agents": [asdict(row) for row in comparison.rows],
        "pairs": [
            {
                "one": asdict(pair.one),
                "other": asdict(pair.other),
                "win_rate": asdict(pair.win_rate),
                "any_medal": asdict(pair.medals),
                "chance": pair.chance,
                "settled": pair.settled,
            }
            for pair in comparison.pairs
        ],
    }


def _write(file: Path, text: str) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror or error}") from error

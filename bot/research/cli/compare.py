"""`bot compare`: who is better, over finished replays."""

from dataclasses import asdict
from json import dumps as json_text
from pathlib import Path
from textwrap import TextWrapper
from typing import Annotated, Any

import typer

from bot.cli.options import Json
from bot.cli.output import print_json, print_table
from bot.research.compare.comparison import Comparison, Pair, Planned
from bot.research.compare.comparison import compare as compared
from bot.research.compare.page import outcomes_table, render, spent_table
from bot.research.compare.papers import paper_tables
from bot.research.compare.runs import grading_reports, read_runs
from bot.research.compare.verdict import competitions_needed, conclusion, interval, percentage, points, verdict
from state.errors import UsageError

_WIDTH = 80
_PARAGRAPH = TextWrapper(_WIDTH, break_long_words=False, break_on_hyphens=False)


def compare(
    runs: Annotated[list[Path], typer.Argument(help="folders of finished replays, or folders that contain them")],
    html: Annotated[Path | None, typer.Option(help="write the comparison to this self-contained HTML page")] = None,
    reports: Annotated[
        Path | None, typer.Option(help="write MLE-bench grading reports to this folder, one per agent and seed")
    ] = None,
    plan: Annotated[Path | None, typer.Option(help="test only the pairs under `comparisons` in this plan")] = None,
    json: Json = False,
) -> None:
    """Compare agents over finished replays, paired by competition and seed.

    Example: bot compare runs --html comparison.html
    """
    read = read_runs(runs)
    comparison = compared(read, *(() if plan is None else _planned(plan)))
    if html is not None:
        _write(html, render(comparison))
    if reports is not None:
        for path, report in grading_reports(read).items():
            _write(reports / path, json_text(report, indent=2, allow_nan=False) + "\n")
    if json:
        print_json(_record(comparison))
    else:
        print_comparison(comparison)


def _planned(plan: Path) -> tuple[Planned, int]:
    from bot.configuration.reading import read_toml  # here: without a plan they are not needed, and slow to load
    from bot.research.bench.plan import BenchPlan, contradictions

    return (bench := read_toml(plan, BenchPlan, contradictions)[0]).compared_pairs, bench.comparison_count


def print_comparison(comparison: Comparison) -> None:
    """Print who is better and how surely, the agents' figures, each pair, and the papers' tables."""
    for sentence in (verdict(comparison), conclusion(comparison)):
        typer.echo(_PARAGRAPH.fill(sentence))
    for figures, agents in (outcomes_table(comparison), spent_table(comparison)):
        print_table(("agent", *figures), [(name, *cells) for name, cells in agents], width=_WIDTH)
    if comparison.pairs:
        columns = ("pair", "teams beaten, points (95%)", "p", "significant", "needs", "pairs")
        print_table(columns, [_row(comparison, pair) for pair in comparison.pairs], width=_WIDTH)
    for paper in paper_tables(comparison):
        marks = [f"{name} [{mark}]" if mark else name for name, mark in paper.columns]
        rows = [(f"{row[0]} [{mark}]" if mark else row[0], *row[1:]) for mark, row in paper.rows]
        print_table(marks, rows, paper.title, width=_WIDTH)
        typer.echo(_PARAGRAPH.fill(f"{paper.note} Published: {paper.source}."))
    for caution in comparison.cautions:
        typer.echo(_PARAGRAPH.fill(f"{caution}."))


def _row(comparison: Comparison, pair: Pair) -> tuple[str, ...]:
    difference = pair.win_rate
    within = f" ({interval(difference)})" if interval(difference) else ""
    return (
        f"{comparison.label(pair.first)} over {comparison.label(pair.second)}",
        f"{points(difference.mean)}{within}",
        percentage(pair.chance) if within else "–",
        "yes" if pair.settled else "no",
        competitions_needed(comparison, pair),
        f"{difference.pairs} on {difference.competitions}",
    )


def _record(comparison: Comparison) -> dict[str, Any]:
    return {
        "verdict": verdict(comparison),
        "conclusion": conclusion(comparison),
        "cautions": list(comparison.cautions),
        "agents": [asdict(row) for row in comparison.rows],
        "pairs": [
            {
                "one": asdict(pair.first),
                "other": asdict(pair.second),
                "win_rate": asdict(pair.win_rate),
                "any_medal": asdict(pair.medals),
                "chance": pair.chance,
                "settled": pair.settled,
                "competitions_needed": pair.win_rate.competitions_needed(comparison.comparisons),
            }
            for pair in comparison.pairs
        ],
    }


def _write(file: Path, text: str) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror or error}") from error

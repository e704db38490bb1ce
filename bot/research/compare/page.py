"""A comparison as one self-contained page: a sentence and one picture first, then tables, curves and the papers' layouts."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from bot.report import words
from bot.report.result import RunResult
from bot.report.templates import page_environment
from bot.report.words import NO_VALUE, duration, integer, money, percent
from bot.research.compare.comparison import Comparison
from bot.research.compare.figures import Figures, win_rate
from bot.research.compare.papers import paper_tables
from bot.research.compare.plots import curve_charts, difference_chart
from bot.research.compare.verdict import competitions_needed, conclusion, interval, percentage, points, verdict

Columns = tuple[tuple[str, Callable[[Figures], str]], ...]

_OUTCOMES: Columns = (
    ("mean rank", lambda row: f"{row.rank:.2f}"),
    ("teams beaten", lambda row: percent(row.win_rate)),
    ("any medal", lambda row: percent(row.medal, 0)),
    ("above median", lambda row: percent(row.above_median, 0)),
    ("valid", lambda row: percent(row.valid, 0)),
    ("not its own", lambda row: row.substitute),
)
_SPENDING: Columns = (
    ("runs", lambda row: str(row.runs)),
    ("time", lambda row: duration(row.seconds).replace(" s", "\N{NO-BREAK SPACE}s")),
    (
        "time to bronze",
        lambda row: f"{duration(row.seconds_to_bronze)} ({row.bronze} of {row.runs})" if row.bronze else NO_VALUE,
    ),
    ("cost", lambda row: money(row.usd)),
    ("tokens", lambda row: integer(row.tokens)),
)


FiguresTable = tuple[tuple[str, ...], tuple[tuple[str, tuple[str, ...]], ...]]
"""Columns after the name, and a row for each contender, the best first."""


def outcomes_table(comparison: Comparison) -> FiguresTable:
    """Return what each contender reached."""
    return _table(comparison, _OUTCOMES)


def spent_table(comparison: Comparison) -> FiguresTable:
    """Return what a run of each contender took; without columns that nothing is in."""
    idle = {name for name in ("cost", "tokens") if not any(row.tokens for row in comparison.rows)}
    idle |= {name for name in ("time to bronze",) if not any(row.bronze for row in comparison.rows)}
    return _table(comparison, tuple((name, cell) for name, cell in _SPENDING if name not in idle))


def _table(comparison: Comparison, columns: Columns) -> FiguresTable:
    rows = ((comparison.title(row.contender), tuple(cell(row) for _, cell in columns)) for row in comparison.rows)
    return tuple(name for name, _ in columns), tuple(rows)


@dataclass(frozen=True)
class Cell:
    """What a contender reached in a competition."""

    text: str
    note: str
    best: bool


def render(comparison: Comparison) -> str:
    """Return the page; every text of a result is escaped."""
    environment = page_environment(Path(__file__).parent)
    environment.filters["name_of"] = comparison.title
    environment.filters["label_of"] = comparison.label
    return environment.get_template("comparison.html.j2").render(
        comparison=comparison,
        words=words,
        verdict=verdict(comparison),
        conclusion=conclusion(comparison),
        points=points,
        interval=interval,
        percentage=percentage,
        competitions_needed=competitions_needed,
        seeds=sorted({seed for _, seed in comparison.cells}),
        differences=difference_chart(comparison),
        tables=[outcomes_table(comparison), spent_table(comparison)],
        by_competition=[(name, _cells(comparison, name)) for name in comparison.competitions],
        curves=curve_charts(comparison),
        papers=paper_tables(comparison),
    )


def _cells(comparison: Comparison, competition: str) -> list[Cell]:
    cells = [cell for (name, _), cell in sorted(comparison.cells.items()) if name == competition]
    by_contender = [[r for cell in cells for r in cell.get(row.contender, ())] for row in comparison.rows]
    rates = [fmean(map(win_rate, results)) if results else None for results in by_contender]
    best = max(rate for rate in rates if rate is not None)
    return [
        Cell(words.percent(rate), _medals(results), rate == best)
        for rate, results in zip(rates, by_contender, strict=True)
    ]


def _medals(results: list[RunResult]) -> str:
    """Write the medals of some runs, such as `2 silver, 1 bronze`, and how many submitted nothing valid or not their own."""
    kinds = [r.substitute or r.medal or ("" if r.valid_submission else "invalid") for r in results]
    order = ("gold", "silver", "bronze", "invalid", "baseline", "constant")
    return ", ".join(f"{kinds.count(kind)} {kind}" for kind in order if kind in kinds)

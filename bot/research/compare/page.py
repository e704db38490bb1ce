"""A comparison as one self-contained page: a sentence and one picture first, then tables, curves and the papers' layouts."""

from dataclasses import dataclass
from pathlib import Path

from bot.report import words
from bot.report.result import RunResult
from bot.report.templates import page_environment
from bot.research.compare.comparison import Comparison
from bot.research.compare.figures import mean_of, win_rate
from bot.research.compare.papers import paper_tables
from bot.research.compare.plots import curve_charts, difference_chart
from bot.research.compare.table import outcomes_table, spent_table
from bot.research.compare.verdict import competitions_needed, conclusion, interval, percentage, points, verdict
from bot.research.contender import Contender


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
    """Return what each contender reached in a competition, in the order of the rows."""
    by_contender = [_results(comparison, competition, row.contender) for row in comparison.rows]
    rates = [mean_of(results, win_rate) if results else None for results in by_contender]
    best = max(rate for rate in rates if rate is not None)
    return [
        Cell(words.percent(rate), _medals(results), rate == best)
        for rate, results in zip(rates, by_contender, strict=True)
    ]


def _results(comparison: Comparison, competition: str, contender: Contender) -> list[RunResult]:
    cells = (cell for (name, _), cell in sorted(comparison.cells.items()) if name == competition)
    return [result for cell in cells for result in cell.get(contender, ())]


def _medals(results: list[RunResult]) -> str:
    """Write the medals of some runs, such as `2 silver, 1 bronze`, and how many handed in nothing valid, or the baseline."""
    won = [result.medal for result in results if result.medal]
    counts = [f"{won.count(medal)} {medal}" for medal in ("gold", "silver", "bronze") if medal in won]
    baselines = sum(result.baseline_handed_in for result in results)
    invalid = sum(not result.valid_submission for result in results) - baselines
    failures = ((invalid, "invalid"), (baselines, "baseline"))
    return ", ".join([*counts, *(f"{count} {kind}" for count, kind in failures if count)])

"""The figures of each contender as a table."""

from collections.abc import Callable
from dataclasses import dataclass

from bot.report.words import NONE, duration, integer, money, percent
from bot.research.compare.comparison import Comparison
from bot.research.compare.figures import Figures

Columns = tuple[tuple[str, Callable[[Figures], str]], ...]

_OUTCOMES: Columns = (
    ("mean rank", lambda row: f"{row.rank:.2f}"),
    ("teams beaten", lambda row: percent(row.win_rate)),
    ("any medal", lambda row: percent(row.medal, 0)),
    ("above median", lambda row: percent(row.above_median, 0)),
    ("valid", lambda row: percent(row.valid, 0)),
    ("not its own", lambda row: row.not_its_own),
)
_SPENDING: Columns = (
    ("runs", lambda row: str(row.runs)),
    ("not its own", lambda row: row.not_its_own),
    ("time", lambda row: duration(row.seconds)),
    ("time to bronze", lambda row: _bronze(row)),
    ("cost", lambda row: money(row.usd)),
    ("tokens", lambda row: integer(row.tokens)),
)
"""Columns of the CSV file, as `result.json` names them."""


@dataclass(frozen=True)
class FiguresTable:
    """Columns after the name, and a row for each contender, the best first."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]


def outcomes_table(comparison: Comparison) -> FiguresTable:
    """Return what each contender reached."""
    return _table(comparison, _OUTCOMES)


def spent_table(comparison: Comparison) -> FiguresTable:
    """Return what a run of each contender took; without columns that nothing is in."""
    idle = {name for name in ("cost", "tokens") if not any(row.tokens for row in comparison.rows)}
    idle |= {name for name in ("time to bronze",) if not any(row.bronze for row in comparison.rows)}
    return _table(comparison, tuple((name, cell) for name, cell in _SPENDING if name not in idle))


def _table(comparison: Comparison, columns: Columns) -> FiguresTable:
    return FiguresTable(
        tuple(name for name, _ in columns),
        tuple((comparison.title(row.contender), tuple(cell(row) for _, cell in columns)) for row in comparison.rows),
    )


def _bronze(row: Figures) -> str:
    return f"{duration(row.seconds_to_bronze)} ({row.bronze} of {row.runs})" if row.bronze else NONE

"""The progress of a bench: on a terminal tables that are kept up to date, otherwise a line for each run that ends."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from statistics import fmean

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from bot.bench.contender import Contender
from bot.bench.running.bench import Bench, Key, PlannedRun, contender_of
from bot.bench.running.spending import Spent, spent_by
from bot.replay.progress_line import ProgressLine
from bot.replay.run import Show
from bot.replay.several import Failed, Outcome
from bot.report.result import RunResult
from bot.report.words import NONE, duration, money, percent

_COLUMNS = ("runs", "failed", "valid", "teams beaten", "medals", "time", "cost")
_MOST_LINES = 8
"""Runs that are shown at work, and competitions: a terminal has room for no more."""


class BenchProgress:
    """What has come of a bench so far, by contender, and what is done now."""

    def __init__(self, console: Console, bench: Bench) -> None:
        self._console, self._bench = console, bench
        self._models = len({run.settings.model for run in bench.runs}) > 1
        self._results: dict[Contender, list[RunResult | Failed]] = {contender_of(r.settings): [] for r in bench.runs}
        self._now: dict[Key, ProgressLine] = {}
        self._of_competitions: dict[str, list[RunResult | Failed]] = {slug: [] for slug in bench.snapshots}
        self._spent = Spent()
        """By the runs that have ended."""

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Keep the table on the terminal while this lasts, if there is one."""
        if not self._console.is_terminal:
            yield
            return
        with Live(self, console=self._console, refresh_per_second=2):
            yield

    @contextmanager
    def started(self, run: PlannedRun) -> Iterator[Show]:
        """Show the run's progress in a line below the tables; a pipe gets none."""
        line = self._now[run.key] = ProgressLine(self._console, self._title(run))
        # On a pipe a line for each step of each run would be thousands.
        show = Show(line.say if self._console.is_terminal else lambda _: None, line.attach)
        try:
            yield show
        finally:
            del self._now[run.key]

    def ended(self, run: PlannedRun, outcome: Outcome) -> None:
        """Add what came of a run."""
        self._results[contender_of(run.settings)].append(outcome.result)
        self._of_competitions[run.snapshot.card.slug].append(outcome.result)
        self._spent += spent_by(run)
        if not self._console.is_terminal:
            self._console.print(
                f"{self._title(run)}: {_in_words(outcome.result)}", markup=False, highlight=False, soft_wrap=True
            )

    def _title(self, run: PlannedRun) -> str:
        number = self._bench.runs.index(run) + 1
        name = contender_of(run.settings).title(with_model=self._models)
        return f"[{number}/{len(self._bench.runs)}] {run.snapshot.card.slug}, seed {run.settings.seed}: {name}"

    def __rich__(self) -> Group:
        by_agent = {one.title(with_model=self._models): results for one, results in self._results.items()}
        # Competitions may be many: those are shown that are worked on.
        begun = list(dict.fromkeys(slug for slug, _, _ in list(self._now)))[:_MOST_LINES]
        by_competition = {slug: self._of_competitions[slug] for slug in begun}
        lines = list(self._now.values())
        more = [Text(f"and {len(lines) - _MOST_LINES} more")] if len(lines) > _MOST_LINES else []
        tables = [self._table("agent", by_agent, len(self._results))]
        if by_competition:
            tables.append(self._table("competition", by_competition, len(self._of_competitions)))
        return Group(*tables, Text(self._totals()), *lines[:_MOST_LINES], *more)

    def _table(self, what: str, rows: Mapping[str, Sequence[RunResult | Failed]], parts: int) -> Table:
        """Return a table with a row for some of the equal parts of the bench."""
        table = Table(what, *_COLUMNS)
        for column in table.columns[1:]:
            column.justify = "right"
        for name, results in rows.items():
            table.add_row(*map(Text, (name, *_figures(results, len(self._bench.runs) // parts))))
        return table

    def _totals(self) -> str:
        budget = self._bench.plan.budget
        done = sum(map(len, self._results.values()))
        time = "" if budget.time is None else f" of {duration(budget.time)}"
        cost = "" if budget.money is None else f" of {money(budget.money)}"
        return (
            f"{done} of {len(self._bench.runs)} runs, {duration(self._spent.seconds)}{time}, "
            f"{money(self._spent.usd)}{cost} used by them"
        )


def _figures(results: Sequence[RunResult | Failed], planned: int) -> tuple[str, ...]:
    """Return the cells of a row, after its name."""
    found = [one for one in results if isinstance(one, RunResult)]
    costs = [one.llm.cost_usd for one in found if one.llm.cost_usd is not None]
    return (
        f"{len(results)} of {planned}",
        str(len(results) - len(found)),
        str(sum(one.valid_submission for one in found)),
        percent(fmean(one.win_rate for one in found)) if found else NONE,
        str(sum(one.any_medal for one in found)),
        duration(sum(one.wall_seconds for one in found)),
        money(sum(costs)) if len(costs) == len(found) else money(None),
    )


def _in_words(result: RunResult | Failed) -> str:
    if isinstance(result, Failed):
        return f"{result.status}: {result.error}"
    outcome = (
        f"beats {percent(result.win_rate)} of the teams, {result.medal or 'no'} medal"
        if result.valid_submission
        else f"no valid submission: {result.message or result.handed_in_note}"
    )
    return f"{outcome}; {duration(result.wall_seconds)}, {money(result.llm.cost_usd)}"

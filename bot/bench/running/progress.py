"""The progress of a bench: on a terminal a table that is kept up to date, otherwise a line for each run that ends."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from statistics import fmean

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from bot.bench.contender import Contender
from bot.bench.running.bench import Bench, PlannedRun, contender_of
from bot.bench.running.spending import Spent, spent_by
from bot.replay.progress_line import ProgressLine
from bot.replay.run import Show
from bot.replay.several import Failed, Outcome
from bot.report.result import RunResult
from bot.report.words import NONE, duration, money, percent

_COLUMNS = ("agent", "runs", "failed", "valid", "teams beaten", "medals", "time", "cost")


class BenchProgress:
    """What has come of a bench so far, by contender, and what is done now."""

    def __init__(self, console: Console, bench: Bench) -> None:
        self._console, self._bench = console, bench
        self._models = len({run.settings.model for run in bench.runs}) > 1
        self._results: dict[Contender, list[RunResult | Failed]] = {contender_of(r.settings): [] for r in bench.runs}
        self._now: ProgressLine | None = None
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
        """Show the run's progress in one line below the table; without a terminal, only that it has begun."""
        self._now = ProgressLine(self._console, self._title(run))
        # On a pipe a line for each step of each run would be thousands.
        show = Show(self._now.say if self._console.is_terminal else lambda _: None, self._now.attach)
        try:
            yield show
        finally:
            self._now = None

    def ended(self, run: PlannedRun, outcome: Outcome) -> None:
        """Add what came of a run."""
        self._results[contender_of(run.settings)].append(outcome.result)
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
        table = Table(*_COLUMNS)
        for column in table.columns[1:]:
            column.justify = "right"
        each = len(self._bench.runs) // max(1, len(self._results))
        for contender, results in self._results.items():
            table.add_row(*map(Text, (contender.title(with_model=self._models), *_figures(results, each))))
        return Group(table, Text(self._totals()), *((self._now,) if self._now else ()))

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
    """Return the cells of one contender's row, after its name."""
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

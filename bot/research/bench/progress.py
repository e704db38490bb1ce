"""The progress of a bench: on a terminal tables that are kept up to date, otherwise a line for each run that ends."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from statistics import fmean

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from bot.cli.live_view import LiveRuns, Say, print_line
from bot.cli.running import outcome_line
from bot.execution.folder import RunFolder
from bot.replay.run_queue import Failed, RunOutcome
from bot.report.result import RunResult
from bot.report.words import NO_VALUE, duration, money, percent, substitutes
from bot.research.bench.bench import Bench, PlannedRun, contender_of
from bot.research.bench.spending import BenchSpending, spent_by

_COLUMNS = ("runs", "failed", "valid", "teams beaten", "medals", "not its own", "time", "cost")


class BenchProgress:
    """The outcomes of a bench so far, by contender, and its current runs."""

    def __init__(self, console: Console, bench: Bench, *, plain: bool = False) -> None:
        self.live = LiveRuns(console, plain=plain, summary=self._tables)
        self._console, self._bench = console, bench
        self._models = len({run.settings.model for run in bench.runs}) > 1
        self._results: dict[str, list[RunResult | Failed]] = {self._contender(run): [] for run in bench.runs}
        self._spent = BenchSpending()
        """By the runs that have ended."""

    def started(self, run: PlannedRun, folder: RunFolder) -> AbstractContextManager[Say]:
        """Show the run while it is in progress; on a pipe, a line per step of each run would be thousands."""
        return self.live.run(self._title(run), folder, logged=False)

    def record_outcome(self, run: PlannedRun, outcome: RunOutcome) -> None:
        """Add the outcome of a run."""
        self._results[self._contender(run)].append(outcome.result)
        self._spent += spent_by(run)
        if not self.live.live:
            print_line(self._console, f"{self._title(run)}: {outcome_line(outcome.result)}")

    def _contender(self, run: PlannedRun) -> str:
        return contender_of(run.settings).title(with_model=self._models)

    def _title(self, run: PlannedRun) -> str:
        number = self._bench.runs.index(run) + 1
        slug, seed = run.snapshot.card.slug, run.settings.seed
        return f"[{number}/{len(self._bench.runs)}] {slug}, seed {seed}: {self._contender(run)}"

    def _tables(self) -> Sequence[RenderableType]:
        table = Table("agent", *_COLUMNS)
        for column in table.columns[1:]:
            column.justify = "right"
        for name, results in self._results.items():
            table.add_row(*map(Text, (name, *_figures(results, len(self._bench.runs) // len(self._results)))))
        return table, Text(self._totals())

    def _totals(self) -> str:
        budget, runs = self._bench.plan.budget, len(self._bench.runs)
        finished = sum(map(len, self._results.values()))
        time = "" if budget.time is None else f" of {duration(budget.time)}"
        cost = "" if budget.money is None else f" of {money(budget.money)}"
        return f"{finished} of {runs} runs, used {duration(self._spent.seconds)}{time}, {money(self._spent.usd)}{cost}"


def _figures(results: Sequence[RunResult | Failed], planned: int) -> tuple[str, ...]:
    finished = [r.own_work for r in results if isinstance(r, RunResult)]
    costs = [r.llm.cost_usd for r in finished if r.llm.cost_usd is not None]
    return (
        f"{len(results)} of {planned}",
        str(len(results) - len(finished)),
        str(sum(r.valid_submission for r in finished)),
        percent(fmean(r.win_rate for r in finished)) if finished else NO_VALUE,
        str(sum(r.any_medal for r in finished)),
        substitutes(*(sum(r.substitute == kind for r in finished) for kind in ("baseline", "constant"))),
        duration(sum(r.wall_seconds for r in finished)),
        money(sum(costs)) if len(costs) == len(finished) else money(None),
    )

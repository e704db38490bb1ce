"""The progress of a bench: on a terminal tables that are kept up to date, otherwise a line for each run that ends."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from statistics import fmean

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from bot.replay.progress import MAX_LINES, Progress, print_line
from bot.replay.run import Show
from bot.replay.run_queue import Failed, RunOutcome
from bot.report.result import RunResult
from bot.report.words import NONE, duration, money, percent
from bot.research.bench.bench import Bench, PlannedRun, contender_of
from bot.research.bench.spending import BenchSpending, spent_by

_COLUMNS = ("runs", "failed", "valid", "teams beaten", "medals", "time", "cost")


class BenchProgress(Progress):
    """What has come of a bench so far, by contender, and what is done now."""

    def __init__(self, console: Console, bench: Bench) -> None:
        super().__init__(console)
        self._bench = bench
        self._models = len({run.settings.model for run in bench.runs}) > 1
        self._results: dict[str, list[RunResult | Failed]] = {self._contender(run): [] for run in bench.runs}
        self._of_competitions: dict[str, list[RunResult | Failed]] = {slug: [] for slug in bench.snapshots}
        self._slugs = {self._title(run): run.snapshot.card.slug for run in bench.runs}
        self._spent = BenchSpending()
        """By the runs that have ended."""

    @contextmanager
    def started(self, run: PlannedRun) -> Iterator[Show]:
        """Show the run's progress in a line below the tables; a pipe gets none."""
        with self.line(self._title(run)) as line:
            # On a pipe a line for each step of each run would be thousands.
            yield Show(line.say if self._console.is_terminal else lambda _: None, line.attach)

    def ended(self, run: PlannedRun, outcome: RunOutcome) -> None:
        """Add what came of a run."""
        self._results[self._contender(run)].append(outcome.result)
        self._of_competitions[run.snapshot.card.slug].append(outcome.result)
        self._spent += spent_by(run)
        if not self._console.is_terminal:
            print_line(self._console, f"{self._title(run)}: {_in_words(outcome.result)}")

    def _contender(self, run: PlannedRun) -> str:
        return contender_of(run.settings).title(with_model=self._models)

    def _title(self, run: PlannedRun) -> str:
        number = self._bench.runs.index(run) + 1
        slug, seed = run.snapshot.card.slug, run.settings.seed
        return f"[{number}/{len(self._bench.runs)}] {slug}, seed {seed}: {self._contender(run)}"

    def summary(self) -> Sequence[RenderableType]:
        """Return a row for each contender, and for the competitions that are worked on, as there may be many others."""
        tables = [self._table("agent", self._results, len(self._results))]
        if competitions := dict.fromkeys(self._slugs[title] for title in list(self._lines)[:MAX_LINES]):
            rows = {slug: self._of_competitions[slug] for slug in competitions}
            tables.append(self._table("competition", rows, len(self._of_competitions)))
        return *tables, Text(self._totals())

    def _table(self, title: str, rows: Mapping[str, Sequence[RunResult | Failed]], parts: int) -> Table:
        """Return a table with a row for some of the equal parts of the bench."""
        table = Table(title, *_COLUMNS)
        for column in table.columns[1:]:
            column.justify = "right"
        for name, results in rows.items():
            table.add_row(*map(Text, (name, *_figures(results, len(self._bench.runs) // parts))))
        return table

    def _totals(self) -> str:
        budget, runs = self._bench.plan.budget, len(self._bench.runs)
        finished = sum(map(len, self._results.values()))
        time = "" if budget.time is None else f" of {duration(budget.time)}"
        cost = "" if budget.money is None else f" of {money(budget.money)}"
        return f"{finished} of {runs} runs, {duration(self._spent.seconds)}{time}, {money(self._spent.usd)}{cost} used by them"


def _figures(results: Sequence[RunResult | Failed], planned: int) -> tuple[str, ...]:
    """Return the cells of a row, after its name."""
    finished = [r for r in results if isinstance(r, RunResult)]
    costs = [r.llm.cost_usd for r in finished if r.llm.cost_usd is not None]
    return (
        f"{len(results)} of {planned}",
        str(len(results) - len(finished)),
        str(sum(r.valid_submission for r in finished)),
        percent(fmean(r.win_rate for r in finished)) if finished else NONE,
        str(sum(r.any_medal for r in finished)),
        duration(sum(r.wall_seconds for r in finished)),
        money(sum(costs)) if len(costs) == len(finished) else money(None),
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

"""What runs have used of a bench's budget, and whether it covers the next ones."""

from collections.abc import Container, Iterable
from dataclasses import dataclass

from bot.budgets.kinds import Kind
from bot.budgets.run_budget import total
from bot.replay.prepare import finished_result
from bot.report.words import duration, money
from bot.research.bench.bench import Key, PlannedRun
from bot.research.bench.plan import BenchBudget
from state.errors import InfrastructureFailure
from state.ledgers import read_ledger, read_only

_OVER = 1.05
"""Share of the time that may be used: a run takes a second or two longer, which must not exclude the last run."""
_ROUNDING = 1e-6
"""Tolerance of sums in USD: used and remaining amounts of a run must add up to its limit."""


@dataclass(frozen=True)
class BenchSpending:
    """Wall seconds and USD; spending whose price is unknown is not in it."""

    seconds: float = 0.0
    usd: float = 0.0

    def __add__(self, addend: "BenchSpending") -> "BenchSpending":
        return BenchSpending(self.seconds + addend.seconds, self.usd + addend.usd)


def spent_by(run: PlannedRun) -> BenchSpending:
    """Return what a run has used so far, by its result or else by its ledger.

    If its database cannot be read, its limits count, so that damage never lets others spend more.
    """
    if run.folder is None:
        return BenchSpending()
    if result := finished_result(run.folder):
        return BenchSpending(result.wall_seconds, result.llm.cost_usd or 0.0)
    if not run.folder.database.is_file():
        return BenchSpending()
    try:
        with read_only(run.folder.database) as session:
            ledgers = read_ledger(session)
    except InfrastructureFailure:
        return _limits(run)
    totals = total(ledgers)
    return BenchSpending(totals[Kind.WALL_SECONDS], totals[Kind.MONEY])


def _limits(run: PlannedRun) -> BenchSpending:
    return BenchSpending(run.settings.time, run.settings.budget.money or 0.0)


def reserved(runs: Iterable[PlannedRun], running: Container[Key]) -> BenchSpending:
    """Return the spending of all runs, and for `running` ones their limits, as each may still use all of these."""
    total = BenchSpending()
    for run in runs:
        spending, limits = spent_by(run), _limits(run)
        if run.key in running:
            spending = BenchSpending(max(spending.seconds, limits.seconds), max(spending.usd, limits.usd))
        total += spending
    return total


def left_to_do(runs: Iterable[PlannedRun]) -> list[PlannedRun]:
    """Return the runs that have not finished."""
    return [run for run in runs if run.folder is None or finished_result(run.folder) is None]


def max_needed(runs: Iterable[PlannedRun]) -> BenchSpending:
    """Return the amounts that runs may still use; finished ones use nothing."""
    needed = BenchSpending()
    for run in left_to_do(runs):
        spending, limits = spent_by(run), _limits(run)
        needed += BenchSpending(max(0.0, limits.seconds - spending.seconds), max(0.0, limits.usd - spending.usd))
    return needed


def refusal(budget: BenchBudget, spending: BenchSpending, at_most: BenchSpending) -> str | None:
    """Return why the budget does not cover the next amounts, in a sentence; None: it does."""
    if budget.time is not None and spending.seconds + at_most.seconds > _OVER * budget.time:
        amounts = budget.time, max(0.0, budget.time - spending.seconds), at_most.seconds
        return _short(*map(duration, amounts))
    if budget.money is not None and spending.usd + at_most.usd > budget.money + _ROUNDING:
        return _short(*map(money, (budget.money, max(0.0, budget.money - spending.usd), at_most.usd)))
    return None


def _short(budget: str, remaining: str, at_most: str) -> str:
    return f"the next competition's runs need up to {at_most}, but only {remaining} of the bench's budget of {budget} is left"

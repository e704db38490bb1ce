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
"""Share of the time that may be used: a run takes a second or two beyond its own, which is no reason to leave out the last."""
_ROUNDING = 1e-6
"""USD by which sums may be off: what is left of a run and what it has used are to make up the whole."""


@dataclass(frozen=True)
class Spent:
    """Wall seconds and USD; spending whose price is unknown is not in it."""

    seconds: float = 0.0
    usd: float = 0.0

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(self.seconds + other.seconds, self.usd + other.usd)


def spent_by(run: PlannedRun) -> Spent:
    """Return what a run has used so far, by its result or else by its ledger.

    All that it was given where its database cannot be read, so that what is damaged never lets others spend more.
    """
    if run.folder is None:
        return Spent()
    if result := finished_result(run.folder):
        return Spent(result.wall_seconds, result.llm.cost_usd or 0.0)
    if not run.folder.database.is_file():
        return Spent()
    try:
        with read_only(run.folder.database) as session:
            ledgers = read_ledger(session)
    except InfrastructureFailure:
        return Spent(run.settings.time, run.settings.budget.money or 0.0)
    spent = total(ledgers)
    return Spent(spent[Kind.WALL_SECONDS], spent[Kind.MONEY])


def reserved(runs: Iterable[PlannedRun], under_way: Container[Key]) -> Spent:
    """Return what runs have used, and of those under way what they may use, as each may yet use all of it."""
    total = Spent()
    for run in runs:
        used = spent_by(run)
        if run.key in under_way:
            used = Spent(max(used.seconds, run.settings.time), max(used.usd, run.settings.budget.money or 0.0))
        total += used
    return total


def left_to_do(runs: Iterable[PlannedRun]) -> list[PlannedRun]:
    """Return the runs that have not finished."""
    return [run for run in runs if run.folder is None or finished_result(run.folder) is None]


def most_needed(runs: Iterable[PlannedRun]) -> Spent:
    """Return what runs may use until they have finished; those that have finished use nothing."""
    needed = Spent()
    for run in left_to_do(runs):
        used = spent_by(run)
        seconds, usd = run.settings.time, run.settings.budget.money or 0.0
        needed += Spent(max(0.0, seconds - used.seconds), max(0.0, usd - used.usd))
    return needed


def refusal(budget: BenchBudget, used: Spent, needed: Spent) -> str | None:
    """Return why the budget does not cover what is needed next, in a sentence; None: it does."""
    if budget.time is not None and used.seconds + needed.seconds > _OVER * budget.time:
        return _short(duration(budget.time), duration(max(0.0, budget.time - used.seconds)), duration(needed.seconds))
    if budget.money is not None and used.usd + needed.usd > budget.money + _ROUNDING:
        return _short(money(budget.money), money(max(0.0, budget.money - used.usd)), money(needed.usd))
    return None


def _short(budget: str, left: str, needed: str) -> str:
    return f"of the bench's {budget} {left} are left, and the runs of the next competition may take {needed}"

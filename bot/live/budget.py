"""What live runs may spend: levels for the day, the competition's day, the competition and the run, each within the last."""

from collections.abc import Sequence
from datetime import datetime

from bot.budgets.kinds import Kind
from bot.budgets.levels import Level
from bot.budgets.run_budget import total
from bot.budgets.settings import BudgetSettings
from bot.configuration.competition import CompetitionSettings
from bot.status.accounts import Allowance
from state.clock import Clock, midnight
from state.ledgers import Ledger, read_ledger
from state.store import Store


def open_day(settings: BudgetSettings, store: Store, clock: Clock) -> Level:
    """Return the level of everything spent on a day (UTC by the clock).

    Raises StateUnavailable: the ledger cannot be read now.
    """
    spent_today = _total(_ledgers(store, midnight(clock.now())))
    return Level("day", settings.day, amounts=spent_today, period=lambda: clock.now().date())


def open_run(
    day: Level, settings: BudgetSettings, configured: CompetitionSettings, store: Store, run_id: str, competition: str
) -> Level:
    """Return the level of a run, within those of its competition and of the day; raises what `open_day` raises."""
    ever = [ledger for ledger in _ledgers(store, None) if ledger.competition == competition]
    today = [ledger for ledger in _ledgers(store, midnight(store.clock.now())) if ledger.competition == competition]
    allowance = Allowance(settings, {competition: configured})
    of_day, of_all = allowance.caps("competition day", competition), allowance.caps("competition", competition)
    days = Level(
        f"{competition} day", of_day, amounts=_total(today), period=lambda: store.clock.now().date(), around=day
    )
    whole_level = Level(f"competition {competition}", of_all, amounts=_total(ever), around=days)
    return Level(
        "run",
        configured.budget,
        amounts=_total([ledger for ledger in ever if ledger.run_id == run_id]),
        around=whole_level,
    )


def _ledgers(store: Store, since: datetime | None) -> list[Ledger]:
    with store.read() as session:
        return read_ledger(session, since)


def _total(ledgers: Sequence[Ledger]) -> dict[Kind, float]:
    # The clock's days may be shorter than the machine's, so wall time does not measure a daemon.
    return {**total(ledgers), Kind.WALL_SECONDS: 0.0}

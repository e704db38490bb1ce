"""What live runs may spend: levels for the day, the competition's day, the competition and the run, each within the last."""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import date, datetime

from bot.budgets.kinds import Kind
from bot.budgets.levels import Level
from bot.budgets.run_budget import used
from bot.budgets.settings import BudgetSettings, Caps
from bot.configuration.competition import CompetitionSettings
from bot.status.accounts import Allowance, midnight
from state.clock import Clock
from state.ledgers import Ledger, read_ledger
from state.store import Store

_KINDS = tuple(kind for kind in Kind if kind is not Kind.WALL_SECONDS)
"""The clock's days may be shorter than the machine's, so wall time does not measure a daemon."""


@contextmanager
def open_day(settings: BudgetSettings, store: Store, clock: Clock) -> Iterator[Level]:
    """Open the level of everything spent on a day (UTC by the clock).

    Raises:
        StateUnavailable: the ledger cannot be read now.
    """
    today = _total(_since(store, midnight(clock.now())))
    with closing(Level("day", settings.day, spent=today, period=lambda: clock.now().date())) as level:
        yield level


@contextmanager
def open_run(
    day: Level, settings: BudgetSettings, own: CompetitionSettings, store: Store, run_id: str, competition: str
) -> Iterator[Level]:
    """Open the level of a run, within those of its competition and of the day; raises what `open_day` raises."""
    clock = store.clock
    ever = [one for one in _since(store, None) if one.competition == competition]
    today = [one for one in _since(store, midnight(clock.now())) if one.competition == competition]
    allowance = Allowance(settings, {competition: own})
    own_day, own_all = allowance.caps("competition day", competition), allowance.caps("competition", competition)

    def this_day() -> date:
        return clock.now().date()

    with (
        closing(
            Level(f"day of {competition}", _caps(own_day), spent=_total(today), period=this_day, around=day)
        ) as days,
        closing(Level(f"competition {competition}", _caps(own_all), spent=_total(ever), around=days)) as whole,
        closing(
            Level("run", settings.run, spent=_total([one for one in ever if one.run_id == run_id]), around=whole)
        ) as level,
    ):
        yield level


def _since(store: Store, at: datetime | None) -> list[Ledger]:
    with store.read() as session:
        return read_ledger(session, at)


def _total(ledgers: list[Ledger]) -> Mapping[Kind, float]:
    return {kind: sum(used(one)[kind] for one in ledgers) for kind in _KINDS}


def _caps(found: Mapping[Kind, float | None]) -> Caps:
    return Caps.model_validate({kind.value: cap for kind, cap in found.items()})

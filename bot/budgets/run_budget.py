"""Opening a run's budget: three levels, each with its earlier spending from the ledgers."""

from collections.abc import Callable, Collection
from pathlib import Path

from bot.budgets.kinds import Kind
from bot.budgets.levels import Level
from bot.budgets.settings import BudgetSettings, Caps
from state.clock import Clock, midnight
from state.errors import InfrastructureFailure
from state.ledgers import Ledger, read_ledger, read_only


def open_budget(
    run: Caps,
    settings: BudgetSettings,
    run_id: str,
    competition: str,
    database: Path,
    clock: Clock,
    wall: Callable[[], float],
    say: Callable[[str], None],
) -> Level:
    """Return the level of a run, within those of its competition and of the day.

    What other bots spend meanwhile below the same `--out` is not seen until the next opening.

    Args:
        run: the run's own caps.
        settings: those of all runs.
        database: `<out>/<run id>/state.db`; runs beside its folder count at the wider levels.
        wall: returns the run's wall seconds so far, those before a resume included.
        say: receives a sentence on each ledger that cannot be read, and is left out.

    Raises:
        InfrastructureFailure: the run's own database cannot be read.
    """
    ever, this_day = list[Ledger](), list[Ledger]()
    for other_database in sorted(database.parent.parent.glob(f"*/{database.name}")):
        try:
            with read_only(other_database) as session:
                ledgers, day_ledgers = read_ledger(session), read_ledger(session, midnight(clock.now()))
        except InfrastructureFailure as error:
            if other_database.parent == database.parent:
                raise
            say(f"another run's spending is missing from the competition and day budgets: {error}")
            continue
        ever += ledgers
        this_day += day_ledgers
    # Its own wall time is left to its stopwatch.
    for ledger in (*ever, *this_day):
        if ledger.run_id == run_id:
            ledger.amounts[Kind.WALL_SECONDS] = 0.0

    def wall_today() -> float:
        now = clock.now()
        return min(wall(), (now - midnight(now)).total_seconds())

    measures, today = {Kind.WALL_SECONDS: wall}, lambda: clock.now().date()
    day = Level("day", settings.day, amounts=total(this_day), measures={Kind.WALL_SECONDS: wall_today}, period=today)
    of_competition = [ledger for ledger in ever if ledger.competition == competition]
    around = Level("competition", settings.competition, amounts=total(of_competition), measures=measures, around=day)
    amounts = total([ledger for ledger in of_competition if ledger.run_id == run_id])
    return Level("run", run, amounts=amounts, measures=measures, around=around)


def wall_limit(level: Level, seconds: float) -> float:
    """Return a run's wall seconds to its end, counted from its first start, where levels leave less than `seconds`."""
    rooms = [room for ledger in level.levels if (room := ledger.remaining[Kind.WALL_SECONDS]) is not None]
    return min([seconds, *(level.amount_spent(Kind.WALL_SECONDS) + room for room in rooms)])


def total(ledgers: Collection[Ledger]) -> dict[Kind, float]:
    """Return what several runs have spent, by kind."""
    return {kind: sum(ledger.amounts.get(kind, 0) for ledger in ledgers) for kind in Kind}

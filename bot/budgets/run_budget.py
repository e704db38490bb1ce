"""Opening a run's budget: three levels, each with its earlier spending from the ledgers."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import date, datetime, time
from pathlib import Path

from bot.budgets.kinds import Kind
from bot.budgets.levels import Level
from bot.budgets.settings import BudgetSettings
from state.clock import Clock
from state.errors import InfrastructureFailure
from state.ledgers import Ledger, read_ledger, read_only

DATABASE = "state.db"


@dataclass(frozen=True)
class RunAccount:
    """A run whose budget is opened."""

    id: str
    competition: str
    database: Path
    """`<out>/<run id>/state.db`; runs beside its folder count at the wider levels."""


@contextmanager
def open_budget(
    settings: BudgetSettings, run: RunAccount, clock: Clock, wall: Callable[[], float], say: Callable[[str], None]
) -> Iterator[Level]:
    """Yield the level of a run, within those of its competition and of the day.

    What other bots spend meanwhile below the same `--out` is not seen until the next opening.

    Args:
        settings: the caps.
        run: the run, which must be in its database.
        clock: the source of the current day (UTC).
        wall: returns the run's wall seconds so far, those before a resume included.
        say: receives a sentence on each ledger that cannot be read, and is left out.

    Raises:
        InfrastructureFailure: the run's own database cannot be read.
    """
    midnight = _midnight(clock.now())
    before = _Before()
    for database in sorted(run.database.parent.parent.glob(f"*/{DATABASE}")):
        before.add(database, run, midnight, say)

    def today() -> date:
        return clock.now().date()

    def wall_today() -> float:
        now = clock.now()
        return min(wall(), (now - _midnight(now)).total_seconds())

    with (
        closing(
            Level("day", settings.day, spent=before.day, measured={Kind.WALL_SECONDS: wall_today}, period=today)
        ) as day,
        closing(
            Level(
                "competition",
                settings.competition,
                spent=before.competition,
                measured={Kind.WALL_SECONDS: wall},
                around=day,
            )
        ) as competition,
        closing(
            Level("run", settings.run, spent=before.run, measured={Kind.WALL_SECONDS: wall}, around=competition)
        ) as level,
    ):
        yield level


def wall_limit(level: Level, seconds: float) -> float:
    """Return a run's wall seconds to its end, counted from its first start, where levels leave less than `seconds`."""
    left = [room for one in level.levels if (room := one.remaining[Kind.WALL_SECONDS]) is not None]
    return min([seconds, *(level.spent(Kind.WALL_SECONDS) + room for room in left)])


class _Before:
    """Earlier spending at each level; the run's own wall time is left to its stopwatch."""

    def __init__(self) -> None:
        self.run = dict.fromkeys(Kind, 0.0)
        self.competition = dict.fromkeys(Kind, 0.0)
        self.day = dict.fromkeys(Kind, 0.0)

    def add(self, database: Path, run: RunAccount, midnight: datetime, say: Callable[[str], None]) -> None:
        """Add what the runs of one database have spent; an unreadable one is reported and left out."""
        try:
            with read_only(database) as session:
                all_time, today = read_ledger(session), read_ledger(session, midnight)
        except InfrastructureFailure as error:
            if database.parent == run.database.parent:
                raise
            say(f"what a run has spent is left out of the budgets of competition and day: {error}")
            return
        for ledger in all_time:
            if ledger.run_id == run.id:
                _add(self.run, ledger, wall=False)
            if ledger.competition == run.competition:
                _add(self.competition, ledger, wall=ledger.run_id != run.id)
        for ledger in today:
            _add(self.day, ledger, wall=ledger.run_id != run.id)


def used(ledger: Ledger) -> Mapping[Kind, float]:
    """Return a ledger's spending by kind."""
    return {
        Kind.MONEY: ledger.cost_usd,
        Kind.TOKENS: ledger.tokens,
        Kind.CALLS: ledger.calls,
        Kind.GPU_SECONDS: ledger.amounts.get("gpu", 0.0),
        Kind.WALL_SECONDS: ledger.wall_seconds,
        Kind.EXECUTIONS: ledger.amounts.get("execution", 0.0),
        Kind.DISK_BYTES: ledger.amounts.get("disk", 0.0),
        Kind.SUBMISSIONS: ledger.amounts.get("submission", 0.0),
    }


def _add(total: dict[Kind, float], ledger: Ledger, *, wall: bool) -> None:
    for kind, amount in used(ledger).items():
        if wall or kind is not Kind.WALL_SECONDS:
            total[kind] += amount


def _midnight(now: datetime) -> datetime:
    return datetime.combine(now.date(), time(), now.tzinfo)

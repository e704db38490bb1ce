"""Levels of a budget, one within another: what is spent at one counts at all around it, and all must have room."""

from collections.abc import Callable, Mapping
from datetime import date

from bot.budgets.kinds import Kind, by_kind
from bot.budgets.reservation import Held, Reservation
from bot.budgets.settings import Caps

Measured = Mapping[Kind, Callable[[], float]]
"""Kinds that are read off something, such as a stopwatch, instead of being added up."""


class Level:
    """One level: its caps, what is spent, and what is held back for work that is under way.

    All levels that hang together belong to one event loop; nothing in here waits but `async with reserve(...)`.
    """

    def __init__(
        self,
        name: str,
        caps: Caps,
        *,
        spent: Mapping[Kind, float] | None = None,
        measured: Measured | None = None,
        period: Callable[[], date] | None = None,
        around: "Level | None" = None,
    ) -> None:
        """Begin a level; `closing` ends it.

        Args:
            name: how messages call it, such as `day`.
            caps: its caps.
            spent: what was spent before, by kind; it is not counted at the levels around, which are told by themselves.
            measured: kinds that are read off something; added to what `spent` says of them.
            period: returns the day that it is; with a new one, what was spent starts at nothing again.
            around: the level that this one is within.
        """
        self.name = name
        self.caps = caps
        self.levels: tuple[Level, ...] = (self, *(around.levels if around else ()))
        """This level and all around it, the widest last."""
        self.renews = period is not None
        """Whether what is spent is forgotten with each new period."""
        self._spent = dict(spent or {})
        self._measured = dict(measured or {})
        self._period = period
        self._now = period() if period else None
        self._held: dict[int, Held] = {}
        self._waiting: list[Reservation] = []
        self._closed = False

    @property
    def usage(self) -> dict[Kind, float]:
        """What is spent, by kind."""
        return {kind: self.spent(kind) for kind in Kind}

    @property
    def remaining(self) -> dict[Kind, float | None]:
        """What may still be reserved here, by kind: neither spent nor held back; None where there is no cap."""
        caps = {kind: self.caps.of(kind) for kind in Kind}
        return {
            kind: None if cap is None else max(0.0, cap - self.spent(kind) - self.held(kind))
            for kind, cap in caps.items()
        }

    def spent(self, kind: Kind) -> float:
        """Return what is spent of a kind."""
        self._renew()
        measure = self._measured.get(kind)
        return self._spent.get(kind, 0.0) + (measure() if measure else 0.0)

    def held(self, kind: Kind) -> float:
        """Return what is held back of a kind for work that is under way."""
        # Summed anew, so that nothing is left of rounding once all has come back.
        return sum(held.left.get(kind, 0.0) for held in self._held.values())

    def capped(self, kind: Kind) -> bool:
        """Return whether this level, or one around it, has a cap on a kind."""
        return any(level.caps.of(kind) is not None for level in self.levels)

    def reserve(self, **wanted: float) -> Reservation:
        """Return a reservation, to be entered by `with` (refused at once) or `async with` (waits while it may still fit).

        Whoever holds a kind must not wait for more of the same.
        """
        return Reservation(self, by_kind(wanted))

    def spend(self, **amounts: float) -> None:
        """Count what was spent without a reservation."""
        self.count(by_kind(amounts))
        self.retry()

    def count(self, amounts: Mapping[Kind, float]) -> None:
        """Add amounts to what is spent here and at all levels around."""
        for level in self.levels:
            level._renew()
            for kind, amount in amounts.items():
                level._spent[kind] = level._spent.get(kind, 0.0) + amount

    def hold(self, held: Held) -> None:
        """Keep amounts back here and at all levels around."""
        for level in self.levels:
            level._held[id(held)] = held

    def give_back(self, held: Held) -> None:
        """Let go of what is kept back, and let those in who wait for it."""
        for level in self.levels:
            level._held.pop(id(held), None)
        self.retry()

    def wait(self, reservation: Reservation) -> None:
        """Put a reservation into the line."""
        self.levels[-1]._waiting.append(reservation)

    def leave(self, reservation: Reservation) -> None:
        """Take a reservation out of the line."""
        self.levels[-1]._waiting.remove(reservation)

    def retry(self) -> None:
        """Try again, in the order in which they came, what waits at any level within the widest one."""
        for reservation in tuple(self.levels[-1]._waiting):
            reservation.retry()

    def ensure_open(self) -> None:
        """Raise RuntimeError if this level, or one around it, has ended."""
        for level in self.levels:
            if level._closed:
                raise RuntimeError(f"the budget of the {level.name} has ended")

    def close(self) -> None:
        """End the level: nothing can be reserved any more; what was spent can still be read."""
        self._closed = True

    def _renew(self) -> None:
        """Forget what was spent in a period that is over; a clock that is put back renews nothing."""
        if self._period is None or self._now is None:
            return
        now = self._period()
        if now > self._now:
            self._now = now
            self._spent.clear()


def unbounded() -> Level:
    """Return a level without any cap, which only counts."""
    return Level("run", Caps())

"""Nested levels of a budget: spending at one counts at all levels around it, and all must have room."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from types import TracebackType

from bot.budgets.kinds import KNOWN_AFTERWARDS, Kind, by_kind, name, words
from bot.budgets.settings import Caps
from state.errors import BudgetExceeded

Measured = Mapping[Kind, Callable[[], float]]
"""Kinds that are measured, as by a stopwatch, instead of being added up."""


class Held:
    """The reserved amounts of one piece of work; if it spends more, that is counted too."""

    def __init__(self, level: "Level", amounts: Mapping[Kind, float]) -> None:
        self.left = dict(amounts)
        """Amounts still reserved, by kind."""
        self._level = level
        self._over = False

    def spend(self, **amounts: float) -> None:
        """Count spending, which reduces the reservation. Kinds that were not reserved are counted as well.

        Raises:
            RuntimeError: the reservation is over.
        """
        if self._over:
            raise RuntimeError("what was reserved has been given back")
        spent = by_kind(amounts)
        for kind, amount in spent.items():
            if kind in self.left:
                self.left[kind] = max(0.0, self.left[kind] - amount)
        self._level.count(spent)

    def give_back(self) -> None:
        """End the reservation: the rest becomes available again."""
        self._over = True
        self._level.give_back(self)


@dataclass(frozen=True)
class _Refusal:
    """Why a reservation has no room; `final` if it would have none even if all reservations came back unspent."""

    sentence: str
    final: bool
    renews: bool
    """Whether the level starts again with a new period."""

    @property
    def error(self) -> BudgetExceeded:
        """The error to raise."""
        return BudgetExceeded(self.sentence, renews=self.renews)


class Reservation:
    """A request for amounts: a context manager that gives them as `Held`, and releases the unspent rest, however it ends.

    `with` refuses at once what does not fit. `async with` waits for other reservations, and refuses only what would not
    fit if all of them came back unspent; waiting requests are served in order, and a new one that fits need not wait.

    Raises:
        BudgetExceeded: on entering; names the level, its cap, what is spent and what was wanted.
        RuntimeError: the level has ended.
    """

    def __init__(self, level: "Level", wanted: Mapping[Kind, float]) -> None:
        self._level = level
        self._wanted = {kind: amount for kind, amount in wanted.items() if amount > 0}
        self._held: Held | None = None
        self._let_in: asyncio.Future[None] | None = None

    def __enter__(self) -> Held:
        refusal = self._take()
        if refusal is not None:
            raise refusal.error
        return self._taken()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._give_back()

    async def __aenter__(self) -> Held:
        refusal = self._take()
        if refusal is None:
            return self._taken()
        if refusal.final:
            raise refusal.error
        self._let_in = asyncio.get_running_loop().create_future()
        self._level.wait(self)
        try:
            await self._let_in
        except asyncio.CancelledError:
            self._give_back()  # it may have been let in just before
            raise
        finally:
            self._level.leave(self)
        return self._taken()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._give_back()

    def retry(self) -> None:
        """Grant it, or refuse it for good, if released amounts decide that."""
        if self._let_in is None or self._let_in.done():
            return
        try:
            refusal = self._take()
        except RuntimeError as error:
            self._let_in.set_exception(error)
            return
        if refusal is None:
            self._let_in.set_result(None)
        elif refusal.final:
            self._let_in.set_exception(refusal.error)

    def _take(self) -> _Refusal | None:
        """Reserve the amounts at every level, or at none and return why."""
        self._level.ensure_open()
        refusals = [found for level in self._level.levels if (found := self._refusal(level)) is not None]
        if refusals:
            # If one level will never have room, another one's renewal tomorrow does not help.
            return min(refusals, key=lambda refusal: (not refusal.final, refusal.renews))
        self._held = Held(self._level, self._wanted)
        self._level.hold(self._held)
        return None

    def _refusal(self, level: "Level") -> _Refusal | None:
        """Return why one level has no room, None if it has."""
        blocked = None
        for kind in Kind:
            cap, wanted = level.caps.of(kind), self._wanted.get(kind, 0.0)
            if cap is None or not (wanted or kind in KNOWN_AFTERWARDS):
                continue
            spent, held = level.spent(kind), level.held(kind)
            if kind in KNOWN_AFTERWARDS and spent >= cap:
                return _Refusal(f"{_reached(level, kind, cap, spent)}, so nothing more is begun", True, level.renews)
            if spent + wanted > cap:
                return _Refusal(
                    f"{_reached(level, kind, cap, spent)}, and the next step may take {words(kind, wanted)}",
                    True,
                    level.renews,
                )
            if spent + held + wanted > cap:
                under_way = f"{words(kind, held)} are held back for what is under way"
                sentence = f"{_reached(level, kind, cap, spent)}, {under_way}, and the next step may take {words(kind, wanted)}"
                blocked = blocked or _Refusal(sentence, False, level.renews)
        return blocked

    def _taken(self) -> Held:
        if self._held is None:
            raise RuntimeError("nothing is reserved")
        return self._held

    def _give_back(self) -> None:
        if self._held is not None:
            self._held.give_back()
            self._held = None


def _reached(level: "Level", kind: Kind, cap: float, spent: float) -> str:
    return f"the {level.name}'s cap on {name(kind)} is reached: of {words(kind, cap)} {words(kind, spent)} are spent"


class Level:
    """One level: its caps, what is spent, and what is reserved for work in progress.

    All connected levels belong to one event loop; only `async with reserve(...)` waits.
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
            name: its name in messages, such as `day`.
            caps: its caps.
            spent: earlier spending by kind; it is not counted at the levels around, which get their own.
            measured: functions that measure a kind; added to its value in `spent`.
            period: returns the current day; with a new one, spending starts at zero again.
            around: the level that contains this one.
        """
        self.name = name
        self.caps = caps
        self.levels: tuple[Level, ...] = (self, *(around.levels if around else ()))
        """This level and all around it, the widest last."""
        self.renews = period is not None
        """Whether spending is reset with each new period."""
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
        """What may still be reserved here, by kind: neither spent nor reserved; None if there is no cap."""
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

    def share_left(self, *kinds: Kind) -> float | None:
        """Return the least share (0 to 1) of a cap on these kinds that is not spent, here or around; None if there is none.

        A cap that is renewed each day says nothing about how much is left in all.
        """
        capped = [(level, kind, level.caps.of(kind)) for level in self.levels if not level.renews for kind in kinds]
        shares = [1 - level.spent(kind) / cap if cap else 0.0 for level, kind, cap in capped if cap is not None]
        return max(0.0, min(shares)) if shares else None

    def held(self, kind: Kind) -> float:
        """Return the reserved amount of a kind for work in progress."""
        # Summed each time, so that no rounding error is left once all is released.
        return sum(held.left.get(kind, 0.0) for held in self._held.values())

    def capped(self, kind: Kind) -> bool:
        """Return whether this level, or one around it, has a cap on a kind."""
        return any(level.caps.of(kind) is not None for level in self.levels)

    def reserve(self, **wanted: float) -> Reservation:
        """Return a reservation, to be entered by `with` (refused at once) or `async with` (waits while it may still fit).

        A holder of a kind must not wait for more of the same kind.
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
        """Reserve amounts here and at all levels around."""
        for level in self.levels:
            level._held[id(held)] = held

    def give_back(self, held: Held) -> None:
        """Release reserved amounts, and grant waiting reservations."""
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
        """Retry, in their order, the waiting reservations at any level within the widest one."""
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
        """Reset spending if the period is over; a clock that is set back renews nothing."""
        if self._period is None or self._now is None:
            return
        now = self._period()
        if now > self._now:
            self._now = now
            self._spent.clear()


def unbounded() -> Level:
    """Return a level without any cap, which only counts."""
    return Level("run", Caps())

"""Nested levels of a budget: spending at one counts at all around it, which must have room; and the charging of executions."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path

from bot.budgets.kinds import KNOWN_AFTERWARDS, Kind, by_kind, name, words
from bot.budgets.settings import Caps
from sandbox import ExecutionRequest
from state.errors import BudgetExceeded
from state.spending import charge
from state.store import Transaction

Measures = Mapping[Kind, Callable[[], float]]
"""Kinds that are measured, as by a stopwatch, instead of being added up."""


class Reservation:
    """The reserved amounts of one piece of work; if it spends more, that is counted too."""

    def __init__(self, level: "Level", amounts: Mapping[Kind, float]) -> None:
        self.left = dict(amounts)
        """Amounts still reserved, by kind."""
        self._level = level

    def spend(self, **amounts: float) -> None:
        """Count spending, which reduces the reservation. Kinds that were not reserved are counted as well."""
        for kind, amount in by_kind(amounts).items():
            if kind in self.left:
                self.left[kind] = max(0.0, self.left[kind] - amount)
        self._level.spend(**amounts)


@dataclass(frozen=True)
class _Refusal:
    """Why a reservation has no room; `final` if it would have none even if all reservations came back unspent."""

    error: BudgetExceeded
    final: bool


@dataclass(frozen=True)
class _Waiter:
    """A request for amounts that others have reserved."""

    level: "Level"
    amounts: Mapping[Kind, float]
    reservation: asyncio.Future[Reservation]


class Level:
    """One level: its caps, what is spent, and what is reserved for work in progress.

    All connected levels belong to one event loop.
    """

    def __init__(
        self,
        name: str,
        caps: Caps,
        *,
        amounts: Mapping[Kind, float] | None = None,
        measures: Measures | None = None,
        period: Callable[[], date] | None = None,
        around: "Level | None" = None,
    ) -> None:
        """Begin a level.

        Args:
            amounts: earlier spending by kind; it is not counted at the levels around, which get their own.
            measures: functions that measure a kind; added to its value in `amounts`.
            period: returns the current day; with a new one, spending starts at zero again.
            around: the level that contains this one.
        """
        self.name = name
        self.caps = caps
        self.levels: tuple[Level, ...] = (self, *(around.levels if around else ()))
        """This level and all around it, the widest last."""
        self.renews = period is not None
        """Whether spending is reset with each new period."""
        self._spent = dict(amounts or {})
        self._measured = dict(measures or {})
        self._period = period
        self._now = period() if period else None
        self._reservations: dict[int, Reservation] = {}
        self._waiting: list[_Waiter] = []
        """Requests at any level within this one, if it is the widest."""

    @property
    def usage(self) -> dict[Kind, float]:
        """What is spent, by kind."""
        return {kind: self.amount_spent(kind) for kind in Kind}

    @property
    def remaining(self) -> dict[Kind, float | None]:
        """What may still be reserved here, by kind: neither spent nor reserved; None if there is no cap."""
        caps = {kind: self.caps.cap_of(kind) for kind in Kind}
        return {
            kind: None if cap is None else max(0.0, cap - self.amount_spent(kind) - self.amount_reserved(kind))
            for kind, cap in caps.items()
        }

    def amount_spent(self, kind: Kind) -> float:
        """Return what is spent of a kind."""
        self._renew()
        measure = self._measured.get(kind)
        return self._spent.get(kind, 0.0) + (measure() if measure else 0.0)

    def share_left(self, *kinds: Kind) -> float | None:
        """Return the least share (0 to 1) of a cap on these kinds that is not spent, here or around; None if there is none.

        A cap that is renewed each day says nothing about how much is left in all.
        """
        capped = [(level, kind, level.caps.cap_of(kind)) for level in self.levels if not level.renews for kind in kinds]
        shares = [1 - level.amount_spent(kind) / cap if cap else 0.0 for level, kind, cap in capped if cap is not None]
        return max(0.0, min(shares)) if shares else None

    def amount_reserved(self, kind: Kind) -> float:
        """Return the reserved amount of a kind for work in progress."""
        # Summed each time, so that no rounding error is left once all is released.
        return sum(reservation.left.get(kind, 0.0) for reservation in self._reservations.values())

    def capped(self, kind: Kind) -> bool:
        """Return whether this level, or one around it, has a cap on a kind."""
        return any(level.caps.cap_of(kind) is not None for level in self.levels)

    def refusal(self, **amounts: float) -> BudgetExceeded | None:
        """Return why amounts cannot be reserved now; None: they can."""
        refusal = self._refusal(by_kind(amounts))
        return None if refusal is None else refusal.error

    @asynccontextmanager
    async def reserve(self, **amounts: float) -> AsyncIterator[Reservation]:
        """Reserve amounts for a block, and release the unspent rest, however the block ends.

        It waits for other reservations, and refuses only what would not fit if all of them came back unspent. Waiting
        requests are served in order, and a new one that fits need not wait. A holder of a kind must not wait for more of
        the same kind.

        Raises:
            BudgetExceeded: names the level, its cap, what is spent and what was wanted.
        """
        reservation = await self._enter({kind: amount for kind, amount in by_kind(amounts).items() if amount > 0})
        try:
            yield reservation
        finally:
            self._release(reservation)

    def spend(self, **amounts: float) -> None:
        """Add amounts to what is spent here and at all levels around."""
        for level in self.levels:
            level._renew()
            for kind, amount in by_kind(amounts).items():
                level._spent[kind] = level._spent.get(kind, 0.0) + amount
        self.retry()

    def retry(self) -> None:
        """Grant or finally refuse, in their order, the waiting requests at any level within the widest one."""
        for waiter in tuple(self.levels[-1]._waiting):
            if waiter.reservation.done():
                continue
            refusal = waiter.level._refusal(waiter.amounts)
            if refusal is None:
                waiter.reservation.set_result(waiter.level._hold(waiter.amounts))
            elif refusal.final:
                waiter.reservation.set_exception(refusal.error)

    async def _enter(self, amounts: Mapping[Kind, float]) -> Reservation:
        refusal = self._refusal(amounts)
        if refusal is None:
            return self._hold(amounts)
        if refusal.final:
            raise refusal.error
        line, waiter = self.levels[-1]._waiting, _Waiter(self, amounts, asyncio.get_running_loop().create_future())
        line.append(waiter)
        try:
            return await waiter.reservation
        except asyncio.CancelledError:
            if not (waiter.reservation.cancelled() or waiter.reservation.exception()):  # it was granted just before
                self._release(waiter.reservation.result())
            raise
        finally:
            line.remove(waiter)

    def _hold(self, amounts: Mapping[Kind, float]) -> Reservation:
        reservation = Reservation(self, amounts)
        for level in self.levels:
            level._reservations[id(reservation)] = reservation
        return reservation

    def _release(self, reservation: Reservation) -> None:
        for level in self.levels:
            level._reservations.pop(id(reservation), None)
        self.retry()

    def _refusal(self, amounts: Mapping[Kind, float]) -> _Refusal | None:
        """Return why a level, here or around, has no room; None if all have."""
        refusals = [refusal for level in self.levels if (refusal := level._own_refusal(amounts)) is not None]
        # If one level will never have room, another one's renewal tomorrow does not help.
        return min(refusals, key=lambda refusal: (not refusal.final, refusal.error.renews), default=None)

    def _own_refusal(self, amounts: Mapping[Kind, float]) -> _Refusal | None:
        blocked = None
        for kind in Kind:
            cap, amount = self.caps.cap_of(kind), amounts.get(kind, 0.0)
            if cap is None or not (amount or kind in KNOWN_AFTERWARDS):
                continue
            already, reserved = self.amount_spent(kind), self.amount_reserved(kind)
            amounts_spent = f"{words(kind, already)} of {words(kind, cap)} spent"
            reached = f"the {self.name}'s cap on {name(kind)} has been reached: {amounts_spent}"
            error = partial(BudgetExceeded, renews=self.renews)
            if kind in KNOWN_AFTERWARDS and already >= cap:
                return _Refusal(error(f"{reached}, so nothing new is started"), final=True)
            need = f"and the next step may need {words(kind, amount)}"
            if already + amount > cap:
                return _Refusal(error(f"{reached}, {need}"), final=True)
            if already + reserved + amount > cap:
                reservations = f"{words(kind, reserved)} reserved for work in progress"
                blocked = blocked or _Refusal(error(f"{reached}, {reservations}, {need}"), final=False)
        return blocked

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


class ExecutionMeter:
    """The spending of one execution, from its start on."""

    def __init__(self, reservation: Reservation, run_id: str, request: ExecutionRequest, node: int) -> None:
        self._reservation = reservation
        self._run_id = run_id
        self._request = request
        self._node = node
        self._started = time.monotonic()
        self._bytes_before = _folder_bytes(request.out)

    def charge(self, tx: Transaction, seconds: float | None = None) -> None:
        """Charge the execution, its GPUs and disk, in the transaction that ends it; None: the seconds since its start."""
        seconds_taken = time.monotonic() - self._started if seconds is None else seconds
        added_bytes = max(0, _folder_bytes(self._request.out) - self._bytes_before)
        self._reservation.spend(executions=1, disk_bytes=added_bytes)
        charge(tx, self._run_id, "execution", node=self._node, seconds=seconds_taken, amount=1)
        if added_bytes:
            charge(tx, self._run_id, "disk", node=self._node, amount=added_bytes)
        if gpus := len(self._request.lease.gpus):
            self._reservation.spend(gpu_seconds=seconds_taken * gpus)
            charge(tx, self._run_id, "gpu", node=self._node, seconds=seconds_taken, amount=seconds_taken * gpus)


def _folder_bytes(folder: Path) -> int:
    """Return the bytes of the files in a folder; 0 if there is no folder."""
    if not folder.is_dir():
        return 0
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())

"""Reservations: amounts held back at every level, or at none, before they are spent."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING

from bot.budgets.kinds import KNOWN_AFTERWARDS, Kind, by_kind, name, words
from state.errors import BudgetExceeded

if TYPE_CHECKING:
    from bot.budgets.levels import Level


class Held:
    """What one piece of work may spend; it may spend more, which is counted as it is."""

    def __init__(self, level: "Level", amounts: Mapping[Kind, float]) -> None:
        self.left = dict(amounts)
        """What is still held back, by kind."""
        self._level = level
        self._over = False

    def spend(self, **amounts: float) -> None:
        """Count what was spent; so much less is held back. Kinds that were not reserved are counted as well.

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
        """End it: what is left is nobody's again."""
        self._over = True
        self._level.give_back(self)


@dataclass(frozen=True)
class _Refusal:
    """Why a reservation has no room; `final` if it would have none even if all that is held back came back unspent."""

    sentence: str
    final: bool
    renews: bool
    """Whether the level begins anew some day."""

    @property
    def error(self) -> BudgetExceeded:
        """What is raised."""
        return BudgetExceeded(self.sentence, renews=self.renews)


class Reservation:
    """A wish for amounts; a context manager that gives them as `Held`, and takes back what is not spent, however it ends.

    `with` refuses at once what does not fit. `async with` waits for what others hold, and refuses only what would not fit
    if all of that came back unspent; who waits is served in the order of coming, and somebody new who fits need not wait.

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
        """Let it in, or refuse it for good, where what has come back since decides that."""
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
        """Hold the amounts at every level, or at none and say why."""
        self._level.ensure_open()
        refusals = [found for level in self._level.levels if (found := self._refusal(level)) is not None]
        if refusals:
            # Where one level will not have room on any day, what another has tomorrow is no comfort.
            return min(refusals, key=lambda refusal: (not refusal.final, refusal.renews))
        self._held = Held(self._level, self._wanted)
        self._level.hold(self._held)
        return None

    def _refusal(self, level: "Level") -> _Refusal | None:
        """Say why one level has no room, None where it has."""
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
                said = f"{_reached(level, kind, cap, spent)}, {under_way}, and the next step may take {words(kind, wanted)}"
                blocked = blocked or _Refusal(said, False, level.renews)
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

"""The cap on money: a call starts only if what it may cost still fits."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from bot.models import CallLimits, Message, Usage
from bot.models.completion import estimated_tokens
from state.errors import BudgetExceeded, UsageError

Estimate = Callable[[str, Usage], float | None]
"""What so many tokens cost (USD) for a role; None where the price is unknown."""

ASSUMED_ANSWER_TOKENS = 4_000


class MoneyCap:
    """Money spent, and kept back for calls in flight, against a cap in USD; without a cap nothing is refused."""

    def __init__(self, max_cost: float | None, estimate: Estimate, *, spent: float = 0.0) -> None:
        self._max_cost = max_cost
        self._estimate = estimate
        self._spent = spent
        self._reserved = 0.0

    @property
    def left(self) -> float | None:
        """USD that are neither spent nor kept back; None without a cap."""
        return None if self._max_cost is None else self._max_cost - self._spent - self._reserved

    def spend(self, cost_usd: float) -> None:
        """Count what a call took."""
        self._spent += cost_usd

    @contextmanager
    def reserve(self, role: str, messages: Sequence[Message], limits: CallLimits) -> Iterator[None]:
        """Keep back what a call may cost while it is made.

        Raises:
            BudgetExceeded: it does not fit into what is left.
            UsageError: there is a cap and the role's model has no known price.
        """
        amount = self._amount(role, messages, limits)
        left = self.left
        if left is not None and amount > left:
            raise BudgetExceeded(
                f"the money cap of {self._max_cost} USD is reached: {self._spent:.4f} are spent, "
                f"and the next call may cost {amount:.4f}"
            )
        self._reserved += amount
        try:
            yield
        finally:
            self._reserved -= amount

    def _amount(self, role: str, messages: Sequence[Message], limits: CallLimits) -> float:
        if self._max_cost is None:
            return 0.0
        tokens = sum(estimated_tokens(m.content) for m in messages)
        amount = self._estimate(role, Usage(tokens, limits.max_tokens or ASSUMED_ANSWER_TOKENS))
        if amount is None:
            raise UsageError(f"the price of the model for {role} is unknown, so a money cap cannot be kept")
        return amount


def free(role: str, usage: Usage) -> float | None:
    """Return the estimate of a model that costs nothing."""
    return 0.0

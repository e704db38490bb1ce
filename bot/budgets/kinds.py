"""Kinds of spending, and the wording of their amounts."""

import math
from collections.abc import Mapping
from enum import StrEnum


class Kind(StrEnum):
    """A kind of spending, with the unit of its amounts."""

    MONEY = "money"
    """USD."""
    TOKENS = "tokens"
    """New ones: sent and not cached, or received."""
    CALLS = "calls"
    """Calls of a model, failed ones too."""
    GPU_SECONDS = "gpu_seconds"
    """Wall seconds times the GPUs that were held."""
    WALL_SECONDS = "wall_seconds"
    """Seconds in which runs went on; side by side they add up."""
    EXECUTIONS = "executions"
    """Scripts that were started."""
    DISK_BYTES = "disk_bytes"
    """Bytes that executions left in the run's folder."""
    SUBMISSIONS = "submissions"
    """Files that were submitted."""


KNOWN_AFTERWARDS = frozenset({Kind.WALL_SECONDS, Kind.DISK_BYTES})
"""Kinds that nothing reserves: once their cap is spent, nothing further begins."""

_UNITS: Mapping[Kind, str] = {
    Kind.MONEY: "USD",
    Kind.TOKENS: "tokens",
    Kind.CALLS: "model calls",
    Kind.GPU_SECONDS: "GPU seconds",
    Kind.WALL_SECONDS: "seconds",
    Kind.EXECUTIONS: "executions",
    Kind.DISK_BYTES: "MB",
    Kind.SUBMISSIONS: "submissions",
}
_NAMES: Mapping[Kind, str] = {
    Kind.CALLS: "model calls",
    Kind.GPU_SECONDS: "GPU time",
    Kind.WALL_SECONDS: "wall time",
    Kind.DISK_BYTES: "disk space",
}


def by_kind(amounts: Mapping[str, float]) -> dict[Kind, float]:
    """Return amounts by kind. Raises ValueError: a name is no kind's, or an amount is negative or not finite."""
    amount_of = {Kind(name): float(value) for name, value in amounts.items()}
    for kind, amount in amount_of.items():
        if not (math.isfinite(amount) and amount >= 0):
            raise ValueError(f"{amount} is not an amount of {kind}")
    return amount_of


def name(kind: Kind) -> str:
    """Return the kind's name in a sentence, such as `GPU time`."""
    return _NAMES.get(kind, kind.value)


def words(kind: Kind, amount: float) -> str:
    """Return an amount with its unit, such as `0.0214 USD`."""
    if kind is Kind.MONEY:
        return f"{amount:.4f} USD" if amount >= 0.01 else f"{amount:.2g} USD"
    if kind is Kind.DISK_BYTES:
        return f"{amount / 1e6:.1f} MB"
    return f"{amount:.0f} {_UNITS[kind]}"

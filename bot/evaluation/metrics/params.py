"""Reads a metric's parameters, which stand in a task card and so may be anything."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from state.errors import UsageError

Params = Mapping[str, Any]


def number(params: Params, name: str, default: float, *, minimum: float = -math.inf) -> float:
    """Return a parameter that is a number. Raises UsageError: it is none, or less than `minimum`."""
    return _number(params.get(name, default), name, minimum)


def whole_number(params: Params, name: str, default: int, *, minimum: int = 0) -> int:
    """Return a parameter that is a whole number. Raises UsageError: it is none, or less than `minimum`."""
    value = _number(params.get(name, default), name, minimum)
    if value != int(value):
        raise UsageError(f"metric.params.{name} is {value}; it must be a whole number.")
    return int(value)


def numbers(
    params: Params, name: str, default: Sequence[float], *, count: int | None = None, minimum: float = -math.inf
) -> list[float]:
    """Return a parameter that is a list of numbers.

    Raises UsageError: it is none, has a number less than `minimum`, or not `count` of them.
    """
    value = params.get(name, default)
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise UsageError(f"metric.params.{name} is {value!r}; it must be a list of numbers.")
    parameters = [_number(item, name, minimum) for item in value]
    if count is not None and len(parameters) != count:
        raise UsageError(f"metric.params.{name} has {len(parameters)} numbers; expected: {count}.")
    return parameters


def _number(value: Any, name: str, minimum: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise UsageError(f"metric.params.{name} is {value!r}; it must be a number.")
    if value < minimum:
        raise UsageError(f"metric.params.{name} is {value}; it must be at least {minimum:g}.")
    return float(value)

"""Reads a metric's parameters, which stand in a task card and so may be anything."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from state.errors import UsageError

Params = Mapping[str, Any]


def number(params: Params, name: str, default: float, *, least: float = -math.inf) -> float:
    """Return a parameter that is a number. Raises UsageError: it is none, or less than `least`."""
    return _number(params.get(name, default), name, least)


def whole_number(params: Params, name: str, default: int, *, least: int = 0) -> int:
    """Return a parameter that is a whole number. Raises UsageError: it is none, or less than `least`."""
    value = _number(params.get(name, default), name, least)
    if value != int(value):
        raise UsageError(f"metric.params.{name} is {value}; it must be a whole number.")
    return int(value)


def numbers(
    params: Params, name: str, default: Sequence[float], *, many: int | None = None, least: float = -math.inf
) -> list[float]:
    """Return a parameter that is a list of numbers.

    Raises:
        UsageError: it is none, has a number less than `least`, or not `many` of them.
    """
    value = params.get(name, default)
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise UsageError(f"metric.params.{name} is {value!r}; it must be a list of numbers.")
    found = [_number(one, name, least) for one in value]
    if many is not None and len(found) != many:
        raise UsageError(f"metric.params.{name} has {len(found)} numbers where {many} are needed.")
    return found


def _number(value: Any, name: str, least: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise UsageError(f"metric.params.{name} is {value!r}; it must be a number.")
    if value < least:
        raise UsageError(f"metric.params.{name} is {value}; it must be at least {least:g}.")
    return float(value)

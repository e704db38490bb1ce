"""Failures: what something that is supervised raised, as an event that keeps the traceback."""

import traceback
from typing import Any

from state.errors import BotError
from state.store import NO_RUN, Transaction

TRACE_CHARACTERS = 8_000
"""Of a traceback its end is kept, which says where it was raised."""


def words_of(error: BaseException) -> str:
    """Return what an error says in one line; one that is not ours has its type before it."""
    text = str(error) if isinstance(error, BotError) else f"{type(error).__name__}: {error}"
    return " ".join(text.split())


def record_failure(tx: Transaction, type: str, error: BaseException, **fields: Any) -> None:
    """Write an event of no run about an error, with its traceback."""
    # Redacted before it is cut, or half a secret would be left.
    trace = tx.redactor.text("".join(traceback.format_exception(error)))[-TRACE_CHARACTERS:]
    tx.record(type, run_id=NO_RUN, error=words_of(error), traceback=trace, **fields)

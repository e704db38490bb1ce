"""Failures of supervised code, recorded as events that keep the traceback."""

import traceback
from typing import Any

from state.errors import BotError
from state.store import NO_RUN, Transaction

TRACE_CHARACTERS = 8_000
"""Only the end of a traceback is kept, which shows where the error was raised."""


def words_of(error: BaseException) -> str:
    """Return an error's message in one line; the type comes first if the error is not ours."""
    text = str(error) if isinstance(error, BotError) else f"{type(error).__name__}: {error}"
    return " ".join(text.split())


def record_failure(tx: Transaction, type: str, error: BaseException, **fields: Any) -> None:
    """Record an error as an event of no run, with its traceback."""
    # Redacted before it is cut: otherwise half a secret could be left.
    trace = tx.redactor.text("".join(traceback.format_exception(error)))[-TRACE_CHARACTERS:]
    tx.record(type, run_id=NO_RUN, error=words_of(error), traceback=trace, **fields)

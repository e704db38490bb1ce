"""Executions that have ended, for tests that store some without running any."""

from typing import Any

from bot.execution.record import GUARDED, ExecutionRecord
from sandbox import ExitReason


def ended(reason: ExitReason = ExitReason.FINISHED, **fields: Any) -> ExecutionRecord:
    """Return an execution on the hold-out view, without a score unless one is given."""
    plain = {"seconds": 1.0, "output": "", "fine": True, "score": None, "fault": None, "error": None}
    return ExecutionRecord(id="e", view=GUARDED, reason=reason, **plain | fields)

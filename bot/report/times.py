"""Where a run's time went, as result.json tells it."""

from collections.abc import Sequence
from typing import Any

from bot.execution.stopwatch import Stopwatch
from state.clock import Clock
from state.tables import Execution, Run


def times(clock: Clock, watch: Stopwatch, run: Run, executions: Sequence[Execution], valid: int) -> dict[str, Any]:
    """Return the times of a run, in seconds, as of now.

    A live run lasts as long as its competition, over any number of starts of the bot: its wall time is that of the clock since
    it began, and what of it nobody has measured throughout is None.

    Args:
        clock: the run's.
        watch: its stopwatch, which a replay's goes on over any number of starts.
        run: its row.
        executions: all of it.
        valid: how many nodes have a score.
    """
    wall, training = watch.wall(), watch.of("executions")
    measured: dict[str, float | None] = {
        "overhead_seconds": round(watch.overhead(), 3),
        "waiting_seconds": round(watch.of("waiting"), 3),
    }
    if run.cutoff is None:
        wall = (clock.now() - run.created_at).total_seconds()
        training = sum(one.seconds or 0.0 for one in executions)
        measured = dict.fromkeys(measured)
    return {
        "wall_seconds": round(wall, 3),
        **measured,
        "training_share": ratio(training, wall),
        "valid_nodes_per_hour": ratio(3600 * valid, wall),
    }


def ratio(part: float, whole: float) -> float | None:
    """Return a share to four digits; None of nothing."""
    return round(part / whole, 4) if whole > 0 else None

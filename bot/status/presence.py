"""Presence: when a daemon began and ended, its version and its clock, for other processes."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from importlib import metadata
from typing import Any

from sqlmodel import Session

from state.clock import Clock, FastClock, SystemClock
from state.latest_events import latest
from state.store import NO_RUN, Transaction

PULSE = "daemon"
"""The name of the daemon's last sign of life."""
_DAEMON_STARTED, _DAEMON_ENDED = "daemon.began", "daemon.ended"


@dataclass(frozen=True)
class Presence:
    """What the latest daemon recorded of itself."""

    since: datetime
    version: str
    process: int
    ended: datetime | None
    """When it ended in order; None: it is running, or was killed."""
    clock: Clock


def record_start(tx: Transaction, process: int) -> None:
    """Record that a daemon begins, with the number of its process and the transaction's clock."""
    clock = tx.clock
    data = None
    if isinstance(clock, FastClock):
        data = {"start": clock.start.isoformat(), "speed": clock.speed, "began": clock.began}
    tx.record(_DAEMON_STARTED, run_id=NO_RUN, process=process, version=metadata.version("kaggle-bot"), clock=data)


def record_end(tx: Transaction) -> None:
    """Record that the daemon ends in order."""
    tx.record(_DAEMON_ENDED, run_id=NO_RUN)


def presence(session: Session) -> Presence | None:
    """Return what the latest daemon recorded; None: there was none."""
    row = latest(session, NO_RUN, (_DAEMON_STARTED,))
    if row is None:
        return None
    end = latest(session, NO_RUN, (_DAEMON_ENDED,))
    over = end.at if end is not None and end.seq > row.seq else None
    return Presence(row.at, row.data["version"], row.data["process"], over, clock_of(row.data["clock"]))


def daemon_clock(session: Session, default: Clock) -> Clock:
    """Return the latest daemon's clock, which in a rehearsal is not the machine's."""
    daemon = presence(session)
    return default if daemon is None else daemon.clock


def clock_of(data: Mapping[str, Any] | None) -> Clock:
    """Return the clock that a daemon recorded: in a rehearsal the site's, else the machine's."""
    if data is None:
        return SystemClock()
    return FastClock(datetime.fromisoformat(data["start"]), float(data["speed"]), float(data["began"]))

"""Presence: when a daemon started and ended, its version and its clock, for other processes."""

from dataclasses import dataclass
from datetime import datetime
from importlib import metadata

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
    ended_at: datetime | None
    """When it shut down cleanly; None: it is running, or was killed."""
    clock: Clock


def record_start(tx: Transaction, process: int) -> None:
    """Record that a daemon starts, with the number of its process and the transaction's clock."""
    clock = tx.clock
    data = None
    if isinstance(clock, FastClock):
        data = {"start": clock.start.isoformat(), "speed": clock.speed, "began": clock.began}
    tx.record(_DAEMON_STARTED, run_id=NO_RUN, process=process, version=metadata.version("kaggle-bot"), clock=data)


def record_end(tx: Transaction) -> None:
    """Record that the daemon shuts down cleanly."""
    tx.record(_DAEMON_ENDED, run_id=NO_RUN)


def presence(session: Session) -> Presence | None:
    """Return what the latest daemon recorded; None: there was none."""
    row = latest(session, NO_RUN, (_DAEMON_STARTED,))
    if row is None:
        return None
    end = latest(session, NO_RUN, (_DAEMON_ENDED,))
    ended_at = end.at if end is not None and end.seq > row.seq else None
    clock: Clock = SystemClock()
    if (data := row.data["clock"]) is not None:
        clock = FastClock(datetime.fromisoformat(data["start"]), float(data["speed"]), float(data["began"]))
    return Presence(row.at, row.data["version"], row.data["process"], ended_at, clock)


def daemon_clock(session: Session, default: Clock) -> Clock:
    """Return the latest daemon's clock, which in a rehearsal is not the machine's."""
    daemon = presence(session)
    return default if daemon is None else daemon.clock

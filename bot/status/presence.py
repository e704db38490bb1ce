"""Presence: that a daemon has begun and ended, which version it is and what its clock shows, for other processes to see."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from sqlmodel import Session

from sandbox.locks import is_held
from state.clock import Clock, FastClock, SystemClock
from state.latest_events import latest
from state.store import NO_RUN, Transaction

LOCK = "daemon.lock"
"""In the daemon's folder; held while it runs."""
PULSE = "daemon"
"""Under which `state.pulses` has the daemon's last sign of life."""
_BEGAN, _ENDED = "daemon.began", "daemon.ended"


@dataclass(frozen=True)
class Presence:
    """What the daemon that began last said of itself."""

    since: datetime
    version: str
    process: int
    ended: datetime | None
    """When it ended in order; None: it runs, or was killed."""
    clock: Clock


def began(tx: Transaction, process: int) -> None:
    """Write down that a daemon begins; its clock is that of the transaction.

    Args:
        tx: the transaction.
        process: its number.
    """
    clock = tx.clock
    told = None
    if isinstance(clock, FastClock):
        told = {"start": clock.start.isoformat(), "speed": clock.speed, "began": clock.began}
    tx.record(_BEGAN, run_id=NO_RUN, process=process, version=_version(), clock=told)


def ended(tx: Transaction) -> None:
    """Write down that the daemon ends in order."""
    tx.record(_ENDED, run_id=NO_RUN)


def presence(session: Session) -> Presence | None:
    """Return what the daemon that began last said; None: there was none."""
    row = latest(session, NO_RUN, (_BEGAN,))
    if row is None:
        return None
    end = latest(session, NO_RUN, (_ENDED,))
    over = end.at if end is not None and end.seq > row.seq else None
    return Presence(row.at, row.data["version"], row.data["process"], over, clock_of(row.data["clock"]))


def daemon_clock(session: Session, default: Clock) -> Clock:
    """Return the clock of the daemon that began last; in a rehearsal it is another than the machine's."""
    said = presence(session)
    return default if said is None else said.clock


def clock_of(told: Mapping[str, Any] | None) -> Clock:
    """Return the clock that a daemon said it has: in a rehearsal the site's, else the machine's."""
    if told is None:
        return SystemClock()
    return FastClock(datetime.fromisoformat(told["start"]), float(told["speed"]), float(told["began"]))


def is_running(folder: Path) -> bool:
    """Return whether a daemon works in a folder, or may."""
    return is_held(folder / LOCK)


def _version() -> str:
    return metadata.version("kaggle-bot")

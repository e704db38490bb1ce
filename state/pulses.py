"""Pulses: a long-running process records that it is alive and what it is doing, for readers of the database."""

from sqlmodel import Session

from state.store import Transaction
from state.tables import Pulse


def write_pulse(tx: Transaction, name: str, text: str) -> None:
    """Record a sign of life, in place of the one before."""
    row = tx.session.get(Pulse, name) or Pulse(name=name, at=tx.now())
    row.at, row.text = tx.now(), text
    tx.add(row)


def last_pulse(session: Session, name: str) -> Pulse | None:
    """Return the last sign of life; None if there never was one."""
    return session.get(Pulse, name)

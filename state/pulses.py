"""Pulses: what runs for long writes down that it does and what it is doing, for whoever looks at the database."""

from sqlmodel import Session

from state.store import Transaction
from state.tables import Pulse


def write_pulse(tx: Transaction, name: str, text: str) -> None:
    """Write down that something is at work now, in place of what was written before."""
    row = tx.session.get(Pulse, name) or Pulse(name=name, at=tx.now())
    row.at, row.text = tx.now(), text
    tx.add(row)


def last_pulse(session: Session, name: str) -> Pulse | None:
    """Return the last sign of life; None where there never was one."""
    return session.get(Pulse, name)

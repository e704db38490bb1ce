"""Tables of tasks, notes, controls and approvals as they are looked into: in a database that has none of them they are empty."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Column, Integer, MetaData, RowMapping, Select, String, Table, inspect
from sqlmodel import Session

from state.tables import Event

__all__ = ["APPROVALS", "CONTROLS", "NOTES", "TASKS", "rows"]

_TIME = Event.metadata.tables["event"].c.at.type
"""As all tables hold times."""
_KNOWN = MetaData()


def _table(name: str, *texts: str, number: str | None = None, times: Sequence[str] = ()) -> Table:
    columns = [*(Column(one, String) for one in texts), *(Column(one, _TIME) for one in times)]
    return Table(name, _KNOWN, *columns, *([Column(number, Integer)] if number else []))


TASKS = _table("task", "key", "kind", "competition", "status", "error", number="tries", times=("due_at",))
NOTES = _table("note", "competition", "text", number="id", times=("at",))
CONTROLS = _table("control", "competition", "state", times=("at",))
APPROVALS = _table("approval", "run_id", "submission", "decision", number="id")


def rows(session: Session, table: Table, query: Select[Any]) -> Sequence[RowMapping]:
    """Run a query on a table, if there is such a table."""
    if not inspect(session.connection()).has_table(table.name):
        return ()
    return session.execute(query).mappings().all()

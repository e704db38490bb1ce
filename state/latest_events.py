"""The latest event of each thing that events are about, such as each competition's last change."""

from collections.abc import Sequence

from sqlalchemy import func
from sqlmodel import Session, col, select

from state.tables import Event


def latest_of_each(session: Session, run_id: str, types: Sequence[str], field: str) -> dict[str, Event]:
    """Return the latest event of some types for each value of one of their fields, by that value.

    The query reads all events under the run's id.
    """
    value = func.json_extract(col(Event.data), f"$.{field}")
    newest = (
        select(func.max(Event.id))
        .where(Event.run_id == run_id, col(Event.type).in_(types), value.is_not(None))
        .group_by(value)
    )
    rows = session.exec(select(Event).where(col(Event.id).in_(newest)).order_by(col(Event.seq)))
    return {str(row.data[field]): row for row in rows}


def latest(
    session: Session, run_id: str, types: Sequence[str], field: str | None = None, value: str | None = None
) -> Event | None:
    """Return the latest event of some types; with `field`, only among those in which it has this value."""
    query = select(Event).where(Event.run_id == run_id, col(Event.type).in_(types))
    if field is not None:
        query = query.where(func.json_extract(col(Event.data), f"$.{field}") == value)
    return session.exec(query.order_by(col(Event.seq).desc()).limit(1)).first()

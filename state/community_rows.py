"""Community rows go into the store once, however often they come, and readings only where they differ."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any, TypeVar

from sqlalchemy import insert
from sqlmodel import Session, col, select
from sqlmodel.sql.expression import SelectOfScalar

from state.store import Transaction
from state.tables import CommunityRow, KernelVersion, Observation, PostedMessage, Topic

_BATCH = 400
_NEVER = datetime.min.replace(tzinfo=UTC)
_TARGETS = {Topic: "topic", PostedMessage: "message", KernelVersion: "kernel"}

PostT = TypeVar("PostT", Topic, PostedMessage, KernelVersion)
_Reading = tuple[str, str, datetime, int | None, float | None, str | None]


def add_community(tx: Transaction, competition: str, rows: Iterable[CommunityRow]) -> None:
    """Add rows to a competition's community; rows that exist already are updated, never duplicated.

    Of two states of one message the later edit wins, and a deletion is final; otherwise a repeated row replaces the
    one before. The rows passed in are not changed.

    Raises:
        ValueError: a row is of another competition.
        StatementError: a row has a naive time.
    """
    pending = iter(rows)
    while batch := list(islice(pending, _BATCH)):
        for row in batch:
            # A source may leave the competition out: rows of a table are not validated at construction.
            if row.competition not in (None, competition):
                raise ValueError(f"a row of {row.competition} cannot be added to {competition}")
        _add_posts(tx.session, competition, Topic, [row for row in batch if isinstance(row, Topic)])
        _add_posts(tx.session, competition, PostedMessage, [row for row in batch if isinstance(row, PostedMessage)])
        _add_posts(tx.session, competition, KernelVersion, [row for row in batch if isinstance(row, KernelVersion)])
        _add_observations(tx.session, competition, [row for row in batch if isinstance(row, Observation)])


def observe(
    tx: Transaction,
    row: Topic | PostedMessage | KernelVersion,
    served_at: datetime | None,
    *,
    votes: int | None = None,
    public_score: float | None = None,
    tier: str | None = None,
) -> bool:
    """Record the fields of a polled row that have changed; return whether any has.

    The row, of the same transaction, holds the last reading of each field, and is updated with it. None means that a
    field was not read.
    """
    read = {"votes": votes, "public_score": public_score, "tier": tier}
    news = {name: value for name, value in read.items() if value is not None and value != getattr(row, name)}
    if not news:
        return False
    key = {"competition": row.competition, "target": _TARGETS[type(row)], "target_id": row.id}
    reading = Observation.model_validate({**key, "at": tx.now(), "served_at": served_at, **news})
    for name, value in news.items():
        setattr(row, name, value)
    tx.add(reading)
    return True


def _add_posts(session: Session, competition: str, table: type[PostT], rows: Sequence[PostT]) -> None:
    if not rows:
        return
    query = select(table).where(table.competition == competition, col(table.id).in_([row.id for row in rows]))
    rows_by_id = {row.id: row for row in session.exec(query)}
    new: dict[str, dict[str, Any]] = {}
    for row in rows:
        values = row.model_dump() | {"competition": competition}
        if (stored_row := rows_by_id.get(row.id)) is not None:
            for name, value in _later_state(table, stored_row.model_dump(), values).items():
                setattr(stored_row, name, value)
        else:
            new[row.id] = _later_state(table, new[row.id], values) if row.id in new else values
    session.flush()
    _insert(session, table, list(new.values()))


def _later_state(table: type[PostT], stored_values: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """Return a repeated row's values, or the stored ones if the row is older than a message's last edit."""
    if table is not PostedMessage:
        return values
    deleted = values["deleted"] or stored_values["deleted"]
    older = (values["edited_at"] or _NEVER) < (stored_values["edited_at"] or _NEVER)
    return (stored_values if older else values) | {"deleted": deleted}


def _add_observations(session: Session, competition: str, rows: Sequence[Observation]) -> None:
    if not rows:
        return
    readings = {_reading(row) for query in _at_these_times(competition, rows) for row in session.exec(query)}
    new = []
    for row in rows:
        if _reading(row) not in readings:
            readings.add(_reading(row))
            new.append(row.model_dump(exclude={"pk"}) | {"competition": competition})
    _insert(session, Observation, new)


def _insert(session: Session, table: type[CommunityRow], rows: Sequence[dict[str, Any]]) -> None:
    if rows:
        session.execute(insert(table), rows)  # objects would take four times as long


def _at_these_times(competition: str, rows: Sequence[Observation]) -> Iterator[SelectOfScalar[Observation]]:
    """Yield a query for each kind of target: readings of the rows' targets within the rows' time span."""
    # Sorted by timestamp, so that a naive time reaches the database, which refuses it.
    *_, last = first, *_ = sorted((row.at for row in rows), key=datetime.timestamp)
    for target in {row.target for row in rows}:
        yield select(Observation).where(
            Observation.competition == competition,
            Observation.target == target,
            col(Observation.target_id).in_({row.target_id for row in rows if row.target == target}),
            col(Observation.at).between(first, last),
        )


def _reading(row: Observation) -> _Reading:
    return (row.target, row.target_id, row.at, row.votes, row.public_score, row.tier)

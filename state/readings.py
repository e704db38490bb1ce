"""Readings in SQL: what a vote count, a score or a tier stood at by a time."""

from datetime import datetime
from typing import Any, Literal

from sqlalchemy import ColumnElement, func, select
from sqlmodel import col

from state.tables import KernelVersion, Message, Observation, Topic

__all__ = ["ReadingField", "latest_reading"]

ReadingField = Literal["votes", "public_score", "tier"]


def latest_reading(
    table: type[Topic] | type[Message] | type[KernelVersion],
    target: Literal["topic", "message", "kernel"],
    field: ReadingField,
    as_of: ColumnElement[datetime],
    *,
    collected: bool,
) -> ColumnElement[Any]:
    """Return a column for a query over `table`: the row's latest reading of a field at or before `as_of`.

    Of two readings of one moment the larger wins, so that the order of insertion never matters; text compares by code
    point. A reading that lacks the field did not read it. Without a reading the column is null or, with `collected`,
    what the row was collected with. One look into an index for each row, however many readings it has.
    """
    value = col(getattr(Observation, field))
    latest = (
        select(value)
        .where(
            col(Observation.competition) == col(table.competition),
            col(Observation.target) == target,
            col(Observation.target_id) == col(table.id),
            col(Observation.at) <= as_of,
            value.is_not(None),
        )
        .order_by(col(Observation.at).desc(), value.desc())
        .limit(1)
        .correlate(table)
        .scalar_subquery()
    )
    return (func.coalesce(latest, getattr(table, field)) if collected else latest).label(field)

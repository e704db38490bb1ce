"""Times of every table: aware, UTC, exact."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from sqlalchemy import DateTime
from sqlalchemy.exc import StatementError
from sqlmodel import SQLModel, select
from sqlmodel.sql.sqltypes import UTCDateTime

from state.store import Store
from state.tables import Event, Topic


def test_a_time_comes_back_aware_and_in_utc_to_the_microsecond(store: Store) -> None:
    at = datetime(2017, 10, 25, 16, 3, 0, 123456, tzinfo=timezone(timedelta(hours=2)))
    with store.write() as tx:
        tx.add(Topic(competition="c", id="1", posted_at=at))
    with store.read() as session:
        read = session.get_one(Topic, ("c", "1")).posted_at
    assert read == at
    assert read is not None and read.tzinfo is UTC


def test_a_naive_time_is_refused(store: Store) -> None:
    with pytest.raises(StatementError, match="timezone"), store.write() as tx:
        tx.add(Topic(competition="c", id="1", posted_at=datetime(2017, 10, 25)))  # noqa: DTZ001 - what must be refused


def test_every_time_column_of_every_table_is_of_the_aware_kind() -> None:
    columns = [column for table in SQLModel.metadata.tables.values() for column in table.columns]
    times = [c for c in columns if isinstance(c.type, DateTime) or c.name.endswith("_at") or c.name in ("at", "as_of")]
    assert len(times) > 20
    assert all(isinstance(column.type, UTCDateTime) for column in times)


def test_what_is_derived_says_whose_it_is_and_since_when_it_is_known() -> None:
    for name in ("analysis", "idea", "draft", "report"):
        columns = SQLModel.metadata.tables[name].columns
        assert "run_id" in columns and not columns["known_at"].nullable


def test_the_time_of_an_event_is_the_clocks(store: Store) -> None:
    with store.write() as tx:
        tx.record("x.y", run_id="r")
    with store.read() as session:
        assert session.exec(select(Event)).one().at == store.clock.now()

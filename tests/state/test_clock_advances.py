"""The advances of a run's clock, as they are stored and read back."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from state.clock import SystemClock
from state.clock_advances import add_clock_advance, clock_advances
from state.store import Store
from tests.state.rows import create_run

FIRST, SECOND = datetime(2017, 11, 1, tzinfo=UTC), datetime(2017, 11, 20, 7, 30, tzinfo=UTC)


def test_advances_are_read_back_in_order_and_each_has_its_event(tmp_path: Path) -> None:
    with Store.open(tmp_path / "state.db", SystemClock()) as store:
        with store.write() as tx:
            create_run(tx, "r", competition="c", agent="comind", model="m", seed=0, cutoff=SECOND)
            add_clock_advance(tx, "r", 0, FIRST, 2)
            add_clock_advance(tx, "r", 3, SECOND, 5)
        with store.read() as session:
            found = clock_advances(session, "r")
            assert clock_advances(session, "another") == []
        events = [event for event in store.export_events("r") if event["type"] == "clock.moved"]
    assert [(move.number, move.as_of, move.node) for move in found] == [(0, FIRST, 2), (3, SECOND, 5)]
    assert [(event["as_of"], event["before"]) for event in events] == [
        ("2017-11-01T00:00:00Z", 2),
        ("2017-11-20T07:30:00Z", 5),
    ]


def test_the_clock_moves_once_before_a_decision(tmp_path: Path) -> None:
    with Store.open(tmp_path / "state.db", SystemClock()) as store:
        with store.write() as tx:
            create_run(tx, "r", competition="c", agent="comind", model="m", seed=0, cutoff=SECOND)
            add_clock_advance(tx, "r", 0, FIRST, 2)
        with pytest.raises(ValueError, match="already"), store.write() as tx:
            add_clock_advance(tx, "r", 0, SECOND, 2)
        with store.read() as session:
            assert [move.as_of for move in clock_advances(session, "r")] == [FIRST]

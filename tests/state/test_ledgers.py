"""Ledgers are read from a file that a run goes on writing, and never from garbage."""

from datetime import timedelta
from pathlib import Path

import pytest

from state.errors import InfrastructureFailure
from state.ledgers import read_ledger, read_only
from state.progress import end_run, resume_run
from state.spending import charge
from state.store import Store
from tests.state.conftest import START, StandingClock
from tests.state.derive import from_events, from_rows


def fill(store: Store, run_id: str, clock: StandingClock) -> None:
    """Let a run spend on two days, the process being away in between."""
    clock.pass_by(10)
    with store.write() as tx:
        charge(tx, run_id, "tokens", prompt_tokens=400, cached_tokens=300, completion_tokens=20, cost_usd=0.5)
        charge(tx, run_id, "tokens", prompt_tokens=5)
        charge(tx, run_id, "execution", seconds=4.0, amount=1)
        charge(tx, run_id, "gpu", seconds=4.0, amount=8.0)
    clock.pass_by(86_400)
    with store.write() as tx:
        resume_run(tx, run_id)
    clock.pass_by(30)
    with store.write() as tx:
        charge(tx, run_id, "disk", amount=1000)
        charge(tx, run_id, "tokens", prompt_tokens=1, cost_usd=0.25)
        charge(tx, run_id, "submission", amount=1)
        end_run(tx, run_id, "finished")


def test_a_ledger_agrees_with_events_and_rows(store: Store, run_id: str, clock: StandingClock, tmp_path: Path) -> None:
    fill(store, run_id, clock)
    with read_only(tmp_path / "state.db") as session:
        (whole,) = read_ledger(session)
        (second_day,) = read_ledger(session, START + timedelta(days=1))
        (first_day,) = read_ledger(session, until=START + timedelta(days=1))
    assert (whole.run_id, whole.competition) == (run_id, "wine")
    assert whole.spent.pop("wall_seconds") == 40, "the day in which it was down is not counted"
    amounts = {"gpu_seconds": 8, "executions": 1, "disk_bytes": 1000, "submissions": 1}
    assert whole.spent == {"money": 0.75, "tokens": 126, "calls": 3, **amounts}
    assert [second_day.spent[kind] for kind in ("calls", "money", "wall_seconds")] == [1, 0.25, 30]
    assert [first_day.spent[kind] for kind in ("calls", "money", "wall_seconds")] == [2, 0.5, 10]
    assert (whole.unpriced, first_day.unpriced, second_day.unpriced) == (1, 1, 0)
    told = from_events(store.export_events(run_id))
    assert told == from_rows(store, run_id)
    assert (told.ledger["gpu"].amount, told.ledger["gpu"].seconds) == (8, 4)


def test_what_holds_no_ledger_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    garbage, empty = tmp_path / "garbage.db", tmp_path / "empty.db"
    garbage.write_bytes(b"no database at all, and long enough to be sure of it" * 10)
    empty.touch()
    for path in (garbage, empty, tmp_path / "absent.db"):
        with pytest.raises(InfrastructureFailure, match=path.name), read_only(path) as session:
            read_ledger(session)
    assert empty.stat().st_size == 0
    assert not (tmp_path / "absent.db").exists()


def test_a_reader_cannot_write(store: Store, run_id: str, tmp_path: Path) -> None:
    with pytest.raises(InfrastructureFailure, match="readonly"), read_only(tmp_path / "state.db") as session:
        session.connection().exec_driver_sql("DELETE FROM run")

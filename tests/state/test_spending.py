"""Spending: what is charged adds up, model calls are kept word for word, and ledgers are read while a run writes."""

import json
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy.exc import StatementError
from sqlmodel import select

from state.errors import InfrastructureFailure
from state.ledgers import read_ledger, read_only
from state.progress import end_run, resume_run
from state.spending import Spending, charge, read_spending
from state.store import Store
from state.tables import ModelCall
from tests.state.conftest import START, StandingClock
from tests.state.derive import from_events, from_rows
from tests.state.rows import log_model_call

CALL = {"step": "s", "role": "coder", "prompt_name": "p", "model": "builtin", "prompt_hash": "h"}


def test_totals_are_by_kind_and_run(store: Store, run_id: str) -> None:
    with store.write() as tx:
        charge(tx, run_id, "tokens", prompt_tokens=10, cached_tokens=4, completion_tokens=5, cost_usd=0.25)
        charge(tx, run_id, "tokens", prompt_tokens=1, completion_tokens=1, cost_usd=0.5)
        charge(tx, run_id, "execution", seconds=3.5)
        charge(tx, "another", "tokens", prompt_tokens=99)
    assert read_spending(store, run_id) == {
        "tokens": Spending(2, 11, 6, 0.75, 0.0, unpriced=0, cached_tokens=4),
        "execution": Spending(1, 0, 0, 0.0, 3.5, unpriced=0),
    }
    assert read_spending(store, "another")["tokens"].unpriced == 1
    assert read_spending(store, "nobody") == {}


def test_a_call_is_kept_with_all_that_its_prompt_held(store: Store, run_id: str) -> None:
    messages = [{"role": "system", "content": "Réponds."}, {"role": "user", "content": "?"}]
    with store.write() as tx:
        for _ in range(2):
            row = log_model_call(
                tx,
                run_id,
                **CALL,
                as_of=START,
                items=[("message/233009", START)],
                messages=messages,
                answer="```python\n```",
                prompt_tokens=3,
            )
    assert row.seq == 2
    assert json.loads(store.blob(row.messages_sha)) == messages
    assert store.blob(row.answer_sha) == b"```python\n```"
    with store.read() as session:
        first, _ = session.exec(select(ModelCall)).all()
    assert first.items == [{"id": "message/233009", "time": "2020-01-01T00:00:00Z"}]


def test_a_call_as_of_a_naive_time_is_refused(store: Store, run_id: str) -> None:
    with pytest.raises(StatementError), store.write() as tx:
        log_model_call(tx, run_id, **CALL, as_of=START.replace(tzinfo=None), items=[], messages=[], answer="")


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
    assert whole.amounts.pop("wall_seconds") == 40, "the day in which it was down is not counted"
    amounts = {"gpu_seconds": 8, "executions": 1, "disk_bytes": 1000, "submissions": 1}
    assert whole.amounts == {"money": 0.75, "tokens": 126, "calls": 3, **amounts}
    assert [second_day.amounts[kind] for kind in ("calls", "money", "wall_seconds")] == [1, 0.25, 30]
    assert [first_day.amounts[kind] for kind in ("calls", "money", "wall_seconds")] == [2, 0.5, 10]
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

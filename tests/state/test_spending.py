"""Spending: what is charged adds up, and model calls are kept word for word."""

import json

import pytest
from sqlalchemy.exc import StatementError
from sqlmodel import select

from state.spending import Spent, charge, spent
from state.store import Store
from state.tables import ModelCall
from tests.state.conftest import START
from tests.state.rows import log_model_call


def test_totals_are_by_kind_and_run(store: Store, run_id: str) -> None:
    with store.write() as tx:
        charge(tx, run_id, "tokens", prompt_tokens=10, cached_tokens=4, completion_tokens=5, cost_usd=0.25)
        charge(tx, run_id, "tokens", prompt_tokens=1, completion_tokens=1, cost_usd=0.5)
        charge(tx, run_id, "execution", seconds=3.5)
        charge(tx, "another", "tokens", prompt_tokens=99)
    assert spent(store, run_id) == {
        "tokens": Spent(2, 11, 6, 0.75, 0.0, unpriced=0, cached_tokens=4),
        "execution": Spent(1, 0, 0, 0.0, 3.5, unpriced=0),
    }
    assert spent(store, "another")["tokens"].unpriced == 1
    assert spent(store, "nobody") == {}


def test_a_call_is_kept_with_all_that_its_prompt_held(store: Store, run_id: str) -> None:
    messages = [{"role": "system", "content": "Réponds."}, {"role": "user", "content": "?"}]
    with store.write() as tx:
        for _ in range(2):
            row = log_model_call(
                tx,
                run_id,
                step="1/ask/0",
                role="coder",
                prompt_name="write_script",
                model="builtin",
                as_of=START,
                items=[("message/233009", START)],
                messages=messages,
                answer="```python\n```",
                prompt_hash="h",
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
        log_model_call(
            tx,
            run_id,
            step="s",
            role="coder",
            prompt_name="p",
            model="m",
            as_of=START.replace(tzinfo=None),
            items=[],
            messages=[],
            answer="",
            prompt_hash="h",
        )

"""No prompt leaves with a secret, none is kept of an answer, and the kind of a prompt stays what it is."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from sqlmodel import select

from bot.models import Item, Message
from bot.models.ask import without_secrets
from bot.models.repair import Repair
from state.errors import BotError
from state.redaction import MASK, Redactor
from state.store import Store
from state.tables import ModelCall, Step
from tests.bot.models.parts import CUTOFF, RUN, HurriedClock, Question, asker_of, model_at
from tests.scripted_endpoint import ScriptedEndpoint
from tests.state.rows import create_run

SECRET = "hunter2-is-a-s3cret"
REDACTOR = Redactor({SECRET: "KEY"})


class Shown(BaseModel):
    text: str
    score: float = 1.0


@dataclass(frozen=True)
class Rich:
    """A prompt with values of many kinds."""

    posts: tuple[Shown, ...]
    notes: dict[str, list[str]]
    original: Any = None
    at: datetime = datetime(2020, 1, 1, tzinfo=UTC)
    name: str = "rich"

    def messages(self) -> Sequence[Message]:
        return (Message("user", f"{[p.text for p in self.posts]} {self.notes} {self.original}"),)

    def parse(self, text: str) -> str:
        return text

    def items(self) -> Sequence[Item]:
        return ()


class Stubborn(Rich):
    def messages(self) -> Sequence[Message]:
        return (Message("user", SECRET),)


def test_a_prompt_without_a_secret_is_itself() -> None:
    prompt = Rich((Shown(text="a"),), {})
    assert without_secrets(prompt, REDACTOR) is prompt
    assert without_secrets(prompt, Redactor()) is prompt


def test_secrets_go_from_wherever_in_a_prompt_and_its_kind_stays() -> None:
    inner = Question(f"what of {SECRET}?")
    prompt = Rich((Shown(text=f"x {SECRET}", score=2.0),), {"k": [SECRET, "b"]}, Repair(inner, SECRET, "it is wrong"))
    found = without_secrets(prompt, REDACTOR)
    assert found == Rich(
        (Shown(text=f"x {MASK}", score=2.0),),
        {"k": [MASK, "b"]},
        Repair(Question(f"what of {MASK}?"), MASK, "it is wrong"),
    )
    assert type(found) is Rich


def test_a_secret_that_cannot_be_taken_out_keeps_the_prompt_from_being_sent() -> None:
    with pytest.raises(BotError, match=r"the prompt rich contains one of the bot's secrets and was not sent"):
        without_secrets(Stubborn((), {}), REDACTOR)


async def test_neither_the_endpoint_nor_the_database_sees_a_secret_and_the_answer_is_read_without_it(
    tmp_path: Path,
) -> None:
    replies = [f"no JSON, but {SECRET}", f'{{"value": 7}} {SECRET}']
    with (
        ScriptedEndpoint(replies) as endpoint,
        Store.open(tmp_path / "state.db", HurriedClock(), redactor=REDACTOR) as store,
    ):
        with store.write() as tx:
            create_run(tx, RUN, competition="spooky", agent="comind", model="gpt-x", seed=1, cutoff=CUTOFF)
        async with model_at(endpoint.url) as model:
            answer = await asker_of(model, store).ask(Question(f"which of {SECRET}?"), role="coder", name="write")
        assert answer.value == 7
        assert [request.body["messages"][1]["content"] for request in endpoint.requests] == [f"which of {MASK}?"] * 2
        assert SECRET not in json.dumps([request.body for request in endpoint.requests])
        with store.read() as session:
            kept = [
                store.blob(sha)
                for call in session.exec(select(ModelCall))
                for sha in (call.messages_sha, call.answer_sha)
            ]
            steps = [step.result for step in session.exec(select(Step))]
    assert not any(SECRET.encode() in body for body in kept)
    assert SECRET not in str(steps)
    assert f"{MASK}" in str(steps)


@pytest.mark.parametrize("key", ["x", "EMPTY", "none", "token", "ollama", "sk-no-key-required", "7x9Kq2Lm4Np8Rt1V"])
async def test_what_is_sent_is_what_is_kept_and_a_dummy_key_changes_neither(tmp_path: Path, key: str) -> None:
    text = f"Test tokens of EMPTY, none, token, ollama and sk-no-key-required to the maximum: {key}"
    with (
        ScriptedEndpoint(['{"value": 7}']) as endpoint,
        Store.open(tmp_path / "state.db", HurriedClock(), redactor=Redactor({key: "OPENAI_API_KEY"})) as store,
    ):
        with store.write() as tx:
            create_run(tx, RUN, competition="spooky", agent="comind", model="gpt-x", seed=1, cutoff=CUTOFF)
        async with model_at(endpoint.url, key=key) as model:
            await asker_of(model, store).ask(Question(text), role="coder", name="write")
        with store.read() as session:
            (call,) = session.exec(select(ModelCall))
        kept = json.loads(store.blob(call.messages_sha))
    assert [one["content"] for one in kept] == [one["content"] for one in endpoint.requests[0].body["messages"]]
    assert endpoint.requests[0].last == (text.replace(key, MASK) if key.startswith("7") else text)
    assert endpoint.requests[0].headers["authorization"] == f"Bearer {key}"

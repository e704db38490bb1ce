"""What the tests of the models share: a clock that does not wait, a small prompt, and a run in a database."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, aclosing, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel, SecretStr

from bot.budgets.kinds import Kind
from bot.budgets.levels import Level
from bot.budgets.settings import Caps
from bot.models import Item, Message
from bot.models.ask import Asker
from bot.models.bounds import free
from bot.models.commands import command_in
from bot.models.endpoint import Endpoint, OpenAIModel
from bot.models.parsing import json_answer
from bot.models.pricing import Price, Pricing
from bot.models.recordings import RecordedModel, RecordingWriter
from bot.models.tools import Tool
from state.clock import ReplayClock
from state.spending import read_spending
from state.steps import Steps
from state.store import Store
from tests.state.rows import create_run

CUTOFF = datetime(2017, 10, 25, tzinfo=UTC)
EARLIER = datetime(2017, 10, 1, tzinfo=UTC)
KEY = "sk-test-4242424242424242"
RUN = "spooky-comind-1"
GOOD = 'Here it is: {"value": 7}'
PRICES = {"gpt-x": Price(input=1.0, output=10.0, cached=0.1)}


class HurriedClock(ReplayClock):
    """Does not wait, and remembers for how long it should have."""

    def __init__(self, cutoff: datetime = CUTOFF) -> None:
        super().__init__(cutoff)
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await asyncio.sleep(0)


class Value(BaseModel):
    value: int


@dataclass(frozen=True)
class Question:
    """Asks for a number as JSON."""

    text: str = "Which number?"
    shown: tuple[Item, ...] = field(default=(Item("message/1", EARLIER),))
    name: str = "question"

    def messages(self) -> Sequence[Message]:
        return (Message("system", "Answer in JSON."), Message("user", self.text))

    def parse(self, text: str) -> Value:
        return json_answer(text, Value)

    def items(self) -> Sequence[Item]:
        return self.shown


BASH = Tool("bash", "Runs a command in your shell.", "command", "what to run")


@dataclass(frozen=True)
class Turn:
    """One turn of a conversation in which each reply is a command, and each answer what it printed."""

    said: tuple[str, ...] = ("Look around.",)
    """User and assistant by turns, the user first and last."""
    name: str = "turn"
    tool: Tool | None = BASH

    def messages(self) -> Sequence[Message]:
        turns = (Message("assistant" if number % 2 else "user", text) for number, text in enumerate(self.said))
        return (Message("system", "Work in the shell."), *turns)

    def parse(self, text: str) -> str | None:
        return command_in(text)

    def items(self) -> Sequence[Item]:
        return ()


def model_at(
    url: str,
    clock: HurriedClock | None = None,
    *,
    name: str = "gpt-x",
    key: str = KEY,
    retries: int = 2,
    timeout: float = 30.0,
    max_tokens: int | None = None,
    pricing: Pricing | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> "aclosing[OpenAIModel]":
    """Open a model at an endpoint; by default only gpt-x has a price."""
    endpoint = Endpoint(SecretStr(key), lambda role: name, url, timeout, max_tokens, retries)
    return aclosing(OpenAIModel(endpoint, pricing or Pricing(PRICES, base_url=url), clock or HurriedClock(), say))


def open_run(folder: Path) -> AbstractContextManager[Store]:
    """Open a database that holds the run."""
    store = Store.open(folder / "state.db", HurriedClock())
    try:
        with store.write() as tx:
            create_run(tx, RUN, competition="spooky", agent="comind", model="gpt-x", seed=1, cutoff=CUTOFF)
    except BaseException:
        store.close()
        raise
    return store


def spent_before(store: Store) -> float:
    """Return the USD that the run has spent."""
    tokens = read_spending(store, RUN).get("tokens")
    return tokens.cost_usd if tokens else 0.0


def asker_of(
    model: OpenAIModel | RecordedModel,
    store: Store,
    *,
    max_cost: float | None = None,
    recorder: RecordingWriter | None = None,
    timed: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Asker:
    """Return the asker of the run, as a new process would make it."""
    estimate = model.estimate if isinstance(model, OpenAIModel) else free
    steps = Steps(store, RUN)
    return Asker(
        model,
        store,
        RUN,
        HurriedClock(),
        steps,
        budget=Level("run", Caps(money=max_cost), amounts={Kind.MONEY: spent_before(store)}),
        estimate=estimate,
        recorder=recorder,
        timed=timed,
    )

"""The exchanges of one lab in the run's ledger: reserved before a request, settled by the answer or by the reservation."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from sqlmodel import select

from bot.coder.gateway.exchange import NAME, Exchange
from bot.models import CallLimits, Item, Message, Usage
from bot.models.ask import Asker
from bot.models.bounds import Bound
from bot.models.calls import Attempt, Calls, Outcome
from bot.models.recordings import step_key
from bot.models.usefulness import Usefulness
from scrapers.posts.cleaning import both_ends
from state.errors import ModelUseless
from state.steps import Key, StepKind, finish_step, start_step, write_with_retry
from state.store import Transaction, put_blob
from state.tables import ModelCall

_ROLE = "coder"
_MOST_WHOLE, _MOST_KEPT = 1_000_000, 16_000_000
"""Characters of one exchange, and of all of a lab in one start of the bot, up to which they are kept whole."""
_END_CHARACTERS, _MESSAGE_CHARACTERS = 16_000, 40
"""Characters that are kept of others: mostly their end, which is what is new in a conversation; and those around a message."""


@dataclass(frozen=True)
class _Booked:
    """An exchange that is about to be sent."""

    prompt_tokens: int
    completion_tokens: int
    """The most that the answer may have."""
    messages: str
    """Hash of the blob that holds them."""
    items: tuple[Item, ...]
    hash: str
    """Of the prompt."""
    as_of: datetime


_BOOKED = StepKind(NAME, _Booked)


class Exchanges:
    """Makes them by the run's own calls: under its caps, at its prices, among its calls in flight."""

    def __init__(self, asker: Asker, node: int, model: str) -> None:
        """Set the lab's number, and the model's name for exchanges that were lost."""
        self._steps = asker.steps
        self._calls: Calls = asker.calls
        self._usefulness = asker.usefulness
        self._node = node
        self._model = model
        self.booked = self._last = max(self._booked(), default=0)
        """How many exchanges were booked in earlier starts of the bot."""
        self._kept = 0

    async def make(self, exchange: Exchange) -> Outcome:
        """Pass a request on and its answer back, logged and charged.

        Raises:
            BudgetExceeded: it does not fit; nothing was sent.
            ModelUseless: too many answers in a row could not be used, one to a question of the engine's own among them.
            BotError: the agent may have read something newer than the clock; nothing was sent.
        """
        self._last += 1
        number, limits = self._last, self._calls.limits
        attempt = self._calls.attempt(exchange, step_key(NAME, self._node, number), _ROLE, self._node)
        size = sum(len(message.content) + _MESSAGE_CHARACTERS for message in attempt.messages)
        if self._kept_whole(size):
            exchange.kept_characters = _MOST_WHOLE
        else:
            exchange.kept_characters = _END_CHARACTERS
            attempt = replace(attempt, logged=_end_of(attempt.messages))
        bounds = [bound for bound in (exchange.max_tokens, limits.max_tokens) if bound is not None]
        call_limits: CallLimits = replace(limits, max_tokens=min(bounds, default=None))

        async def book(bound: Bound) -> None:
            await write_with_retry(self._calls.store, lambda tx: self._book(tx, attempt, number, bound.usage))

        if self._usefulness is not None and (failed := await self._failure(self._usefulness, exchange, attempt)):
            return failed
        outcome = await self._calls.make(exchange, attempt, call_limits, book)
        if self._usefulness is not None:
            if outcome.error is not None:
                self._usefulness.note_failure(str(outcome.error))
            else:
                self._usefulness.note(_ROLE, _why_unusable(outcome))
        self._kept += len(outcome.reply.text)
        if exchange.estimated:
            with self._calls.store.write() as tx:
                tx.record("gateway.estimated", run_id=self._calls.run_id, node=self._node, step=attempt.step)
        return outcome

    async def _failure(self, usefulness: Usefulness, exchange: Exchange, call_attempt: Attempt) -> Outcome | None:
        """Return why no answer is possible now; None: one may be.

        Answers that cannot be used may be what the agent provokes: whether they are is asked with a question of our own.

        Raises:
            ModelUseless: its answer cannot be used either.
        """
        try:
            usefulness.ensure(_ROLE)
            return None
        except ModelUseless:
            probe = exchange.probe()
            attempt = self._calls.attempt(probe, f"{call_attempt.step}/own", _ROLE, self._node)
            outcome = await self._calls.make(probe, attempt)
            if outcome.error is not None:
                return outcome
            if _why_unusable(outcome) is not None:
                raise
        usefulness.begin_anew()
        return None

    async def settle(self) -> None:
        """Charge a request that was sent and whose end is unknown, at its reservation, the most that it can have used."""
        with self._calls.store.read() as session:
            logged = set(
                session.exec(
                    select(ModelCall.step)
                    .where(ModelCall.run_id == self._calls.run_id, ModelCall.node == self._node)
                    .where(ModelCall.prompt_name == NAME)
                )
            )
        for number, booked in self._booked().items():
            if (step := step_key(NAME, self._node, number)) not in logged:
                usage = Usage(booked.prompt_tokens, booked.completion_tokens)
                await self._calls.charge_lost(self._read(step, booked), usage, self._model)

    def _kept_whole(self, size: int) -> bool:
        """Return whether an exchange is kept whole, and count it."""
        is_whole = size <= _MOST_WHOLE and self._kept + size <= _MOST_KEPT
        self._kept += min(size, size if is_whole else _END_CHARACTERS)
        return is_whole

    def _booked(self) -> Mapping[int, _Booked]:
        return {key.attempt: booked for key, booked in self._steps.all(_BOOKED, self._node).items()}

    def _book(self, tx: Transaction, attempt: Attempt, number: int, usage: Usage) -> None:
        run_id = self._calls.run_id
        texts = [{"role": message.role, "content": message.content} for message in attempt.logged or attempt.messages]
        messages_blob = put_blob(tx, json.dumps(texts, ensure_ascii=False))
        tokens, items = (usage.prompt_tokens, usage.completion_tokens), tuple(attempt.items)
        key = Key(self._node, attempt=number)
        start_step(tx, run_id, _BOOKED, key, prompt_hash=attempt.hash)
        finish_step(tx, run_id, _BOOKED, _Booked(*tokens, messages_blob, items, attempt.hash, attempt.as_of), key)

    def _read(self, step: str, booked: _Booked) -> Attempt:
        messages = [Message(**message) for message in json.loads(self._calls.store.blob(booked.messages))]
        return Attempt(step, _ROLE, self._node, NAME, messages, booked.items, booked.hash, booked.as_of)


def _why_unusable(outcome: Outcome) -> str | None:
    return outcome.refusal or (None if outcome.reply.text.strip() else "it was empty")


def _end_of(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return the stored part of a conversation that is too long to be stored whole."""
    tail: list[Message] = []
    characters_left = _END_CHARACTERS
    for message in reversed(messages):
        if characters_left <= 0:
            tail.append(Message("system", f"[{len(messages) - len(tail)} earlier messages omitted]"))
            break
        tail.append(Message(message.role, both_ends(message.content, characters_left)))
        characters_left -= len(message.content) + _MESSAGE_CHARACTERS
    return tuple(reversed(tail))

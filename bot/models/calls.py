"""Single calls within a run's budget: what one may use is reserved, it is made, and then logged and charged, however it ended."""

import asyncio
import json
import time
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from itertools import takewhile
from typing import Any

from sqlmodel import col, select

from bot.budgets.kinds import Kind
from bot.budgets.levels import Level, Reservation, unbounded
from bot.models import CallLimits, Completion, Item, Message, Model, Prompt, Totals, Usage
from bot.models.bounds import Bound, Estimate, PromptTokenBound, bounds, free, most_sent
from bot.models.fingerprint import prompt_hash
from bot.models.passing import ProxiedPrompt
from bot.models.recordings import Bindable
from bot.models.tools import tool_of
from state.clock import Clock
from state.errors import BotError, BrokenOff, BudgetExceeded, ModelError, ModelRefused, TruncatedAnswer, Unparsable
from state.redaction import Redactor
from state.spending import Spending, add_up, charge, log_model_call, read_spending
from state.steps import write_with_retry
from state.store import Store, Transaction, put_blob
from state.tables import ModelCall
from state.words import iso

CALLS_IN_FLIGHT = 8
_LAST_ANSWERS = 5
_LEDGER = "tokens"


@dataclass(frozen=True)
class Attempt:
    """One attempt at a prompt, as it is logged."""

    step: str
    role: str
    node: int | None
    name: str
    """The prompt's."""
    messages: Sequence[Message]
    items: Sequence[Item]
    hash: str
    as_of: datetime
    logged: Sequence[Message] | None = None
    """What the log keeps of the messages; None: all."""


@dataclass(frozen=True)
class Outcome:
    """The result of an attempt; `fault` is what to repair, `refusal` why there is no answer."""

    reply: Completion[None]
    fault: str | None = None
    cut: bool = False
    """Whether the reply reached the token limit, which is a fault unless the prompt has a tool."""
    refusal: str | None = None
    error: ModelError | None = None
    """A failure of the call itself, after which the step is not done."""

    def without_secrets(self, redactor: Redactor) -> "Outcome":
        """Return the outcome with all secrets redacted."""
        reply = replace(self.reply, text=redactor.own(self.reply.text, f"an answer from {self.reply.model}"))
        fault, refusal = (text and redactor.own(text) for text in (self.fault, self.refusal))
        return replace(self, reply=reply, fault=fault, refusal=refusal)


async def _ignore_bound(bound: Bound) -> None:
    """Do nothing once a call's reservation is made."""


class Calls:
    """Makes all model calls of one run, one by one."""

    def __init__(
        self,
        model: Model,
        store: Store,
        run_id: str,
        clock: Clock,
        *,
        budget: Level | None = None,
        estimate: Estimate = free,
        limits: CallLimits | None = None,
        in_flight: int = CALLS_IN_FLIGHT,
        timeless_kinds: frozenset[str] = frozenset(),
        timed: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """Start or resume the calls of a run; the arguments are those of `Asker`."""
        self.store = store
        self.run_id = run_id
        self.limits = limits or CallLimits()
        self._model = model
        self._clock = clock
        self._timeless_kinds = timeless_kinds
        self._timed = timed
        self._spent = read_spending(store, run_id).get(_LEDGER, Spending())
        self._budget = budget or unbounded()
        self._estimate = estimate
        self._took: defaultdict[str, deque[float]] = defaultdict(lambda: deque(maxlen=_LAST_ANSWERS))
        self._gate = asyncio.Semaphore(in_flight)

    @property
    def totals(self) -> Totals:
        """What the run has spent on calls."""
        spending = self._spent
        tokens = (spending.prompt_tokens, spending.cached_tokens, spending.completion_tokens, spending.new_tokens)
        return Totals(spending.entries, *tokens, None if spending.unpriced else spending.cost_usd)

    def longest_answer(self, role: str, first: float) -> float:
        """Return the longest time (seconds) of a role's last few answers in this process; `first` before any."""
        return max(self._took.get(role, ()), default=first)

    def attempt(self, prompt: Prompt[Any], step: str, role: str, node: int | None) -> Attempt:
        """Return an attempt at a prompt, to be made now. Raises BotError: the prompt holds something newer than the clock."""
        as_of = self._clock.as_of()
        ensure_known(prompt, as_of, self._timeless_kinds)
        items = tuple(prompt.items())
        return Attempt(step, role, node, prompt.name, prompt.messages(), items, prompt_hash(prompt), as_of)

    async def make(
        self,
        prompt: Prompt[Any],
        attempt: Attempt,
        limits: CallLimits | None = None,
        reserved: Callable[[Bound], Awaitable[None]] = _ignore_bound,
    ) -> Outcome:
        """Make one call, then log and charge it, however it ended.

        `reserved` is awaited once the most that the call may use is reserved, before anything is sent.

        Raises:
            BudgetExceeded: the call would not fit even if all reservations were released; nothing was sent.
        """
        model = self._model.bind(attempt.step) if isinstance(self._model, Bindable) else self._model
        async with self._gate, self._reserved(prompt, attempt, limits or self.limits) as (reservation, bound):
            await reserved(bound)
            with self._timed():
                start = time.monotonic()
                outcome = await _outcome(model, prompt, attempt.role, bound.limits)
                seconds = time.monotonic() - start
                self._took[attempt.role].append(seconds)
            outcome = outcome.without_secrets(self.store.redactor)
            if isinstance(outcome.error, BrokenOff):  # it is never taken for the step's answer
                attempt = replace(attempt, step=f"{attempt.step}/broken")
            await self._log_and_charge(attempt, outcome.reply, seconds, reservation)
        return outcome

    async def charge_lost(self, attempt: Attempt, usage: Usage, model: str) -> None:
        """Log and charge a call that was sent and whose end is unknown, at these tokens, the most that it can have used."""
        reply = Completion(None, "", usage, model, self._estimate(attempt.role, usage))
        await self._log_and_charge(attempt, reply, 0.0, self._budget)

    @asynccontextmanager
    async def _reserved(
        self, prompt: Prompt[Any], attempt: Attempt, limits: CallLimits
    ) -> AsyncIterator[tuple[Reservation, Bound]]:
        """Reserve the most that a call may use, for a shorter answer if a long one does not fit."""
        async with AsyncExitStack() as stack:
            refusal: BudgetExceeded | None = None
            for bound in bounds(self._budget, self._estimate, attempt.role, self._token_bound(prompt, attempt), limits):
                try:
                    reservation = await stack.enter_async_context(self._budget.reserve(**bound.amounts))
                except BudgetExceeded as error:
                    refusal = error
                    continue
                yield reservation, bound
                return
            raise refusal or BudgetExceeded("the budget is too small for another call")

    def _token_bound(self, prompt: Prompt[Any], attempt: Attempt) -> PromptTokenBound:
        """Return the most tokens that a call sends; the cached part is looked up only under a cap on tokens."""
        with_tool = tool_of(prompt) is not None
        cached = 0
        if self._budget.capped(Kind.TOKENS) and (with_tool or isinstance(prompt, ProxiedPrompt)):
            cached = _cached_messages(self.store, self.run_id, attempt)
        return most_sent(attempt.messages, with_tool=with_tool, cached=cached)

    async def _log_and_charge(
        self, attempt: Attempt, reply: Completion[None], seconds: float, spends: Reservation | Level
    ) -> None:
        """Log and charge a call in one transaction, which waits for an unavailable database, as the call was paid."""
        spends.spend(money=reply.cost_usd or 0.0, calls=1, tokens=reply.usage.new_tokens)
        usage_fields: dict[str, Any] = {**asdict(reply.usage), "cost_usd": reply.cost_usd}
        fields: dict[str, Any] = {"role": attempt.role, "model": reply.model, "node": attempt.node, **usage_fields}

        def write(tx: Transaction) -> None:
            messages = json.dumps(list(map(asdict, attempt.logged or attempt.messages)), ensure_ascii=False)
            row = ModelCall(
                run_id=self.run_id,
                seq=0,
                step=attempt.step,
                prompt_name=attempt.name,
                as_of=attempt.as_of,
                items=[{"id": item.id, "time": iso(item.time)} for item in attempt.items],
                messages_sha=put_blob(tx, messages),
                answer_sha=put_blob(tx, reply.text),
                prompt_hash=attempt.hash,
                at=tx.now(),
                **fields,
            )
            log_model_call(tx, row)
            charge(tx, self.run_id, _LEDGER, seconds=seconds, **fields)

        await write_with_retry(self.store, write)
        self._spent = add_up(self._spent, {**usage_fields, "seconds": seconds})


def _cached_messages(store: Store, run_id: str, attempt: Attempt) -> int:
    """Return how many leading messages the last call of the same kind had too; 0 if nothing of that one was cached.

    If the endpoint has dropped them from its cache since, it counts them again; that cannot be foreseen.
    """
    with store.read() as session:
        last = session.exec(
            select(ModelCall)
            .where(ModelCall.run_id == run_id, ModelCall.role == attempt.role, ModelCall.node == attempt.node)
            .where(ModelCall.prompt_name == attempt.name, ModelCall.completion_tokens > 0)
            .order_by(col(ModelCall.seq).desc())
        ).first()
    if last is None or not last.cached_tokens:
        return 0
    before = json.loads(store.blob(last.messages_sha))
    pairs = zip(before, map(asdict, attempt.messages), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def ensure_known(prompt: Prompt[Any], as_of: datetime, timeless_kinds: frozenset[str]) -> None:
    """Raise BotError if a prompt holds an item newer than the clock, or without a time zone: a bug must not leak it."""
    for item in prompt.items():
        is_late = item.time.tzinfo is None or item.time > as_of
        if is_late and item.id.partition("/")[0] not in timeless_kinds:
            raise BotError(
                f"the prompt {prompt.name} was not sent: it contains {item.id} from {item.time.isoformat()}, which is "
                f"after the current clock time ({as_of.isoformat()})"
            )


async def _outcome(model: Model, prompt: Prompt[Any], role: str, limits: CallLimits) -> Outcome:
    """Ask the model; errors become values, so that all outcomes are logged alike."""
    try:
        completion = await model.complete(prompt, role=role, limits=limits)
    except Unparsable as error:
        return Outcome(_charged(error.reply), fault=str(error), cut=isinstance(error, TruncatedAnswer))
    except ModelRefused as error:
        return Outcome(_charged(error.reply), refusal=str(error))
    except ModelError as error:
        return Outcome(_charged(error.reply if isinstance(error, BrokenOff) else None), error=error)
    return Outcome(replace(completion, answer=None), cut=completion.cut)


def _charged(reply: object | None) -> Completion[None]:
    """Return the reply that an error carries; without one nothing was paid."""
    if isinstance(reply, Completion):
        return Completion(None, reply.text, reply.usage, reply.model, reply.cost_usd)
    return Completion(None, "", Usage(), "", 0.0)

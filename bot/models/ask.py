"""Model calls: each is a step, paid once, logged and charged; a reply that cannot be read is repaired."""

import asyncio
import time
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any, TypeVar

from sqlmodel import col, select

from bot.budgets.kinds import Kind
from bot.budgets.levels import Held, Level, unbounded
from bot.models import CallLimits, Completion, Message, Model, Prompt, Usage
from bot.models.bounds import Estimate, Sent, bounds, free, most_sent
from bot.models.fingerprint import prompt_hash
from bot.models.prefix import cached_messages
from bot.models.recorded import Bindable, RecordedCall, RecordingWriter, step_key
from bot.models.repair import Continuation, Repair
from bot.models.tools import tool_of
from bot.models.without_secrets import without_secrets
from state.clock import Clock
from state.errors import BotError, BudgetExceeded, CutOff, ModelError, ModelRefused, Unparsable
from state.patience import patiently
from state.redaction import Redactor
from state.spending import Spent, add_up, charge, log_model_call, spent
from state.steps import Steps
from state.store import Store, Transaction
from state.tables import ModelCall

AnswerT = TypeVar("AnswerT")

MOST_REPAIRS = 2
MOST_CONTINUATIONS = 3
CALLS_IN_FLIGHT = 8
_LAST_ANSWERS = 5
_LEDGER = "tokens"


@dataclass(frozen=True)
class Totals:
    """Tokens, cost and time of a run's calls, also before a resume; `cost_usd` is None if any price is unknown."""

    calls: int
    prompt_tokens: int
    cached_tokens: int
    """Tokens of the prompts that endpoints had cached."""
    completion_tokens: int
    new_tokens: int
    """Tokens that were sent and not cached, and those that were received: a cap on tokens counts these."""
    cost_usd: float | None
    model_seconds: float
    """Wall seconds in calls; those of parallel calls add up."""


@dataclass(frozen=True)
class _Attempt:
    """One attempt at a prompt, as it is logged."""

    step: str
    role: str
    node: int | None
    prompt: Prompt[Any]
    messages: Sequence[Message]
    hash: str
    as_of: datetime


@dataclass(frozen=True)
class _Outcome:
    """The result of an attempt; `fault` is what to repair, `refused` why there is no answer."""

    reply: Completion[None]
    fault: str | None = None
    cut: bool = False
    """Whether the reply reached the token limit, which is a fault unless the prompt has a tool."""
    refused: str | None = None
    error: ModelError | None = None
    """A failure of the call itself, after which the step is not done."""

    def without_secrets(self, redactor: Redactor) -> "_Outcome":
        """Return the outcome with all secrets redacted."""
        reply = replace(self.reply, text=redactor.own(self.reply.text, f"an answer of {self.reply.model}"))
        fault, refused = (text and redactor.own(text) for text in (self.fault, self.refused))
        return replace(self, reply=reply, fault=fault, refused=refused)


class Asker:
    """Makes all model calls of one run."""

    def __init__(
        self,
        model: Model,
        store: Store,
        run_id: str,
        clock: Clock,
        steps: Steps,
        *,
        budget: Level | None = None,
        estimate: Estimate = free,
        limits: CallLimits | None = None,
        in_flight: int = CALLS_IN_FLIGHT,
        recorder: RecordingWriter | None = None,
        ageless: frozenset[str] = frozenset(),
        timed: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """Begin or resume the calls of a run; what it spent before counts.

        Args:
            model: answers; a `Bindable` one is bound to each step.
            store: where calls are logged and charged.
            run_id: the run, which must be in the store.
            clock: nothing in a prompt may be newer than its `as_of`.
            steps: the run's steps.
            budget: the run's; None: calls are not bounded.
            estimate: the cost of tokens for a role, such as `OpenAIModel.estimate`; by default nothing.
            limits: bounds of each call.
            in_flight: most calls at once in the run; further ones wait.
            recorder: where calls are recorded.
            ageless: kinds of items that prompts may hold though they are newer than the clock.
            timed: a context that is opened around each call, for a stopwatch.
        """
        self._model = model
        self._store = store
        self._run_id = run_id
        self._clock = clock
        self._steps = steps
        self._limits = limits or CallLimits()
        self._recorder = recorder
        self._ageless = ageless
        self._timed = timed
        self._spent = spent(store, run_id).get(_LEDGER, Spent())
        self._budget = budget or unbounded()
        self._estimate = estimate
        self._took: defaultdict[str, deque[float]] = defaultdict(lambda: deque(maxlen=_LAST_ANSWERS))
        self._gate = asyncio.Semaphore(in_flight)
        self._in_flight: dict[str, list[float]] = defaultdict(list)
        """By role, when its calls in flight were made (monotonic)."""

    @property
    def totals(self) -> Totals:
        """What the run has spent on calls."""
        cost = None if self._spent.unpriced else self._spent.cost_usd
        spent = self._spent
        tokens = (spent.prompt_tokens, spent.cached_tokens, spent.completion_tokens, spent.new_tokens)
        return Totals(spent.entries, *tokens, cost, spent.seconds)

    def longest_answer(self, role: str, first: float) -> float:
        """Return the longest time (seconds) of a role's last few answers in this process; `first` before any."""
        return max(self._took.get(role, ()), default=first)

    def waiting(self, role: str) -> float:
        """Return for how long (seconds) a role's oldest call in flight has waited for its answer; 0 without one."""
        calls = self._in_flight[role]
        return time.monotonic() - min(calls) if calls else 0.0

    async def ask(self, prompt: Prompt[AnswerT], *, role: str, name: str, node: int | None = None) -> AnswerT:
        """Return the answer to a prompt.

        The call is the step (run, node, name): asked again under the same name, it gives the stored answer. A reply
        that cannot be read is sent back with its fault, at most twice; one that was cut off is continued, at most three
        times. Each attempt is a step, and charged.

        Args:
            prompt: the question.
            role: who asks, such as `coder`; each role may have a model of its own.
            name: the step's name, unique within the node.
            node: the node that the call is for.

        Raises:
            BotError: the prompt holds something newer than the clock; nothing was sent.
            BudgetExceeded: the call would not fit even if all reservations were released; nothing was sent.
            ModelRefused: no answer to this prompt, or none that can be read.
            ModelUnavailable: no answer for now.
            ModelMisconfigured: no answer to any prompt.
        """
        prompt = without_secrets(prompt, self._store.redactor)
        question: Prompt[AnswerT] = prompt
        repairs = continuations = attempt = 0
        while True:
            result = await self._step(question, role, name, node, attempt)
            attempt += 1
            if result["refused"] is not None:
                raise ModelRefused(result["refused"])
            text, fault = result["text"], result["fault"]
            if fault is None:
                try:
                    return question.parse(text)
                except Unparsable as error:
                    fault = str(error)
            if isinstance(question, Continuation):
                text = question.whole(text)
            goes_on = result["cut"] and text.strip() and tool_of(prompt) is None
            if goes_on and continuations < MOST_CONTINUATIONS:
                continuations += 1
                question = Continuation(prompt, text)
                continue
            if repairs == MOST_REPAIRS:
                raise ModelRefused(f"no answer to {prompt.name} could be read in {attempt} attempts: {fault}")
            repairs += 1
            question = Repair(prompt, text, fault)

    async def _step(self, prompt: Prompt[Any], role: str, name: str, node: int | None, attempt: int) -> dict[str, Any]:
        """Return the outcome of an attempt: the stored one, or that of a call made now."""
        as_of = self._clock.as_of()
        ensure_known(prompt, as_of, self._ageless)
        step = step_key(name, node, attempt)
        asked = _Attempt(step, role, node, prompt, prompt.messages(), prompt_hash(prompt), as_of)

        async def make() -> dict[str, Any]:
            outcome = self._logged(asked) or await self._call(asked)
            if outcome.error is not None:
                raise outcome.error
            if self._recorder is not None:
                self._recorder.write(_recorded(asked, outcome))
            kept = {"text": outcome.reply.text, "fault": outcome.fault, "refused": outcome.refused}
            return {**kept, "cut": outcome.cut}

        return await self._steps.once(name, make, node=node, attempt=attempt, prompt_hash=asked.hash)

    def _logged(self, asked: _Attempt) -> _Outcome | None:
        """Return the outcome of a call that a killed process had logged, but not yet stored as the step's result."""
        with self._store.read() as session:
            call = session.exec(
                select(ModelCall)
                .where(ModelCall.run_id == self._run_id, ModelCall.step == asked.step)
                .where(ModelCall.prompt_hash == asked.hash, ModelCall.completion_tokens > 0)
                .order_by(col(ModelCall.seq).desc())
            ).first()
        if call is None:
            return None
        usage = Usage(call.prompt_tokens, call.completion_tokens, call.cached_tokens)
        return _Outcome(
            Completion(
                None, self._store.blob(call.answer_sha).decode(errors="surrogatepass"), usage, call.model, call.cost_usd
            )
        )

    async def _call(self, asked: _Attempt) -> _Outcome:
        """Make one call, then log and charge it, however it ended."""
        model = self._model.bind(asked.step) if isinstance(self._model, Bindable) else self._model
        async with self._gate, self._reserved(asked) as (held, limits):
            with self._timed():
                start = time.monotonic()
                self._in_flight[asked.role].append(start)
                try:
                    outcome = await _outcome(model, asked, limits)
                finally:
                    self._in_flight[asked.role].remove(start)
                seconds = time.monotonic() - start
                self._took[asked.role].append(seconds)
            outcome = outcome.without_secrets(self._store.redactor)
            await self._log_and_charge(asked, outcome, seconds, held)
        return outcome

    @asynccontextmanager
    async def _reserved(self, asked: _Attempt) -> AsyncIterator[tuple[Held, CallLimits]]:
        """Reserve the most that a call may use, for a shorter answer if a long one does not fit."""
        async with AsyncExitStack() as stack:
            refused: BudgetExceeded | None = None
            for bound in bounds(self._budget, self._estimate, asked.role, self._sent(asked), self._limits):
                try:
                    held = await stack.enter_async_context(self._budget.reserve(**bound.amounts))
                except BudgetExceeded as error:
                    refused = error
                    continue
                yield held, bound.limits
                return
            raise refused or BudgetExceeded("no call fits into the budget")

    def _sent(self, asked: _Attempt) -> Sent:
        """Return the most tokens that a call sends; the cached part is looked up only under a cap on tokens."""
        if tool_of(asked.prompt) is None:
            return most_sent(asked.messages, with_tool=False)
        cached = 0
        if self._budget.capped(Kind.TOKENS):
            cached = cached_messages(
                self._store,
                self._run_id,
                role=asked.role,
                prompt_name=asked.prompt.name,
                node=asked.node,
                messages=asked.messages,
            )
        return most_sent(asked.messages, with_tool=True, cached=cached)

    async def _log_and_charge(self, asked: _Attempt, outcome: _Outcome, seconds: float, held: Held) -> None:
        """Log and charge a call in one transaction, which waits for an unavailable database, as the call was paid."""
        reply = outcome.reply
        held.spend(money=reply.cost_usd or 0.0, calls=1, tokens=reply.usage.new_tokens)
        took: dict[str, Any] = {
            "prompt_tokens": reply.usage.prompt_tokens,
            "cached_tokens": reply.usage.cached_tokens,
            "completion_tokens": reply.usage.completion_tokens,
            "cost_usd": reply.cost_usd,
        }
        same: dict[str, Any] = {"role": asked.role, "model": reply.model, "node": asked.node, **took}

        def write(tx: Transaction) -> None:
            log_model_call(
                tx,
                self._run_id,
                step=asked.step,
                prompt_name=asked.prompt.name,
                as_of=asked.as_of,
                items=[(item.id, item.time) for item in asked.prompt.items()],
                messages=[asdict(message) for message in asked.messages],
                answer=reply.text,
                prompt_hash=asked.hash,
                **same,
            )
            charge(tx, self._run_id, _LEDGER, seconds=seconds, **same)

        await patiently(self._store, write)
        self._spent = add_up(self._spent, {**took, "seconds": seconds})


def ensure_known(prompt: Prompt[Any], as_of: datetime, ageless: frozenset[str]) -> None:
    """Raise BotError if a prompt holds an item newer than the clock, or without a time zone: a bug must not leak it."""
    for item in prompt.items():
        late = item.time.tzinfo is None or item.time > as_of
        if late and item.id.partition("/")[0] not in ageless:
            raise BotError(
                f"the prompt {prompt.name} holds {item.id} of {item.time.isoformat()}, "
                f"but nothing after {as_of.isoformat()} may be known; it was not sent"
            )


async def _outcome(model: Model, asked: _Attempt, limits: CallLimits) -> _Outcome:
    """Ask the model; errors become values, so that all outcomes are logged alike."""
    try:
        completion = await model.complete(asked.prompt, role=asked.role, limits=limits)
    except Unparsable as error:
        return _Outcome(_charged(error.reply), fault=str(error), cut=isinstance(error, CutOff))
    except ModelRefused as error:
        return _Outcome(_charged(error.reply), refused=str(error))
    except ModelError as error:
        return _Outcome(_charged(None), error=error)
    return _Outcome(replace(completion, answer=None), cut=completion.cut)


def _charged(reply: object | None) -> Completion[None]:
    """Return the reply that an error carries; without one nothing was paid."""
    if isinstance(reply, Completion):
        return Completion(None, reply.text, reply.usage, reply.model, reply.cost_usd)
    return Completion(None, "", Usage(), "", 0.0)


def _recorded(asked: _Attempt, outcome: _Outcome) -> RecordedCall:
    reply = outcome.reply
    return RecordedCall(
        step=asked.step,
        prompt_hash=asked.hash,
        messages=tuple(asked.messages),
        text=reply.text,
        usage=reply.usage,
        model=reply.model,
        cost_usd=reply.cost_usd,
        fault=outcome.fault,
        cut=outcome.cut,
        refused=outcome.refused,
    )

"""Model calls: each is a step, paid once, logged and charged; a reply that cannot be read is repaired."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeVar

from pydantic import BaseModel
from sqlmodel import col, select

from bot.budgets.levels import Level
from bot.models import CallLimits, Completion, Item, Message, Model, Prompt, Totals, Usage
from bot.models.bounds import Bound, Estimate, free
from bot.models.calls import CALLS_IN_FLIGHT, Attempt, Calls, Outcome
from bot.models.completion import parsed
from bot.models.passing import PROBE
from bot.models.recordings import RecordedCall, RecordingWriter, step_key
from bot.models.repair import Continuation, Repair
from bot.models.tools import tool_of
from bot.models.usefulness import Usefulness, why_unusable
from state.clock import Clock
from state.errors import BotError, BudgetExceeded, ModelError, ModelRefused, Unparsable
from state.redaction import Redactor
from state.steps import Key, StepKind, Steps
from state.store import Store
from state.tables import ModelCall

PromptT = TypeVar("PromptT", bound=Prompt[Any])


def without_secrets(prompt: PromptT, redactor: Redactor) -> PromptT:
    """Return a prompt of the same kind without secrets in its messages, or the same one if there are none.

    Raises BotError: a secret is in a place that cannot be redacted; the prompt must not be sent.
    """
    if not (redactor and _holds_any(prompt, redactor)):
        return prompt
    # Only messages raise the warning: the prompt's values may hold what no message shows.
    for message in prompt.messages():
        redactor.own(message.content, f"the prompt {prompt.name}")
    redacted: PromptT = _redacted(prompt, redactor)
    if _holds_any(redacted, redactor):
        raise BotError(f"the prompt {prompt.name} contains one of the bot's secrets and was not sent")
    return redacted


def _holds_any(prompt: Prompt[Any], redactor: Redactor) -> bool:
    return any(redactor.own(message.content) != message.content for message in prompt.messages())


def _redacted(value: Any, redactor: Redactor) -> Any:
    """Return a value with all its texts redacted; it keeps its type, on which the built-in model depends."""
    if isinstance(value, str):
        return redactor.own(value)
    if is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in fields(value) if field.init]
        return replace(value, **{name: _redacted(getattr(value, name), redactor) for name in names})
    if isinstance(value, BaseModel):
        return value.model_copy(update={name: _redacted(item, redactor) for name, item in value})
    if isinstance(value, Mapping):
        return {key: _redacted(item, redactor) for key, item in value.items()}
    if type(value) in (list, tuple, frozenset, set):
        return type(value)(_redacted(item, redactor) for item in value)
    return value


AnswerT = TypeVar("AnswerT")

MOST_REPAIRS = 2
MOST_CONTINUATIONS = 3
GRACE = 30.0
"""Seconds that a call continues after its caller was cancelled: its answer is paid for, so it is stored if it comes."""


@dataclass(frozen=True)
class _PlainQuestion:
    """A question that any model answers, without untrusted text."""

    name: str = "plain question"

    def messages(self) -> Sequence[Message]:
        return (Message("user", PROBE),)

    def parse(self, text: str) -> str:
        return text

    def items(self) -> Sequence[Item]:
        return ()


@dataclass(frozen=True)
class CallResult:
    """The outcome of a call, as its step stores it."""

    text: str
    fault: str | None
    refusal: str | None
    cut: bool


@dataclass
class _UnderWay:
    """A step that is being made."""

    task: asyncio.Task[CallResult] | None = None
    sent: bool = False
    """Whether its call no longer waits for its turn."""
    end: asyncio.TimerHandle | None = None
    """Ends the call, once nobody waits for it."""

    async def send(self, bound: Bound) -> None:
        """Note that the call is made now."""
        self.sent = True


class Asker:
    """Asks all prompts of one run."""

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
        timeless_kinds: frozenset[str] = frozenset(),
        timed: Callable[[], AbstractContextManager[None]] = nullcontext,
        usefulness: Usefulness | None = None,
    ) -> None:
        """Start or resume the calls of a run, including its earlier spending.

        Args:
            model: answers; a `Bindable` one is bound to each step.
            run_id: the run, which must be in the store.
            clock: nothing in a prompt may be newer than its `as_of`.
            budget: the run's; None: calls are not bounded.
            estimate: the cost of tokens for a role, such as `OpenAIModel.estimate`; by default nothing.
            in_flight: most calls at once in the run; further ones wait.
            timeless_kinds: kinds of items that prompts may hold though they are newer than the clock.
            timed: a context that is opened around each call, for a stopwatch.
            usefulness: counts answers that cannot be used, which end the model's part; None: they are not counted.
        """
        self.calls = Calls(
            model,
            store,
            run_id,
            clock,
            budget=budget,
            estimate=estimate,
            limits=limits,
            in_flight=in_flight,
            timeless_kinds=timeless_kinds,
            timed=timed,
        )
        self.steps = steps
        self.usefulness = usefulness
        self._store = store
        self._run_id = run_id
        self._recorder = recorder
        self._under_way: dict[str, _UnderWay] = {}
        """By the step's key."""
        self._failed: Attempt | None = None
        """The last call that failed."""

    async def settle(self, seconds: float = GRACE) -> None:
        """Wait at most so many seconds for calls whose caller was cancelled, and end the rest."""
        tasks = [call.task for call in self._under_way.values() if call.task is not None and call.end is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    @property
    def totals(self) -> Totals:
        """What the run has spent on calls."""
        return self.calls.totals

    def longest_answer(self, role: str, first: float) -> float:
        """Return the longest time (seconds) of a role's last few answers in this process; `first` before any."""
        return self.calls.longest_answer(role, first)

    async def ask(self, prompt: Prompt[AnswerT], *, role: str, name: str, node: int | None = None) -> AnswerT:
        """Return the answer to a prompt.

        The call is the step (run, node, name): asked again under the same name, it gives the stored answer. A reply
        that cannot be read is sent back with its fault, at most twice; one that was cut off is continued, at most three
        times. Each attempt is a step, and charged. An attempt under way when the asker is cancelled goes on for `GRACE`
        seconds, in which its answer is stored: asked again, it is found, or waited for.

        Args:
            role: who asks, such as `coder`; each role may have a model of its own.
            name: the step's name, unique within the node.

        Raises:
            BotError: the prompt holds something newer than the clock; nothing was sent.
            BudgetExceeded: the call would not fit even if all reservations were released; nothing was sent.
            ModelRefused: no answer to this prompt, or none that can be read.
            ModelUnavailable: no answer for now.
            ModelMisconfigured: no answer to any prompt.
            ModelUseless: too many answers in a row could not be used.
        """
        prompt = without_secrets(prompt, self._store.redactor)
        question: Prompt[AnswerT] = prompt
        repairs = continuations = attempt = 0
        while True:
            result = await self._call(question, role, name, node, attempt)
            attempt += 1
            if result.refusal is not None:
                self._note(role, result.refusal)
                raise ModelRefused(result.refusal)
            text, fault = result.text, result.fault
            if fault is None:
                try:
                    answer = parsed(question, text)
                except Unparsable as error:
                    fault = str(error)
                else:
                    self._note(role, why_unusable(prompt, text))
                    return answer
            if isinstance(question, Continuation):
                text = question.join(text)
            is_continuable = result.cut and text.strip() and tool_of(prompt) is None
            if is_continuable and continuations < MOST_CONTINUATIONS:
                continuations += 1
                question = Continuation(prompt, text)
                continue
            self._note(role, fault)
            if repairs == MOST_REPAIRS:
                raise ModelRefused(f"no usable answer to {prompt.name} after {attempt} attempts: {fault}")
            repairs += 1
            question = Repair(prompt, text, fault)

    async def _call(self, prompt: Prompt[Any], role: str, name: str, node: int | None, attempt: int) -> CallResult:
        """Return the outcome of an attempt; raises ModelUseless if too many of the role's answers could not be used."""
        if self.usefulness is None:
            return await self._step(prompt, role, name, node, attempt)
        self.usefulness.ensure(role)
        try:
            return await self._step(prompt, role, name, node, attempt)
        except ModelError as error:
            self.usefulness.note_failure(str(error))
            raise

    async def is_model_down(self) -> bool:
        """Return whether the model of the last failed call cannot answer a plain question either."""
        if self._failed is None:
            return True
        question = _PlainQuestion()
        attempt = self.calls.attempt(question, f"{self._failed.step}/own", self._failed.role, self._failed.node)
        try:
            return (await self.calls.make(question, attempt)).error is not None
        except BudgetExceeded:
            return True

    def _note(self, role: str, reason: str | None) -> None:
        if self.usefulness is not None:
            self.usefulness.note(role, reason)

    async def _step(self, prompt: Prompt[Any], role: str, name: str, node: int | None, attempt: int) -> CallResult:
        """Return the outcome of an attempt: the stored one, or that of a call made now."""
        call_attempt = self.calls.attempt(prompt, step_key(name, node, attempt), role, node)
        call = self._under_way.setdefault(call_attempt.step, _UnderWay())

        async def make() -> CallResult:
            outcome = self._logged(call_attempt) or await self.calls.make(prompt, call_attempt, reserved=call.send)
            if outcome.error is not None:
                self._failed = call_attempt
                raise outcome.error
            if self._recorder is not None:
                self._recorder.write(_recorded(call_attempt, outcome))
            return CallResult(outcome.reply.text, outcome.fault, outcome.refusal, outcome.cut)

        if call.task is None:
            once = self.steps.once(
                StepKind(name, CallResult), make, Key(node or 0, attempt=attempt), prompt_hash=call_attempt.hash
            )
            call.task = asyncio.create_task(once)
            call.task.add_done_callback(lambda task: self._forget(call_attempt.step, task))
        elif call.end is not None:
            call.end.cancel()
            call.end = None
        else:
            raise RuntimeError(f"step {call_attempt.step} is already running")
        try:
            return await asyncio.shield(call.task)
        except asyncio.CancelledError:
            if not call.sent:
                call.task.cancel()
                await asyncio.wait({call.task})
            elif not call.task.done():
                call.end = asyncio.get_running_loop().call_later(GRACE, call.task.cancel)
            raise

    def _forget(self, step: str, task: asyncio.Task[CallResult]) -> None:
        if (end := self._under_way.pop(step).end) is not None:
            end.cancel()
        if not task.cancelled():
            task.exception()  # retrieved, or asyncio would log it as never retrieved

    def _logged(self, attempt: Attempt) -> Outcome | None:
        """Return the outcome of a call that a killed process had logged, but not yet stored as the step's result."""
        with self._store.read() as session:
            call = session.exec(
                select(ModelCall)
                .where(ModelCall.run_id == self._run_id, ModelCall.step == attempt.step)
                .where(ModelCall.prompt_hash == attempt.hash, ModelCall.completion_tokens > 0)
                .order_by(col(ModelCall.seq).desc())
            ).first()
        if call is None:
            return None
        usage = Usage(call.prompt_tokens, call.completion_tokens, call.cached_tokens)
        text = self._store.blob(call.answer_sha).decode(errors="surrogatepass")
        return Outcome(Completion(None, text, usage, call.model, call.cost_usd))


def _recorded(attempt: Attempt, outcome: Outcome) -> RecordedCall:
    reply = outcome.reply
    return RecordedCall(
        step=attempt.step,
        prompt_hash=attempt.hash,
        messages=tuple(attempt.messages),
        text=reply.text,
        usage=reply.usage,
        model=reply.model,
        cost_usd=reply.cost_usd,
        fault=outcome.fault,
        cut=outcome.cut,
        refusal=outcome.refusal,
    )

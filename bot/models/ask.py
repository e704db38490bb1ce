"""Model calls: each is a step, paid once, logged and charged; a reply that cannot be read is repaired."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

from sqlmodel import col, select

from bot.budgets.levels import Level
from bot.models import CallLimits, Completion, Model, Prompt, Usage
from bot.models.bounds import Estimate, free
from bot.models.calls import CALLS_IN_FLIGHT, Attempt, Calls, Outcome, Totals
from bot.models.recorded import RecordedCall, RecordingWriter, step_key
from bot.models.repair import Continuation, Repair
from bot.models.tools import tool_of
from bot.models.without_secrets import without_secrets
from state.clock import Clock
from state.errors import ModelRefused, Unparsable
from state.steps import Steps
from state.store import Store
from state.tables import ModelCall

AnswerT = TypeVar("AnswerT")

MOST_REPAIRS = 2
MOST_CONTINUATIONS = 3


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
        self.calls = Calls(
            model,
            store,
            run_id,
            clock,
            budget=budget,
            estimate=estimate,
            limits=limits,
            in_flight=in_flight,
            ageless=ageless,
            timed=timed,
        )
        self.steps = steps
        self._store = store
        self._run_id = run_id
        self._recorder = recorder

    @property
    def totals(self) -> Totals:
        """What the run has spent on calls."""
        return self.calls.totals

    def longest_answer(self, role: str, first: float) -> float:
        """Return the longest time (seconds) of a role's last few answers in this process; `first` before any."""
        return self.calls.longest_answer(role, first)

    def waiting(self, role: str) -> float:
        """Return for how long (seconds) a role's oldest call in flight has waited for its answer; 0 without one."""
        return self.calls.waiting(role)

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
        asked = self.calls.attempt(prompt, step_key(name, node, attempt), role, node)

        async def make() -> dict[str, Any]:
            outcome = self._logged(asked) or await self.calls.make(prompt, asked)
            if outcome.error is not None:
                raise outcome.error
            if self._recorder is not None:
                self._recorder.write(_recorded(asked, outcome))
            kept = {"text": outcome.reply.text, "fault": outcome.fault, "refused": outcome.refused}
            return {**kept, "cut": outcome.cut}

        return await self.steps.once(name, make, node=node, attempt=attempt, prompt_hash=asked.hash)

    def _logged(self, asked: Attempt) -> Outcome | None:
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
        return Outcome(
            Completion(
                None, self._store.blob(call.answer_sha).decode(errors="surrogatepass"), usage, call.model, call.cost_usd
            )
        )


def _recorded(asked: Attempt, outcome: Outcome) -> RecordedCall:
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

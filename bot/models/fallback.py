"""A list of models, asked in order: where one does not answer, the next one does."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from bot.models import CallLimits, Completion, Model, Prompt, Usage
from bot.models.bounds import Estimate
from bot.models.repair import Repair
from state.breaker import Breaker
from state.clock import Clock
from state.errors import EmptyAnswer, ModelError, ModelMisconfigured, ModelRefused, ModelUnavailable, Unparsable

AnswerT = TypeVar("AnswerT")


@dataclass(frozen=True)
class Answerer:
    """One that may answer; `name` is for people, `estimate` says what its tokens cost."""

    name: str
    model: Model
    estimate: Estimate
    instant: bool = False
    """It takes no time and is always there: no time is kept for it, and it is never left in peace."""


@dataclass(frozen=True)
class AnswererChanged:
    """Another one answers than before; `why` is what went wrong before it was asked, None where all is well again."""

    before: str
    after: str
    why: str | None

    def __str__(self) -> str:
        if self.why is None:
            return f"{self.after} answers again"
        return f"{self.after} answers in place of {self.before}: {self.why}"


OnChange = Callable[[AnswererChanged], None]
"""Called with each change, after the answer came and before it is handed on."""


class _Call:
    """What is known of one call: its deadline, what went wrong, and what was charged for no answer."""

    def __init__(self, limits: CallLimits) -> None:
        self._limits = limits
        self._deadline = asyncio.get_running_loop().time() + limits.seconds
        self.failures: list[tuple[Answerer, ModelError]] = []
        self.empty: EmptyAnswer | None = None
        """The last empty answer, which carries what all of them cost."""

    def limits(self, waiting: int) -> CallLimits:
        """Return the bounds of the next one: its even share of the time that is left, if so many more may be asked."""
        left = self._deadline - asyncio.get_running_loop().time()
        return replace(self._limits, seconds=max(0.0, left / (waiting + 1)))

    def charged(self, reply: Completion[AnswerT]) -> Completion[AnswerT]:
        """Return a reply with what empty answers before it took: they were paid too."""
        before = self.empty.reply if self.empty is not None else None
        return _both(before, reply) if isinstance(before, Completion) else reply

    def error(self) -> ModelError:
        """Return what stands for all failures: there is hope as long as one of them may pass."""
        if self.empty is not None:
            return self.empty
        kind = ModelMisconfigured if all(isinstance(e, ModelMisconfigured) for _, e in self.failures) else None
        return (kind or ModelUnavailable)(f"none of the models answered: {self.why}")

    @property
    def why(self) -> str:
        """What went wrong so far."""
        return "; ".join(f"{answerer.name}: {error}" for answerer, error in self.failures)


class FallbackModel:
    """A `Model`: the first of a list that answers.

    The next one is asked where one is ModelUnavailable, ModelMisconfigured, or had nothing to say (EmptyAnswer). Any
    other ModelRefused is about the prompt and is handed on: a content filter is not to be got round at the next door.
    Each has a `Breaker`; one that is left in peace is asked after all others, so that a call only fails if none answers.
    """

    def __init__(self, answerers: Sequence[Answerer], clock: Clock, on_change: OnChange = lambda change: None) -> None:
        """Take those that may answer, in order, and what is called when another one does."""
        self._answerers = tuple(answerers)
        self._breakers = {a.name: Breaker(clock) for a in answerers}
        if len(self._breakers) < len(self._answerers):
            raise ValueError("two answerers have one name")
        self._errors: dict[str, ModelError] = {}
        self._on_change = on_change
        self._current = self._answerers[0]

    def estimate(self, role: str, usage: Usage) -> float | None:
        """Return the most that so many tokens can cost (USD), whoever answers; None where a price is unknown."""
        costs = [answerer.estimate(role, usage) for answerer in self._answerers]
        known = [cost for cost in costs if cost is not None]
        return max(known) if len(known) == len(costs) else None

    async def complete(self, prompt: Prompt[AnswerT], *, role: str, limits: CallLimits) -> Completion[AnswerT]:
        """Answer one prompt; the errors are those of `Model`, and say what went wrong with each that was asked.

        All tries together take at most `limits.seconds`; each one's share leaves as much for each that comes after it.
        What an empty answer cost is added to the answer's cost.
        """
        call = _Call(limits)
        resting = []
        for position, answerer in enumerate(self._answerers):
            if not self._admits(answerer):
                resting.append(answerer)
                continue
            waiting = [a for a in self._answerers[position + 1 :] if self._admits(a) and not a.instant]
            completion = await self._try(answerer, call, len(waiting), prompt, role)
            if completion is not None:
                return completion
        for position, answerer in enumerate(resting):
            completion = await self._try(answerer, call, len(resting) - position - 1, prompt, role)
            if completion is not None:
                return completion
        raise call.error()

    def _admits(self, answerer: Answerer) -> bool:
        return answerer.instant or self._breakers[answerer.name].admits()

    async def _try(
        self, answerer: Answerer, call: _Call, waiting: int, prompt: Prompt[AnswerT], role: str
    ) -> Completion[AnswerT] | None:
        """Return the answer; None where there is none, which is then written down in `call`."""
        limits = call.limits(waiting)
        if limits.seconds <= 0 and not answerer.instant:
            call.failures.append((answerer, ModelUnavailable("no time was left for it")))
            return None
        breaker = self._breakers[answerer.name]
        with breaker.call() as number:
            try:
                completion = await answerer.model.complete(prompt, role=role, limits=limits)
            except (ModelUnavailable, ModelMisconfigured, EmptyAnswer) as error:
                if isinstance(error, EmptyAnswer) and isinstance(error.reply, Completion):
                    error.reply = call.charged(error.reply)
                    call.empty = error
                call.failures.append((answerer, error))
                self._errors[answerer.name] = error
                breaker.fail(number, lasting=isinstance(error, ModelMisconfigured))
                return None
            except (ModelRefused, Unparsable) as error:
                if isinstance(error.reply, Completion):
                    error.reply = call.charged(error.reply)
                self._answered(answerer, call)
                raise
        self._answered(answerer, call)
        return call.charged(completion)

    def _answered(self, answerer: Answerer, call: _Call) -> None:
        """Close its breaker, and report a change."""
        before = self._current
        self._breakers[answerer.name].succeed()
        order = self._answerers.index
        # A call that began before the change may end after it; it changes nothing back.
        if order(answerer) > order(before) and self._breakers[before.name].closed:
            return
        if answerer is before:
            return
        self._current = answerer
        why = None
        if order(answerer) > order(before):
            why = call.why or f"{before.name}: {self._errors[before.name]}"
        self._on_change(AnswererChanged(before.name, answerer.name, why))


class LastResort:
    """A `Model`: the built-in one behind others. It answers a repair as the question itself, and is never final.

    A prompt that it has no rule for is ModelUnavailable, not refused: those before it can answer it another time.
    """

    def __init__(self, model: Model) -> None:
        self._model = model

    async def complete(self, prompt: Prompt[AnswerT], *, role: str, limits: CallLimits) -> Completion[AnswerT]:
        """Answer one prompt."""
        question = prompt.original if isinstance(prompt, Repair) else prompt
        try:
            return await self._model.complete(question, role=role, limits=limits)
        except ModelRefused as error:
            raise ModelUnavailable(str(error)) from None


def _both(before: Completion[Any], after: Completion[AnswerT]) -> Completion[AnswerT]:
    """Return the later reply with the tokens and the cost of both."""
    unknown = before.cost_usd is None or after.cost_usd is None
    cost = None if unknown else (before.cost_usd or 0.0) + (after.cost_usd or 0.0)
    return replace(after, usage=before.usage + after.usage, cost_usd=cost)

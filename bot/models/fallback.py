"""A list of models, tried in order until one answers."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from bot.models import CallLimits, Completion, Model, Prompt, Usage
from bot.models.bounds import Estimate
from bot.models.repair import Repair
from state.breaker import Breaker
from state.clock import Clock
from state.errors import (
    BrokenOff,
    EmptyAnswer,
    ModelError,
    ModelMisconfigured,
    ModelRefused,
    ModelUnavailable,
    Unparsable,
)

AnswerT = TypeVar("AnswerT")


@dataclass(frozen=True)
class Answerer:
    """A model of the list; `name` is for people, `estimate` gives the cost of its tokens."""

    name: str
    model: Model
    estimate: Estimate
    instant: bool = False
    """It answers at once, always: no time is reserved for it, and no breaker pauses it."""


@dataclass(frozen=True)
class AnswererChanged:
    """Another model answers than before; `reason` is what failed before it, None if an earlier one answers again."""

    before: str
    after: str
    reason: str | None

    def __str__(self) -> str:
        return f"{self.after} " + (f"replaces {self.before}: {self.reason}" if self.reason else "answers again")


OnChange = Callable[[AnswererChanged], None]
"""Called with each change, before the answer is returned."""


class _Call:
    """The state of one call: its deadline, failures, and what answers of no use cost."""

    def __init__(self, limits: CallLimits) -> None:
        self._limits = limits
        self._deadline = asyncio.get_running_loop().time() + limits.seconds
        self.failures: list[tuple[Answerer, ModelError]] = []
        self.lost: EmptyAnswer | BrokenOff | None = None
        """The last answer that was empty or broke off, with the cost of all."""

    def limits(self, remaining_count: int) -> CallLimits:
        """Return the next model's limits: an even share of the time left, with `waiting` more to come."""
        seconds_left = self._deadline - asyncio.get_running_loop().time()
        return replace(self._limits, seconds=max(0.0, seconds_left / (remaining_count + 1)))

    def charged(self, reply: Completion[AnswerT]) -> Completion[AnswerT]:
        """Return a reply with the tokens and cost of the lost answers before it added: they were paid too."""
        before = self.lost.reply if self.lost is not None else None
        return _merge_completions(before, reply) if isinstance(before, Completion) else reply

    def error(self) -> ModelError:
        """Return one error for all failures: ModelMisconfigured only if all are, as any other may pass."""
        if self.lost is not None:
            return self.lost
        kind = ModelMisconfigured if all(isinstance(e, ModelMisconfigured) for _, e in self.failures) else None
        return (kind or ModelUnavailable)(f"no model answered: {self.reason}")

    @property
    def reason(self) -> str:
        """The failures so far, in words."""
        return "; ".join(f"{answerer.name}: {error}" for answerer, error in self.failures)


class FallbackModel:
    """A `Model`: the first of a list that answers.

    The next one is tried after ModelUnavailable, ModelMisconfigured and EmptyAnswer. Any other ModelRefused is about
    the prompt and is raised: a content filter must not be evaded at another endpoint. Each model has a `Breaker`; those
    it pauses are tried after all others, so that a call only fails if none answers.
    """

    def __init__(self, answerers: Sequence[Answerer], clock: Clock, on_change: OnChange = lambda change: None) -> None:
        """Set the models in the order of trying, and the callback for changes."""
        self._answerers = tuple(answerers)
        self._breakers = {a.name: Breaker(clock) for a in answerers}
        if len(self._breakers) < len(self._answerers):
            raise ValueError("two models have the same name")
        self._errors: dict[str, ModelError] = {}
        self._on_change = on_change
        self._current = self._answerers[0]

    def estimate(self, role: str, usage: Usage) -> float | None:
        """Return the highest cost (USD) of tokens among the models; None: a price is unknown."""
        costs = [answerer.estimate(role, usage) for answerer in self._answerers]
        known_costs = [cost for cost in costs if cost is not None]
        return max(known_costs) if len(known_costs) == len(costs) else None

    async def complete(self, prompt: Prompt[AnswerT], *, role: str, limits: CallLimits) -> Completion[AnswerT]:
        """Answer one prompt; the errors are those of `Model`, and name the failure of each model that was tried.

        All tries together take at most `limits.seconds`, in even shares. The cost of answers that were empty or
        broke off is added to the answer's.
        """
        call = _Call(limits)
        admitted = {a: a.instant or self._breakers[a.name].admits() for a in self._answerers}
        order = sorted(self._answerers, key=lambda answerer: not admitted[answerer])
        for position, answerer in enumerate(order):
            later = [a for a in order[position + 1 :] if admitted[a] == admitted[answerer] and not a.instant]
            completion = await self._try(answerer, call, len(later), prompt, role)
            if completion is not None:
                return completion
        raise call.error()

    async def _try(
        self, answerer: Answerer, call: _Call, remaining_count: int, prompt: Prompt[AnswerT], role: str
    ) -> Completion[AnswerT] | None:
        """Return the answer; None: there is none, which is noted in `call`."""
        limits = call.limits(remaining_count)
        if limits.seconds <= 0 and not answerer.instant:
            call.failures.append((answerer, ModelUnavailable("no time left")))
            return None
        breaker = self._breakers[answerer.name]
        with breaker.call() as number:
            try:
                completion = await answerer.model.complete(prompt, role=role, limits=limits)
            except (ModelUnavailable, ModelMisconfigured, EmptyAnswer) as error:
                if isinstance(error, (EmptyAnswer, BrokenOff)) and isinstance(error.reply, Completion):
                    error.reply = call.charged(error.reply)
                    call.lost = error
                call.failures.append((answerer, error))
                self._errors[answerer.name] = error
                breaker.fail(number, lasting=isinstance(error, ModelMisconfigured))
                return None
            except (ModelRefused, Unparsable) as error:
                if isinstance(error.reply, Completion):
                    error.reply = call.charged(error.reply)
                self._note_answerer(answerer, call)
                raise
        self._note_answerer(answerer, call)
        return call.charged(completion)

    def _note_answerer(self, answerer: Answerer, call: _Call) -> None:
        """Close the answerer's breaker, and report a change."""
        before = self._current
        self._breakers[answerer.name].succeed()
        order = self._answerers.index
        # A call that began before a change may end after it; it must not undo the change.
        is_later = order(answerer) > order(before)
        if answerer is before or (is_later and self._breakers[before.name].closed):
            return
        self._current = answerer
        reason = (call.reason or f"{before.name}: {self._errors[before.name]}") if is_later else None
        self._on_change(AnswererChanged(before.name, answerer.name, reason))


class LastResort:
    """A `Model`: the built-in one behind others. It answers a repair as it does the original prompt.

    A prompt that it has no rule for is ModelUnavailable, not refused: another model may answer it later.
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


def _merge_completions(before: Completion[Any], after: Completion[AnswerT]) -> Completion[AnswerT]:
    """Return the later reply with the tokens and the cost of both."""
    unknown = before.cost_usd is None or after.cost_usd is None
    cost = None if unknown else (before.cost_usd or 0.0) + (after.cost_usd or 0.0)
    return replace(after, usage=before.usage + after.usage, cost_usd=cost)

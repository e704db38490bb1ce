"""One real answer of a model: whether it can be used, how fast it comes, and what an hour at that speed costs."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from time import monotonic
from typing import ClassVar

from bot.doctor import Finding
from bot.models import CallLimits, Item, Message
from bot.models.endpoint import Abilities, Endpoint, OpenAIModel
from bot.models.pricing import Pricing
from bot.models.tools import Tool
from state.clock import SystemClock
from state.errors import ModelError, Unparsable

MOST_TOKENS = 200
_SECONDS = 180.0
"""That it may take: a small model on a processor reads 3,000 tokens in a minute or two."""
_RETRIES = 1
_ROW = "row {n}: the sensor in hall {hall} read {value} degrees at noon, and the valve was {valve} percent open.\n"
_ROWS = 115
"""Rows of some 26 tokens each."""


@dataclass(frozen=True)
class TrialPrompt:
    """Asks for one command that prints a few sentences on a table of about 3,000 tokens."""

    tool: ClassVar[Tool] = Tool("sh", "Run one bash command and see its output.", "command", "The command.")
    name: ClassVar[str] = "trial"

    def messages(self) -> Sequence[Message]:
        """Return the conversation."""
        rows = (_ROW.format(n=n, hall=n % 7, value=15 + n * 37 % 19, valve=n * 53 % 100) for n in range(1, _ROWS + 1))
        question = (
            f"{''.join(rows)}\nWrite one command that uses echo to print, in about eighty words, what these rows have in common. "
            "Call the tool sh with it, or put it in one block fenced with ```sh and ```."
        )
        return (Message("system", "You work in a shell, one command at a time."), Message("user", question))

    def parse(self, text: str) -> str:
        """Return the text."""
        return text

    def items(self) -> Sequence[Item]:
        """Return nothing: it holds no posts."""
        return ()


@dataclass(frozen=True)
class Trial:
    """What one answer has shown."""

    tokens_per_second: float
    cost_of_hour: float | None
    """USD of an hour of such answers, one after the other; None: a price is unknown."""
    abilities: Abilities
    notices: tuple[str, ...]
    """Reasons why the prompt was not read in full."""

    def __str__(self) -> str:
        able, hour = self.abilities, self.cost_of_hour
        parts = (
            f"{self.tokens_per_second:.1f} tokens/s",
            f"context {f'{able.context:,}' if able.context else 'unknown'}",
            f"tool calls {'yes' if able.calls_tools else 'no'}",
            f"streaming {'yes' if able.streams else 'no'}",
            "price unknown" if hour is None else f"${hour:.2f} per hour of continuous calls",
        )
        return ", ".join(parts)


async def attempt(endpoint: Endpoint, pricing: Pricing, role: str) -> Trial:
    """Make one completion of a role's model. Raises ModelError: there was no answer, or none that can be used."""
    notices: list[str] = []
    quick = replace(endpoint, retries=min(endpoint.retries, _RETRIES), timeout=min(endpoint.timeout, _SECONDS))
    async with aclosing(OpenAIModel(quick, pricing, SystemClock(), notices.append)) as model:
        started_at = monotonic()
        limits = CallLimits(seconds=_SECONDS, max_tokens=MOST_TOKENS)
        completion = await model.complete(TrialPrompt(), role=role, limits=limits)
        seconds = max(0.001, monotonic() - started_at)
        cost = None if completion.cost_usd is None else completion.cost_usd * 3600 / seconds
        return Trial(completion.usage.completion_tokens / seconds, cost, model.abilities(role), tuple(notices))


def try_model(part: str, label: str, endpoint: Endpoint, pricing: Pricing, context: int | None) -> Finding:
    """Try the model for the role `coder`; `context` is what the endpoint's list of models says."""
    try:
        trial = asyncio.run(attempt(endpoint, pricing, "coder"))
    except (ModelError, Unparsable) as error:
        fix = "without a model, a run submits only its baseline"
        return Finding(part, "fails", f"{label}: no usable answer: {error}", fix)
    trial = replace(trial, abilities=replace(trial.abilities, context=trial.abilities.context or context))
    if trial.notices:
        return Finding(part, "warning", f"{label}: {trial}", "; ".join(trial.notices))
    return Finding(part, "ok", f"{label}: {trial}")

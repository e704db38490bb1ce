"""The most that one call may use, so that its reservation covers any answer."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from bot.budgets.kinds import Kind
from bot.budgets.levels import Level
from bot.models import CallLimits, Message, Usage
from state.errors import UsageError

Estimate = Callable[[str, Usage], float | None]
"""Returns the cost (USD) of tokens for a role; None: the price is unknown."""

MOST_ANSWER_TOKENS = 16_000
"""Longest answer under a cap, unless set otherwise: an unbounded answer would have no highest price."""
MOST_CODE_TOKENS = 32_000
"""The same for the role that writes code."""
LEAST_ANSWER_TOKENS = 4_000
"""The shortest bound that is tried when longer ones do not fit; most scripts need this much."""
ANSWERS_A_CALL = 2
"""An empty answer is requested once more, and both are paid."""
_TOKENS_A_MESSAGE = 16
"""For the role and separators."""
_TOKENS_OF_A_TOOL = 1_500
"""For a tool's definition, and the text that endpoints add before it (Anthropic's: some 500 tokens)."""


@dataclass(frozen=True)
class Bound:
    """The most that a call may use, and the limits that enforce it."""

    amounts: dict[str, float]
    """By the name of the budget's kind."""
    limits: CallLimits
    usage: Usage
    """The most tokens of one answer and its prompt."""


def free(role: str, usage: Usage) -> float | None:
    """Return the estimate of a model that costs nothing."""
    return 0.0


@dataclass(frozen=True)
class PromptTokenBound:
    """Most tokens that a call sends."""

    tokens: int
    new: int
    """Tokens that the endpoint has probably not cached."""


def bounds(
    level: Level, estimate: Estimate, role: str, prompt: PromptTokenBound, limits: CallLimits
) -> Iterator[Bound]:
    """Yield the bounds to try, the widest first; without a cap on money or tokens a call is not bounded.

    Money is reserved as if nothing were cached, tokens for the new ones only.

    Raises:
        UsageError: there is a cap on money, and the role's model has no known price.
    """
    answer = limits.max_tokens or (MOST_CODE_TOKENS if role == "coder" else MOST_ANSWER_TOKENS)
    if not (level.capped(Kind.MONEY) or level.capped(Kind.TOKENS)):
        yield Bound({"calls": 1}, limits, Usage(prompt.tokens, answer))
        return
    while True:
        usage = Usage(prompt.tokens, answer)
        amounts: dict[str, float] = {"calls": 1, "tokens": ANSWERS_A_CALL * (prompt.new + answer)}
        if level.capped(Kind.MONEY):
            cost = estimate(role, usage)
            if cost is None:
                raise UsageError(f"the price of the model for {role} is unknown, so a money cap cannot be enforced")
            amounts["money"] = ANSWERS_A_CALL * cost
        yield Bound(amounts, replace(limits, max_tokens=answer), usage)
        if answer <= LEAST_ANSWER_TOKENS:
            return
        answer = max(LEAST_ANSWER_TOKENS, answer // 2)


def most_sent(messages: Sequence[Message], *, with_tool: bool, cached: int = 0) -> PromptTokenBound:
    """Return the most tokens that a call sends if the endpoint has cached the first `cached` messages."""
    # A token is at least one byte. With a tool, a text may be sent as a JSON string, in which a newline takes two.
    texts = [json.dumps(message.content, ensure_ascii=False) if with_tool else message.content for message in messages]
    sizes = [len(text.encode("utf-8", "surrogatepass")) + _TOKENS_A_MESSAGE for text in texts]
    tool = _TOKENS_OF_A_TOOL if with_tool else 0
    return PromptTokenBound(tool + sum(sizes), sum(sizes[cached:]) + (0 if cached else tool))

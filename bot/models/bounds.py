"""The most that one call may take, so that what is reserved for it covers whatever comes back."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from bot.budgets.kinds import Kind
from bot.budgets.levels import Level
from bot.models import CallLimits, Message, Usage
from state.errors import UsageError

Estimate = Callable[[str, Usage], float | None]
"""What so many tokens cost (USD) for a role; None where the price is unknown."""

MOST_ANSWER_TOKENS = 16_000
"""Longest answer under a cap, unless the settings say otherwise; an answer without a bound would have no highest price."""
MOST_CODE_TOKENS = 32_000
"""The same for those who write code."""
LEAST_ANSWER_TOKENS = 4_000
"""Where a long answer does not fit any more, a call is made that may answer this much, which most scripts need."""
ANSWERS_A_CALL = 2
"""An empty answer is asked for once more, and both are paid."""
_TOKENS_A_MESSAGE = 16
"""What roles and separators take."""
_TOKENS_OF_A_TOOL = 1_500
"""What a tool's definition takes, and what endpoints say about tools before it (Anthropic's: some 500 tokens)."""


@dataclass(frozen=True)
class Bound:
    """The most that a call may take, and the limits that hold it to that."""

    amounts: dict[str, float]
    """By the kind's name."""
    limits: CallLimits


def free(role: str, usage: Usage) -> float | None:
    """Return the estimate of a model that costs nothing."""
    return 0.0


@dataclass(frozen=True)
class Sent:
    """Tokens of what is sent, at the most."""

    tokens: int
    new: int
    """Those that the endpoint has probably not cached."""


def bounds(level: Level, estimate: Estimate, role: str, sent: Sent, limits: CallLimits) -> Iterator[Bound]:
    """Yield the bounds to try, the widest first; without a cap on money or tokens a call is not bounded.

    Money is reserved for all that is sent as if nothing were cached, tokens for what is new.

    Raises:
        UsageError: there is a cap on money, and the role's model has no known price.
    """
    if not (level.capped(Kind.MONEY) or level.capped(Kind.TOKENS)):
        yield Bound({"calls": 1}, limits)
        return
    answer = limits.max_tokens or (MOST_CODE_TOKENS if role == "coder" else MOST_ANSWER_TOKENS)
    while True:
        usage = Usage(sent.tokens, answer)
        amounts: dict[str, float] = {"calls": 1, "tokens": ANSWERS_A_CALL * (sent.new + answer)}
        if level.capped(Kind.MONEY):
            cost = estimate(role, usage)
            if cost is None:
                raise UsageError(f"the price of the model for {role} is unknown, so a money cap cannot be kept")
            amounts["money"] = ANSWERS_A_CALL * cost
        yield Bound(amounts, replace(limits, max_tokens=answer))
        if answer <= LEAST_ANSWER_TOKENS:
            return
        answer = max(LEAST_ANSWER_TOKENS, answer // 2)


def most_sent(messages: Sequence[Message], *, with_tool: bool, read_before: int = 0) -> Sent:
    """Return what a call sends, of which the endpoint has so many leading messages in its cache."""
    size = _size_in_json if with_tool else _size
    sizes = [size(message.content) + _TOKENS_A_MESSAGE for message in messages]
    tool = _TOKENS_OF_A_TOOL if with_tool else 0
    return Sent(tool + sum(sizes), sum(sizes[read_before:]) + (0 if read_before else tool))


def _size(text: str) -> int:
    """Return a number of tokens that a text never exceeds: each token of a byte-level vocabulary is at least one byte."""
    return len(text.encode("utf-8", "surrogatepass"))


def _size_in_json(text: str) -> int:
    """Return the same for a text that may be sent as an argument of a call, in which each line end takes two bytes."""
    return _size(json.dumps(text, ensure_ascii=False))

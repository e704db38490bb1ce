"""Turning a reply's text into a completion; the error for an unreadable one carries it."""

from typing import TypeVar

from bot.models import Completion, Prompt, Usage
from state.errors import Unparsable

AnswerT = TypeVar("AnswerT")

_CHARACTERS_PER_TOKEN = 4


def completed(
    prompt: Prompt[AnswerT],
    text: str,
    *,
    usage: Usage,
    model: str,
    cost_usd: float | None = None,
    cut: bool = False,
) -> Completion[AnswerT]:
    """Return the completion of a reply; `cut`: it reached the token limit.

    Raises:
        Unparsable: the text does not parse; `reply` is a `Completion[None]` with its text, usage and cost.
    """
    try:
        answer = prompt.parse(text)
    except Unparsable as error:
        error.reply = Completion(None, text, usage, model, cost_usd, cut)
        raise
    return Completion(answer, text, usage, model, cost_usd, cut)


def estimated_tokens(text: str) -> int:
    """Return a rough count of a text's tokens: a quarter of its characters, rounded up."""
    return -(-len(text) // _CHARACTERS_PER_TOKEN)

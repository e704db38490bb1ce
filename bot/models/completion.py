"""Turning a reply's text into a completion, with the reply attached where it cannot be read."""

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
    """Return the completion of a reply; `cut` says that it ended at its longest length.

    Raises:
        Unparsable: the prompt cannot read the text; `reply` is a `Completion[None]` with its text, usage and cost.
    """
    try:
        answer = prompt.parse(text)
    except Unparsable as error:
        error.reply = Completion(None, text, usage, model, cost_usd, cut)
        raise
    return Completion(answer, text, usage, model, cost_usd, cut)


def estimated_tokens(text: str) -> int:
    """Return about how many tokens a text is: a quarter of its characters, rounded up (no tables are needed)."""
    return -(-len(text) // _CHARACTERS_PER_TOKEN)

"""Turning a reply's text into a completion; the error for an unreadable one carries it."""

from typing import TypeVar

from bot.models import Completion, Prompt, Usage
from bot.models.conventions import answer_of
from bot.models.repair import Continuation
from bot.models.tools import tool_of
from state.errors import Unparsable

AnswerT = TypeVar("AnswerT")

_CHARACTERS_PER_TOKEN = 4


def completed(
    prompt: Prompt[AnswerT], text: str, *, usage: Usage, model: str, cost_usd: float | None = None, cut: bool = False
) -> Completion[AnswerT]:
    """Return the completion of a reply; `cut`: it reached the token limit.

    Raises Unparsable: the text does not parse; `reply` is a `Completion[None]` with its text, usage and cost.
    """
    try:
        answer = parsed(prompt, text)
    except Unparsable as error:
        error.reply = Completion(None, text, usage, model, cost_usd, cut)
        raise
    return Completion(answer, text, usage, model, cost_usd, cut)


def parsed(prompt: Prompt[AnswerT], text: str) -> AnswerT:
    """Return the answer in a reply's text: of all parts of one that was continued, and without reasoning.

    Reasoning can end in a later part than it began in, so that parts are joined as they came. What answers a prompt with a
    tool is never continued: its reasoning was left out when it was read.

    Raises:
        Unparsable: the answer cannot be read.
    """
    if tool_of(prompt) is not None:
        return prompt.parse(text)
    return prompt.parse(answer_of(prompt.join(text) if isinstance(prompt, Continuation) else text))


def estimated_tokens(text: str) -> int:
    """Return a rough count of a text's tokens: a quarter of its characters, rounded up."""
    return -(-len(text) // _CHARACTERS_PER_TOKEN)

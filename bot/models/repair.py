"""Asking again: the same prompt with the reply that could not be read, and what is wrong with it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from bot.models import Item, Message, Prompt
from bot.models.fingerprint import stable_messages
from bot.models.quoting import clean

AnswerT = TypeVar("AnswerT")

_HEAD, _TAIL = 4_000, 2_000


@dataclass(frozen=True)
class Repair(Generic[AnswerT]):
    """A `Prompt` that wraps the one whose reply was Unparsable; it holds the same items and reads replies alike.

    The bad reply is shown with its middle left out if it is long, so that a repair never costs much more than the call.
    """

    original: Prompt[AnswerT]
    bad_reply: str
    fault: str

    @property
    def name(self) -> str:
        """The original's name."""
        return self.original.name

    def messages(self) -> Sequence[Message]:
        """Return the original conversation, the reply, and what to repair."""
        return (*self.original.messages(), *self._exchange())

    def fingerprint(self) -> Sequence[Message]:
        """Return the same with the original's stable messages."""
        return (*stable_messages(self.original), *self._exchange())

    def parse(self, text: str) -> AnswerT:
        """Read the reply as the original does."""
        return self.original.parse(text)

    def items(self) -> Sequence[Item]:
        """Return the original's items: the reply was made of nothing else."""
        return self.original.items()

    def _exchange(self) -> tuple[Message, Message]:
        asked = f"Your answer cannot be used: {self.fault}. Answer again, in full and in the form that was asked for."
        return Message("assistant", _bounded(clean(self.bad_reply))), Message("user", asked)


def _bounded(text: str) -> str:
    if not text.strip():
        return "(no text)"
    if len(text) <= _HEAD + _TAIL:
        return text
    return f"{text[:_HEAD]}\n[{len(text) - _HEAD - _TAIL} characters left out]\n{text[-_TAIL:]}"

"""Follow-up prompts: the repair of a reply that cannot be read, and the continuation of one that was cut off."""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from bot.models import Item, Message, Prompt
from bot.models.conventions import answer_of
from bot.models.fingerprint import stable_messages
from bot.models.quoting import clean
from bot.models.tools import Tool, tool_of
from scrapers.posts.cleaning import both_ends

AnswerT = TypeVar("AnswerT")

_MAX_REPLY_CHARACTERS = 6_000
"""Characters that are shown of a reply that cannot be read."""
_OPENING = re.compile(r"\A\s*```[a-z]*\n")
_SHORTEST_OVERLAP, _OVERLAP = 20, 2_000
"""Characters; a shorter repetition may be meant."""


@dataclass(frozen=True)
class _FollowUp(ABC, Generic[AnswerT]):
    """A `Prompt` that continues the conversation of another, with the same items."""

    original: Prompt[AnswerT]
    reply: str
    """The reply to the original."""

    @property
    def name(self) -> str:
        """The original's name."""
        return self.original.name

    @property
    def tool(self) -> Tool | None:
        """The original's tool."""
        return tool_of(self.original)

    def messages(self) -> Sequence[Message]:
        """Return the original conversation, the reply, and the new request."""
        return (*self.original.messages(), *self._exchange())

    def fingerprint(self) -> Sequence[Message]:
        """Return the same with the original's stable messages."""
        return (*stable_messages(self.original), *self._exchange())

    def items(self) -> Sequence[Item]:
        """Return the original's items: the reply adds none."""
        return self.original.items()

    def parse(self, text: str) -> AnswerT:
        """Read the next reply as the original does; of a continuation all parts together (`join`)."""
        return self.original.parse(text)

    @abstractmethod
    def _exchange(self) -> tuple[Message, Message]:
        """Return the reply as it is shown, and the new request."""


@dataclass(frozen=True)
class Repair(_FollowUp[AnswerT]):
    """Asks again, in full, for a reply that was Unparsable.

    The bad reply is shown with its middle left out if it is long, so that a repair never costs much more than the call.
    """

    fault: str

    def _exchange(self) -> tuple[Message, Message]:
        request_text = (
            f"Your answer cannot be used: {clean(self.fault)}. Answer again, in full and in the requested form."
        )
        shown_reply = both_ends(clean(answer_of(self.reply)), _MAX_REPLY_CHARACTERS) or "(no text)"
        return Message("assistant", shown_reply), Message("user", request_text)


@dataclass(frozen=True)
class Continuation(_FollowUp[AnswerT]):
    """Asks for the rest of a reply that was cut off; `reply` is all that was written so far."""

    def join(self, text: str) -> str:
        """Return the reply with its next part appended, less what that repeats: an opening fence, or an overlap."""
        if answer_of(self.reply).strip() not in ("", self.reply.strip()):
            # Its reasoning has ended, so that a part that reasons does so anew.
            text = answer_of(text)
        if self.reply.count("```") % 2:
            text = _OPENING.sub("", text, count=1)
        longest = min(len(text), len(self.reply), _OVERLAP)
        overlap = next((n for n in range(longest, _SHORTEST_OVERLAP - 1, -1) if self.reply.endswith(text[:n])), 0)
        return self.reply + text[overlap:]

    def _exchange(self) -> tuple[Message, Message]:
        request_text = (
            "Your answer was cut off at the maximum length. Continue exactly where it stopped, even within a word or "
            "a line: repeat nothing, explain nothing, and do not reopen a code block that is still open."
        )
        return Message("assistant", clean(self.reply)), Message("user", request_text)

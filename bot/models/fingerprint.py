"""The hash of a prompt: equal for equal questions, whatever time and money are left."""

import hashlib
import json
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from bot.models import Message, Prompt


@runtime_checkable
class Stable(Protocol):
    """A prompt that can leave out what varies between equal runs, such as the time that is left."""

    def fingerprint(self) -> Sequence[Message]:
        """Return the messages with stand-ins for everything that varies."""
        ...


def stable_messages(prompt: Prompt[Any]) -> Sequence[Message]:
    """Return the prompt's messages without what varies if it is `Stable`, else as they are sent."""
    return prompt.fingerprint() if isinstance(prompt, Stable) else prompt.messages()


def prompt_hash(prompt: Prompt[Any]) -> str:
    """Return the sha256 (hex) of the prompt's stable messages."""
    plain = json.dumps([[m.role, m.content] for m in stable_messages(prompt)])
    return hashlib.sha256(plain.encode()).hexdigest()

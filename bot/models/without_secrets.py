"""Redaction of the process's own secrets in prompts."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from pydantic import BaseModel

from bot.models import Prompt
from state.errors import BotError
from state.redaction import Redactor

PromptT = TypeVar("PromptT", bound=Prompt[Any])


def without_secrets(prompt: PromptT, redactor: Redactor) -> PromptT:
    """Return a prompt of the same kind whose messages hold no secret; the same one where they hold none.

    Raises:
        BotError: a secret is in a place that cannot be redacted; the prompt must not be sent.
    """
    if not (redactor and _holds_any(prompt, redactor)):
        return prompt
    # Only messages raise the warning: the prompt's values may hold what no message shows.
    for message in prompt.messages():
        redactor.own(message.content, f"the prompt {prompt.name}")
    found: PromptT = _redacted(prompt, redactor)
    if _holds_any(found, redactor):
        raise BotError(f"the prompt {prompt.name} contains one of the bot's secrets and was not sent")
    return found


def _holds_any(prompt: Prompt[Any], redactor: Redactor) -> bool:
    return any(redactor.own(message.content) != message.content for message in prompt.messages())


def _redacted(value: Any, redactor: Redactor) -> Any:
    """Return a value with all texts in it redacted; its type stays, as the built-in model depends on it."""
    if isinstance(value, str):
        found = redactor.own(value)
        return value if found == value else found
    if is_dataclass(value) and not isinstance(value, type):
        given = [field.name for field in fields(value) if field.init]
        return replace(value, **{name: _redacted(getattr(value, name), redactor) for name in given})
    if isinstance(value, BaseModel):
        return value.model_copy(update={name: _redacted(one, redactor) for name, one in value})
    if isinstance(value, Mapping):
        return {key: _redacted(one, redactor) for key, one in value.items()}
    if type(value) in (list, tuple, frozenset, set):
        return type(value)(_redacted(one, redactor) for one in value)
    return value

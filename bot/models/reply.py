"""What an OpenAI-compatible endpoint sends back: text, why it ended, and tokens."""

import json
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from bot.models import Message, Usage
from bot.models.completion import estimated_tokens
from bot.models.failures import classify, endpoint_words
from state.errors import ModelMisconfigured, ModelUnavailable


@dataclass(frozen=True)
class Reply:
    """One answer: its text (empty if it has none), `finish` as the endpoint calls it, and its tokens."""

    text: str
    finish: str
    usage: Usage
    refusal: str | None = None


class _Foreign(BaseModel):
    """Servers add fields of their own, and leave many out."""

    model_config = ConfigDict(extra="ignore")


class _Message(_Foreign):
    content: str | list[dict[str, Any]] | None = None
    refusal: str | None = None


class _Choice(_Foreign):
    message: _Message = _Message()
    finish_reason: str | None = None


class _Details(_Foreign):
    cached_tokens: int | None = None


class _Usage(_Foreign):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _Details | None = None


class _Body(_Foreign):
    choices: list[_Choice]
    usage: _Usage | None = None


def read_reply(body: bytes, messages: list[Message], *, model: str) -> Reply:
    """Read the body of an answer with status 200.

    Tokens that the endpoint does not report are estimated from the texts.

    Raises:
        ModelUnavailable: the body is cut off or holds no choice.
        ModelError: it is an error in the clothes of an answer, of the class that its code says.
        ModelMisconfigured: it is no chat completion, so that the address is probably wrong.
    """
    try:
        content = json.loads(body)
    except ValueError:
        if body.lstrip()[:1] == b"{":
            raise ModelUnavailable(f"the answer of {model} was cut off on the way") from None
        raise _not_a_completion(body.decode("utf-8", "replace"), model) from None
    if isinstance(content, dict) and content.get("error"):
        raise classify(_status(content["error"]), content, model=model)
    try:
        parsed = _Body.model_validate(content)
    except ValidationError:
        raise _not_a_completion(str(content), model) from None
    if not parsed.choices:
        raise ModelUnavailable(f"{model} sent no choice")
    choice = parsed.choices[0]
    text = _text(choice.message)
    return Reply(text, choice.finish_reason or "stop", _usage(parsed.usage, messages, text), choice.message.refusal)


def _text(message: _Message) -> str:
    if isinstance(message.content, list):
        return "".join(str(part.get("text", "")) for part in message.content)
    return message.content or ""


def _usage(reported: _Usage | None, messages: list[Message], text: str) -> Usage:
    sent, got = (reported.prompt_tokens, reported.completion_tokens) if reported else (None, None)
    details = reported.prompt_tokens_details if reported else None
    return Usage(
        prompt_tokens=max(0, sent) if sent is not None else sum(estimated_tokens(m.content) for m in messages),
        completion_tokens=max(0, got) if got is not None else estimated_tokens(text),
        cached_tokens=max(0, details.cached_tokens or 0) if details else 0,
    )


def _status(error: object) -> int:
    """Return the status inside an error that came with status 200; without one it is the server's fault."""
    code = error.get("code") if isinstance(error, dict) else None
    return int(code) if isinstance(code, int | str) and str(code).isdecimal() and 400 <= int(code) < 600 else 502


def _not_a_completion(text: str, model: str) -> ModelMisconfigured:
    return ModelMisconfigured(
        f"what came back for {model} is not a chat completion: {endpoint_words(text)[:100]!r}; "
        "check OPENAI_BASE_URL (it usually ends in /v1)"
    )

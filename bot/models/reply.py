"""Reading the answer of an OpenAI-compatible endpoint: text, why it ended, and tokens."""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AliasChoices, AliasPath, BaseModel, Field, ValidationError, model_validator

from bot.models import Message, Usage
from bot.models.commands import command_in
from bot.models.completion import estimated_tokens
from bot.models.connection import Rejected
from bot.models.conventions import answer_of, calls_in
from bot.models.failures import FIRST_ENDPOINT, Names, endpoint_words, status_in_words
from bot.models.streamed_answer import StreamedAnswer, error_in, finish_name, object_value
from bot.models.tools import Tool, text_of_calls
from scrapers.http.responses import read_json
from state.errors import ModelMisconfigured, ModelUnavailable

_MOST_TOKENS = 1_000_000_000
"""A server that reports more is wrong, and its figures are not charged."""


class NotACompletion(ModelMisconfigured):
    """The answer is not a chat completion: the address is wrong, or a gateway sent a page of its own."""


@dataclass(frozen=True)
class Reply:
    """One answer: its text (empty if it has none), `finish` as OpenAI calls it, and its tokens."""

    text: str
    finish: str
    usage: Usage
    refusal: str | None = None
    blank: bool = False
    """Whether it holds nothing but reasoning, or not even that."""
    reasoned: bool = False
    """Whether it shows reasoning."""
    called: bool = False
    """Whether it holds native tool calls."""
    broken: str | None = None
    """Why it broke off midway: then the text is a part of it, and its tokens are estimated."""


_Tokens = Annotated[int, Field(ge=0, le=_MOST_TOKENS)]


class _Usage(BaseModel):
    """The tokens that an endpoint reports; servers leave many fields out or empty, and add others."""

    @model_validator(mode="before")
    @classmethod
    def _without_empty(cls, fields: Any) -> Any:
        return {name: value for name, value in fields.items() if value} if isinstance(fields, dict) else fields

    prompt_tokens: _Tokens | None = Field(None, validation_alias=AliasChoices("prompt_tokens", "input_tokens"))
    completion_tokens: _Tokens | None = Field(None, validation_alias=AliasChoices("completion_tokens", "output_tokens"))
    cached_tokens: _Tokens | None = Field(
        None,
        validation_alias=AliasChoices(
            "prompt_cache_hit_tokens",  # DeepSeek's
            "cache_read_input_tokens",  # Anthropic's, which gateways in front of it pass on
            AliasPath("prompt_tokens_details", "cached_tokens"),
        ),
    )


def decode_answer(body: bytes) -> object:
    """Return the JSON value of an answer that came whole; None if it is none.

    Raises ModelUnavailable: it was cut off; Rejected: it is an error sent with status 200; `status` is the error's code.
    """
    try:
        content = read_json(body.decode("utf-8-sig"))
    except ValueError:
        # Some gateways send white space while the model thinks, so that an answer cut off then holds nothing else.
        if body.lstrip()[:1] in (b"{", b""):
            raise ModelUnavailable("the endpoint's response was cut off in transit") from None
        return None
    content = content[0] if isinstance(content, list) and len(content) == 1 else content
    if isinstance(content, dict) and "choices" not in content:  # gateways put it into an object of their own
        content = next((value for value in content.values() if "choices" in object_value(value)), content)
    if error := error_in(content):
        raise Rejected(status_inside(error), content, {})
    return content


def read_reply(
    body: bytes, messages: list[Message], *, model: str, tool: Tool | None = None, names: Names = FIRST_ENDPOINT
) -> Reply:
    """Read the body of an answer with status 200; calls of the tool become text.

    Tokens that the endpoint does not report, or reports wrongly, are estimated from the texts.

    Raises:
        ModelUnavailable: the body is empty, cut off or holds no choice.
        Rejected: it is an error sent with status 200; `status` is the error's code.
        NotACompletion: it is no chat completion, so that the address is probably wrong.
    """
    content, answer = decode_answer(body), StreamedAnswer()
    if not isinstance(content, dict) or ("choices" not in content and content.get("object") != "chat.completion"):
        words = endpoint_words(body.decode("utf-8", "replace"))[:100]
        raise NotACompletion(
            f"the response from {model} is not a chat completion: {words!r}; check {names.address} (it usually ends in /v1)"
        )
    answer.add(content)
    if answer.error:
        raise Rejected(status_inside(answer.error), {"error": answer.error}, {})
    if not answer.chosen:
        other_fields = {name: value for name, value in content.items() if name not in ("choices", "usage")}
        raise ModelUnavailable(f"{model} returned no choices: {endpoint_words(other_fields)}")
    text, thoughts, calls = answer.text, answer.thoughts, answer.calls
    usage, _ = read_usage(content.get("usage"), messages, text + thoughts)
    visible = answer_of(text)
    reasoned = bool(thoughts.strip()) or visible.strip() != text.strip()
    if tool is not None:
        # Parts of other answers are joined before reasoning is left out (`completion.parsed`).
        text = visible = _with_commands(visible, calls, tool)
    finish = finish_name(answer.finish or "stop")
    return Reply(text, finish, usage, answer.refusal, not visible.strip(), reasoned, tool is not None and bool(calls))


def _with_commands(answer: str, native: Sequence[object], tool: Tool) -> str:
    """Return an answer with its tool calls as text: native ones, else those in its text, unless that has a shell block."""
    if native:
        return text_of_calls(answer, native, tool)
    prose, calls = calls_in(answer)
    return text_of_calls(prose, calls, tool) if calls and command_in(prose) is None else answer


def read_usage(content: object, messages: Sequence[Message], text: str) -> tuple[Usage, bool]:
    """Return the tokens that an endpoint reports, and whether any were not reported, or wrongly, and so are estimated."""
    reported = _Usage()
    with suppress(ValidationError):
        reported = _Usage.model_validate(content)
    size, got = reported.prompt_tokens, reported.completion_tokens
    prompt_tokens = sum(estimated_tokens(m.content) for m in messages) if size is None else size
    cached = min(reported.cached_tokens or 0, prompt_tokens)
    usage = Usage(prompt_tokens, estimated_tokens(text) if got is None else got, cached)
    return usage, size is None or got is None


def status_inside(error: object) -> int:
    """Return the status inside an error that came with status 200, or else the one that its words mean."""
    codes = [str(error.get(name)) for name in ("code", "status", "status_code")] if isinstance(error, dict) else []
    return next((int(code) for code in codes if re.fullmatch("[45][0-9]{2}", code)), status_in_words(str(error)))

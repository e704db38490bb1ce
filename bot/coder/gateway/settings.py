"""Request settings that the gateway forwards, by API dialect, and their bounds.

Keys that are not named here are dropped, in nested objects too: what an endpoint makes of them is unknown.
"""

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

MOST_TOKENS = 10_000_000
"""Of a whole answer."""
_MAX_THINKING_TOKENS = 128_000
"""Tokens."""

Word = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,128}$")]
Words = Annotated[list[Word], Field(max_length=200)]
Text = Annotated[str, Field(max_length=100_000)]
Stop = Annotated[str, Field(max_length=1000)]
Stops = Annotated[list[Stop], Field(max_length=64)]
Thoughts = Annotated[int, Field(ge=0, le=_MAX_THINKING_TOKENS)]
Count = Annotated[int, Field(ge=0, le=MOST_TOKENS)]


def _check_local_references(schema: dict[str, Any]) -> dict[str, Any]:
    if wrong := next(_external_references(schema), None):
        raise ValueError(f"a schema may refer only to its own parts, not to {wrong[:100]!r}")
    return schema


def _external_references(value: object, *, of_part: bool = False) -> Iterator[str]:
    """Yield what a schema refers to outside of itself, which an endpoint would fetch; a part's `$id` turns `#` elsewhere."""
    if isinstance(value, list):
        for item in value:
            yield from _external_references(item, of_part=True)
    elif isinstance(value, dict):
        for key, item in value.items():
            is_reference = key in ("$ref", "$dynamicRef", "$recursiveRef") or (of_part and key == "$id")
            if is_reference and isinstance(item, str | list) and not str(item).startswith("#"):
                yield str(item)
            yield from _external_references(item, of_part=True)


Schema = Annotated[dict[str, Any], AfterValidator(_check_local_references)]


class Fields(BaseModel):
    """Keys of an object that are passed on; each may be null."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


class _CacheControl(Fields):
    type: Word | None = None
    ttl: Word | None = None


class _Choice(Fields):
    type: Word | None = None
    name: Word | None = None
    mode: Word | None = None
    disable_parallel_tool_use: bool | None = None
    function: "_Choice | None" = None
    custom: "_Choice | None" = None
    tools: Annotated[list["_Choice"], Field(max_length=200)] | None = None
    allowed_tools: "_Choice | None" = None


class _Grammar(Fields):
    type: Word | None = None
    syntax: Word | None = None
    definition: Text | None = None
    grammar: "_Grammar | None" = None


class _Function(Fields):
    name: Word | None = None
    description: Text | None = None
    parameters: Schema | None = None
    strict: bool | None = None
    format: _Grammar | None = None


class _ChatTool(Fields):
    type: Word | None = None
    function: _Function | None = None
    custom: _Function | None = None


class _ResponsesTool(_Function):
    type: Word | None = None
    tools: "list[_ResponsesTool] | None" = None


class _MessagesTool(Fields):
    type: Word | None = None
    name: Word | None = None
    description: Text | None = None
    input_schema: Schema | None = None
    input_examples: list[dict[str, Any]] | None = None
    strict: bool | None = None
    cache_control: _CacheControl | None = None
    eager_input_streaming: bool | None = None
    max_characters: Count | None = None
    display_width_px: Count | None = None
    display_height_px: Count | None = None
    display_number: Count | None = None


class _JsonSchema(Fields):
    name: Word | None = None
    description: Text | None = None
    schema_: Schema | None = Field(default=None, alias="schema")
    strict: bool | None = None


class _Format(_JsonSchema):
    type: Word | None = None
    json_schema: _JsonSchema | None = None


class _Reasoning(Fields):
    effort: Word | None = None
    summary: Word | None = None
    generate_summary: Word | None = None
    max_tokens: Thoughts | None = None
    enabled: bool | None = None
    exclude: bool | None = None


class _Thinking(Fields):
    type: Word | None = None
    budget_tokens: Thoughts | None = None
    display: Word | None = None
    clear_thinking: bool | None = None


class _TemplateSettings(Fields):
    """Of `chat_template_kwargs`, which can hold a template of its own, too: a program for the endpoint."""

    enable_thinking: bool | None = None
    thinking: bool | None = None
    preserve_thinking: bool | None = None
    clear_thinking: bool | None = None
    reasoning_effort: Word | None = None
    thinking_budget: Thoughts | None = None


class _StreamOptions(Fields):
    include_usage: bool | None = None


class _Verbosity(Fields):
    format: _Format | None = None
    verbosity: Word | None = None


class _Amount(Fields):
    type: Word | None = None
    value: Count | None = None


class _Edit(Fields):
    type: Word
    trigger: _Amount | None = None
    keep: _Amount | Word | None = None
    clear_at_least: _Amount | None = None
    exclude_tools: Words | None = None
    clear_tool_inputs: bool | Words | None = None


class _ContextManagement(Fields):
    edits: Annotated[list[_Edit], Field(max_length=20)] | None = None


class _OutputConfig(Fields):
    effort: Word | None = None
    format: _Format | None = None


class _Settings(Fields):
    model: str
    stream: bool | None = None
    tool_choice: Word | _Choice | None = None
    parallel_tool_calls: bool | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    prompt_cache_key: Annotated[str, Field(max_length=200)] | None = None


class ChatSettings(_Settings):
    """Of chat completions."""

    tools: list[_ChatTool] | None = None
    functions: list[_Function] | None = None
    function_call: Word | _Choice | None = None
    top_k: Annotated[int, Field(ge=-1, le=100_000)] | None = None
    min_p: Annotated[float, Field(ge=0, le=1)] | None = None
    stop: Stop | Stops | None = None
    seed: Annotated[int, Field(ge=-(2**63), lt=2**63)] | None = None
    frequency_penalty: Annotated[float, Field(ge=-2, le=2)] | None = None
    presence_penalty: Annotated[float, Field(ge=-2, le=2)] | None = None
    repetition_penalty: Annotated[float, Field(ge=0, le=10)] | None = None
    response_format: _Format | None = None
    reasoning: _Reasoning | None = None
    reasoning_effort: Word | None = None
    thinking: _Thinking | None = None
    chat_template_kwargs: _TemplateSettings | None = None
    verbosity: Word | None = None
    stream_options: _StreamOptions | None = None


class ResponsesSettings(_Settings):
    """Of responses."""

    tools: list[_ResponsesTool] | None = None
    reasoning: _Reasoning | None = None
    text: _Verbosity | None = None
    truncation: Word | None = None
    include: Words | None = None


class MessagesSettings(_Settings):
    """Of Anthropic's messages."""

    tools: list[_MessagesTool] | None = None
    top_k: Annotated[int, Field(ge=0, le=100_000)] | None = None
    stop_sequences: Stops | None = None
    thinking: _Thinking | None = None
    context_management: _ContextManagement | None = None
    output_config: _OutputConfig | None = None
    output_format: _Format | None = None
    cache_control: _CacheControl | None = None

"""Good answers in each dialect, whole and as a stream, with the tokens that they report."""

from typing import Any

from bot.coder.gateway import DialectName
from bot.models import Usage
from tests.bot.coder.gateway.parts import Came, Wire

TEXT = "It is seven, I think."
PIECES = ("It is ", "seven, ", "I think.")
USAGE = Usage(prompt_tokens=1000, completion_tokens=100, cached_tokens=400)


def tokens(dialect: DialectName, usage: Usage = USAGE) -> dict[str, Any]:
    """Return the report of an answer's tokens."""
    if dialect == "chat":
        details = {"cached_tokens": usage.cached_tokens}
        return {
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "prompt_tokens_details": details,
        }
    if dialect == "responses":
        details = {"cached_tokens": usage.cached_tokens}
        return {
            "input_tokens": usage.prompt_tokens,
            "output_tokens": usage.completion_tokens,
            "input_tokens_details": details,
        }
    written = 200
    return {
        "input_tokens": usage.prompt_tokens - usage.cached_tokens - written,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": usage.cached_tokens,
        "output_tokens": usage.completion_tokens,
    }


def whole(dialect: DialectName, text: str = TEXT, usage: Any = None) -> dict[str, Any]:
    """Return an answer that comes whole."""
    report = tokens(dialect) if usage is None else usage
    if dialect == "chat":
        message = {"role": "assistant", "content": text}
        return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": report}
    if dialect == "responses":
        content = [{"type": "output_text", "text": text, "annotations": []}]
        output = [{"type": "message", "role": "assistant", "content": content}]
        return {"id": "r", "status": "completed", "output": output, "usage": report}
    content = [{"type": "text", "text": text}]
    return {"type": "message", "role": "assistant", "content": content, "stop_reason": "end_turn", "usage": report}


async def begin(dialect: DialectName, wire: Wire, usage: Usage = USAGE) -> None:
    """Begin a stream."""
    await wire.head()
    if dialect == "responses":
        await wire.event({"type": "response.created", "response": {"id": "r"}}, "response.created")
    elif dialect == "messages":
        report = {**tokens(dialect, usage), "output_tokens": 1}
        message = {"type": "message_start", "message": {"role": "assistant", "content": [], "usage": report}}
        await wire.event(message, "message_start")
        await wire.event({"type": "ping"}, "ping")


async def piece(dialect: DialectName, wire: Wire, text: str) -> None:
    """Send a piece of a stream's text."""
    if dialect == "chat":
        await wire.event({"choices": [{"index": 0, "delta": {"content": text}}], "usage": None})
    elif dialect == "responses":
        await wire.event({"type": "response.output_text.delta", "delta": text}, "response.output_text.delta")
    else:
        delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}
        await wire.event(delta, "content_block_delta")


async def end(dialect: DialectName, wire: Wire, usage: Usage | None = USAGE) -> None:
    """End a stream, with the tokens that it reports, if any."""
    report = None if usage is None else tokens(dialect, usage)
    if dialect == "chat":
        await wire.event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        if report is not None:
            await wire.event({"choices": [], "usage": report})
        await wire.event("[DONE]")
    elif dialect == "responses":
        response = {**whole(dialect), "usage": report}
        await wire.event({"type": "response.completed", "response": response}, "response.completed")
    else:
        counted = {} if report is None else {"usage": {"output_tokens": report["output_tokens"]}}
        await wire.event({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, **counted}, "message_delta")
        await wire.event({"type": "message_stop"}, "message_stop")


async def answering(came: Came, wire: Wire) -> None:
    """Answer as an honest endpoint does."""
    dialect = dialect_of(came)
    if not came.body.get("stream"):
        await wire.answer(whole(dialect))
        return
    await begin(dialect, wire)
    for text in PIECES:
        await piece(dialect, wire, text)
    await end(dialect, wire)


def dialect_of(came: Came) -> DialectName:
    """Return the dialect of a request."""
    path = came.line.split()[1]
    return "chat" if "chat" in path else "responses" if "responses" in path else "messages"

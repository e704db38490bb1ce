"""Tests of the scripted model: the three dialects, whole and as streams, read as agents read them."""

import json
import urllib.request
from typing import Any

from bot.simulator.scripted_model import ScriptedModel, serving

_SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}, "why": {}}, "required": ["command", "why"]}
_CHAT: dict[str, Any] = {
    "messages": [{"role": "user", "content": "go"}],
    "tools": [{"type": "function", "function": {"name": "bash", "parameters": _SCHEMA}}],
}
_RESPONSES = {
    "input": [{"type": "message", "role": "user", "content": "go"}],
    "tools": [{"type": "function", "name": "shell", "parameters": {"properties": {"command": {"type": "array"}}}}],
}
_MESSAGES = {
    "messages": [{"role": "user", "content": "go"}],
    "tools": [{"name": "Read", "input_schema": {}}, {"name": "Bash", "input_schema": _SCHEMA}],
}
_DIALECTS = {"chat/completions": _CHAT, "responses": _RESPONSES, "messages": _MESSAGES}


def post(model: ScriptedModel, path: str, body: dict[str, Any]) -> bytes:
    content = json.dumps({"model": "m", **body}).encode()
    request = urllib.request.Request(f"{model.address}/{path}", content)  # noqa: S310
    with urllib.request.urlopen(request, timeout=20) as answer:  # noqa: S310
        read: bytes = answer.read()
    return read


def events(content: bytes) -> list[dict[str, Any]]:
    lines = [line.removeprefix("data: ") for line in content.decode().splitlines() if line.startswith("data: ")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


def test_each_dialect_is_answered_with_a_call_of_its_tool_for_commands() -> None:
    with serving(ScriptedModel(["ls"])) as model:
        chat, response, message = (json.loads(post(model, path, body)) for path, body in _DIALECTS.items())
    called = chat["choices"][0]["message"]["tool_calls"][0]["function"]
    assert called["name"] == "bash"
    assert json.loads(called["arguments"]) == {"command": "ls", "why": "scripted"}
    assert response["output"][0]["name"] == "shell"
    assert json.loads(response["output"][0]["arguments"]) == {"command": ["bash", "-c", "ls"]}
    assert message["content"] == [
        {"type": "tool_use", "id": "toolu_0", "name": "Bash", "input": {"command": "ls", "why": "scripted"}}
    ]


def test_a_stream_says_what_the_whole_answer_says_and_counts_the_same_tokens() -> None:
    with serving(ScriptedModel(["ls"])) as model:
        streams = {path: events(post(model, path, {**body, "stream": True})) for path, body in _DIALECTS.items()}
        usage = model.usage
    chat, responses, messages = streams.values()
    assert chat[0]["choices"][0]["delta"]["tool_calls"][0]["function"]["name"] == "bash"
    assert [event["sequence_number"] for event in responses] == [0, 1, 2, 3]
    assert json.loads(messages[2]["delta"]["partial_json"])["command"] == "ls"
    sent = [chat[-1]["usage"]["prompt_tokens"], responses[-1]["response"]["usage"]["input_tokens"]]
    sent.append(messages[0]["message"]["usage"]["input_tokens"])
    received = [chat[-1]["usage"]["completion_tokens"], responses[-1]["response"]["usage"]["output_tokens"]]
    received.append(messages[-2]["usage"]["output_tokens"])
    assert (sum(sent), sum(received)) == (usage.prompt_tokens, usage.completion_tokens)


def test_an_answer_goes_by_the_turns_of_its_conversation_and_the_last_one_is_a_text() -> None:
    later = {**_CHAT, "messages": [*_CHAT["messages"], {"role": "assistant", "content": "one"}]}
    with serving(ScriptedModel(["ls", "pwd"])) as model:
        first, again, second = (json.loads(post(model, "chat/completions", body)) for body in (_CHAT, _CHAT, later))
        later["messages"] = [*later["messages"], {"role": "assistant", "content": "two"}]
        last = json.loads(post(model, "chat/completions", later))
    assert first == again
    assert "pwd" in json.dumps(second)
    assert second["usage"]["prompt_tokens_details"]["cached_tokens"] > 0
    assert "tool_calls" not in last["choices"][0]["message"]


def test_edits_are_answered_where_they_are_asked_for_and_no_tool_is_offered() -> None:
    asked = {"role": "system", "content": "Write blocks: <<<<<<< SEARCH"}
    edited = {"role": "user", "content": "The file: first()"}
    with serving(ScriptedModel(["ls"], {"first()": "an edit", "second()": "another"})) as model:
        given = [
            json.loads(post(model, "chat/completions", {"messages": messages}))["choices"][0]["message"]["content"]
            for messages in ([asked], _CHAT["messages"], [asked, edited], [asked, edited])
        ]
    assert given == ["an edit", "I am done.", "another", "another"]

"""Native tool calls: found out once an endpoint, and text everywhere else."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.models import CallLimits, Completion, Message, Usage
from bot.models.ask import Asker
from bot.models.bounds import free
from bot.models.commands import command_in, with_command
from bot.models.fallback import Answerer, FallbackModel
from bot.models.recordings import RecordedModel, RecordingWriter
from bot.models.tools import native_messages, text_of_calls, tool_of
from state.errors import EmptyAnswer, ModelRefused, Unparsable
from tests.bot.models.parts import BASH, GOOD, HurriedClock, Question, Turn, asker_of, model_at, open_run
from tests.scripted_endpoint import Reply, Request, ScriptedEndpoint, failure

LS = json.dumps({"command": "ls -l"})
FENCED = "I look.\n\n```sh\nls -l\n```"
SECOND = Turn(("Look around.", FENCED, "data work", "Nothing yet.", "Go on."))

TURNS = st.lists(
    st.one_of(st.text(max_size=20), st.builds(with_command, st.text(max_size=20), st.text(max_size=20))), max_size=8
)


async def ask(
    endpoint: ScriptedEndpoint, *turns: Turn, clock: HurriedClock | None = None, **settings: int
) -> list[Completion[str | None]]:
    async with model_at(endpoint.url, clock, **settings) as model:
        return [await model.complete(turn, role="coder", limits=CallLimits()) for turn in turns or (Turn(),)]


def called(*arguments: object, text: str | None = None, finish: str = "tool_calls") -> Reply:
    return Reply(text, calls=arguments, finish=finish)


async def test_call_comes_as_text_with_one_fenced_block() -> None:
    with ScriptedEndpoint([called(LS, text="I look.")]) as endpoint:
        (got,) = await ask(endpoint)
    assert (got.text, got.answer, got.usage) == (FENCED, "ls -l", Usage(100, 20))
    assert endpoint.requests[0].body["tools"] == [
        {
            "type": "function",
            "function": {
                "name": "bash",
                "description": "Runs a command in your shell.",
                "parameters": {
                    "type": "object",
                    "properties": {"command": {"type": "string", "description": "what to run"}},
                    "required": ["command"],
                },
            },
        }
    ]


async def test_call_without_content_is_no_empty_answer_and_is_paid_once() -> None:
    with ScriptedEndpoint([called(LS)]) as endpoint:
        (got,) = await ask(endpoint)
        assert len(endpoint.requests) == 1
    assert got.text == "```sh\nls -l\n```"


async def test_conversation_is_sent_with_calls_and_results() -> None:
    with ScriptedEndpoint([called(LS)]) as endpoint:
        await ask(endpoint, SECOND)
    assert endpoint.requests[0].body["messages"] == [
        {"role": "system", "content": "Work in the shell."},
        {"role": "user", "content": "Look around."},
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [{"id": "call00002", "type": "function", "function": {"name": "bash", "arguments": LS}}],
        },
        {"role": "tool", "tool_call_id": "call00002", "content": "data work"},
        {"role": "assistant", "content": "Nothing yet."},
        {"role": "user", "content": "Go on."},
    ]


def test_call_without_prose_has_no_content() -> None:
    (call,) = native_messages([Message("assistant", "```sh\nls\n```")], BASH)
    assert call["content"] is None


@given(TURNS, st.integers(0, 8))
def test_longer_conversation_begins_as_the_shorter_one_did(turns: list[str], count: int) -> None:
    messages = Turn(tuple(turns)).messages()
    assert native_messages(messages, BASH)[:count] == native_messages(messages[:count], BASH)


@given(st.text(max_size=40), st.text(max_size=40))
def test_call_that_came_as_text_goes_back_as_the_same_call(said: str, command: str) -> None:
    text = text_of_calls(said, [{"function": {"name": "bash", "arguments": json.dumps({"command": command})}}], BASH)
    (sent,) = native_messages([Message("assistant", text)], BASH)
    arguments = json.loads(sent["tool_calls"][0]["function"]["arguments"])
    assert arguments == {"command": re.sub(r"\r+(?=\n|\Z)", "", command)}
    assert command_in(text) == arguments["command"]


async def test_several_calls_of_one_reply_are_one_command() -> None:
    with ScriptedEndpoint([called(LS, {"command": "pwd"})]) as endpoint:
        (got,) = await ask(endpoint)
    assert got.answer == "ls -l\npwd"


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        ('{"command": "cat > a.py <<', 'bash({"command": "cat > a.py <<)'),
        ('{"code": "ls"}', 'bash({"code": "ls"})'),
        ('{"command": 7}', 'bash({"command": 7})'),
        ("[1]", "bash([1])"),
        ("```sh\nls\n```", None),
        ("", "bash()"),
        (None, "bash(null)"),
        ("[" * 100_000, None),
        ({"function": "bash"}, "bash()"),
        ({"function": {"name": "python", "arguments": '{"code": "1"}'}}, 'python({"code": "1"})'),
    ],
)
async def test_call_that_cannot_be_read_is_prose(call: object, shown: str | None) -> None:
    with ScriptedEndpoint([called(call, text="Now:\n```sh\nrm a\n```")]) as endpoint:
        (got,) = await ask(endpoint)
        assert len(endpoint.requests) == 1
    assert got.answer is None
    assert got.text.startswith("Now:\n```\nrm a\n```\n\n")
    assert shown is None or got.text.endswith(shown)


async def test_nothing_runs_that_came_after_a_call_that_cannot_be_read() -> None:
    with ScriptedEndpoint([called(LS, "{", LS)]) as endpoint:
        (got,) = await ask(endpoint)
    assert got.answer == "ls -l"
    assert got.text.startswith(f"bash({{)\n\nbash({LS})\n\n")


@pytest.mark.parametrize("calls", [[], None, "none", {}, 7])
async def test_answer_with_broken_calls_and_nothing_else_is_empty(calls: object) -> None:
    body = {"choices": [{"message": {"content": None, "tool_calls": calls}, "finish_reason": "tool_calls"}]}
    with ScriptedEndpoint([Reply(body=body)]) as endpoint, pytest.raises(EmptyAnswer):
        await ask(endpoint)


async def test_call_with_a_lone_surrogate_can_be_sent_back() -> None:
    with ScriptedEndpoint([called('{"command": "echo \\ud800"}')]) as endpoint:
        (got,) = await ask(endpoint)
        await ask(endpoint, Turn(("Look.", got.text, "?")))
    assert got.answer == "echo ?"


def llama_cpp_chunk(delta: dict[str, object], finish: str | None = None) -> dict[str, object]:
    """Return a part of a streamed answer as llama.cpp's server sends it."""
    choice = {"finish_reason": finish, "index": 0, "delta": delta}
    return {"choices": [choice], "created": 1, "id": "chatcmpl-1", "model": "m", "object": "chat.completion.chunk"}


async def test_llama_cpps_stream_with_thoughts_in_its_text_and_a_call_is_read_as_recorded() -> None:
    """A model of fixed words behind its server (build 11549): thoughts stay in the text, and tokens come after the end."""
    call = {"index": 0, "id": "G1Iz", "type": "function", "function": {"name": "bash", "arguments": LS}}
    usage = {"completion_tokens": 8, "prompt_tokens": 535, "prompt_tokens_details": {"cached_tokens": 534}}
    events = [
        llama_cpp_chunk({"role": "assistant", "content": None}),
        *map(llama_cpp_chunk, ({"content": "<think>I look around"}, {"content": " first."}, {"content": "</think>"})),
        llama_cpp_chunk({"content": "\n\nI look.\n"}),
        llama_cpp_chunk({"tool_calls": [call]}),
        llama_cpp_chunk({}, "tool_calls"),
        {"choices": [], "object": "chat.completion.chunk", "usage": usage, "timings": {"cache_n": 534, "prompt_n": 1}},
        "data: [DONE]\n\n",
    ]
    with ScriptedEndpoint([Reply(events=events)]) as endpoint:
        (got,) = await ask(endpoint)
    assert (got.text, got.answer, got.usage) == (FENCED, "ls -l", Usage(535, 8, 534))


REFUSALS = [
    failure(400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
    failure(400, "registry.ollama.ai/library/gemma:2b does not support tools"),
    failure(404, 'No endpoints found that support tool use. Try disabling "bash".'),
    failure(422, "body.tools: Extra inputs are not permitted"),
    failure(500, "tools param requires --jinja flag", "server_error"),
    failure(500, "Grammar trigger word should be marked as preserved token: <tool_call>\n", "server_error"),
    failure(500, "Failed to parse tool call arguments as JSON: syntax error", "server_error"),
    failure(400, "Unrecognized request argument supplied: functions"),
    Reply(body={"error": {"message": "this model has no function calling", "code": 400}}),
]


@pytest.mark.parametrize("refusal", REFUSALS)
async def test_endpoint_that_rejects_tools_is_asked_in_text_at_once_and_ever_after(refusal: Reply) -> None:
    def script(request: Request) -> Reply:
        return refusal if "tools" in request.body else Reply(FENCED)

    clock = HurriedClock()
    with ScriptedEndpoint(script) as endpoint:
        first, second = await ask(endpoint, Turn(), SECOND, clock=clock, retries=0)
    assert (first.answer, second.answer, clock.slept) == ("ls -l", "ls -l", [])
    assert ["tools" in request.body for request in endpoint.requests] == [True, False, False]
    assert endpoint.requests[2].body["messages"][2] == {"role": "assistant", "content": FENCED}


async def test_endpoint_that_drops_tools_midway_goes_on_in_text() -> None:
    missing = failure(400, "Missing `reasoning_content` field in the assistant message at message index 2.")

    def script(request: Request) -> Reply:
        native = any("tool_calls" in message for message in request.body["messages"])
        return missing if native else called(LS) if "tools" in request.body else Reply(FENCED)

    with ScriptedEndpoint(script) as endpoint:
        got = await ask(endpoint, Turn(), SECOND, SECOND, retries=0)
    assert [one.answer for one in got] == ["ls -l"] * 3
    assert ["tools" in request.body for request in endpoint.requests] == [True, True, False, False]


async def test_token_limit_and_tools_may_both_be_found_out_in_one_call() -> None:
    def script(request: Request) -> Reply:
        if "max_tokens" in request.body:
            return failure(400, "Unsupported parameter: use 'max_completion_tokens' instead.")
        return REFUSALS[0] if "tools" in request.body else Reply(FENCED)

    with ScriptedEndpoint(script) as endpoint:
        (got,) = await ask(endpoint, max_tokens=50, retries=0)
    assert got.answer == "ls -l"
    assert endpoint.requests[-1].body["max_completion_tokens"] == 50


async def test_error_that_only_names_functions_takes_no_tools_away() -> None:
    long = failure(400, "maximum context length is 8192 tokens, 9000 in the messages and 50 in the functions")
    with ScriptedEndpoint([long, long, called(LS)]) as endpoint:
        async with model_at(endpoint.url) as model:
            with pytest.raises(ModelRefused, match="context length"):
                await model.complete(Turn(), role="coder", limits=CallLimits())
            await model.complete(Turn(), role="coder", limits=CallLimits())
    assert ["tools" in request.body for request in endpoint.requests] == [True, False, True]


async def test_endpoint_that_ignores_tools_just_works() -> None:
    with ScriptedEndpoint([FENCED]) as endpoint:
        first, second = await ask(endpoint, Turn(), SECOND)
    assert (first.text, second.answer) == (FENCED, "ls -l")
    assert "tools" in endpoint.requests[1].body


async def test_prompt_without_a_tool_sends_none_and_reads_no_calls() -> None:
    assert tool_of(Question()) is None
    with ScriptedEndpoint([called(LS, text=GOOD)]) as endpoint:
        async with model_at(endpoint.url) as model:
            got = await model.complete(Question(), role="coder", limits=CallLimits())
    assert "tools" not in endpoint.requests[0].body
    assert got.text == GOOD


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (called('{"command": "cat > a.py <<', finish="length"), 'bash({"command": "cat > a.py <<)'),
        (
            Reply("I write:\n```sh\ncat > a.py <<EOF\nimport", finish="length"),
            "I write:\n```sh\ncat > a.py <<EOF\nimport",
        ),
        (Reply(None, finish="length"), ""),
    ],
)
async def test_reply_that_was_cut_off_is_handed_to_the_prompt(reply: Reply, text: str, tmp_path: Path) -> None:
    with ScriptedEndpoint([reply]) as endpoint, open_run(tmp_path) as store:
        (got,) = await ask(endpoint)
        assert (got.text, got.answer, got.cut) == (text, None, True)
        async with model_at(endpoint.url) as model:
            assert await asker_of(model, store).ask(Turn(), role="coder", name="turn") is None
        assert len(endpoint.requests) == 2


async def test_call_that_is_whole_runs_though_the_reply_was_cut_off() -> None:
    with ScriptedEndpoint([called(LS, finish="length")]) as endpoint:
        (got,) = await ask(endpoint)
    assert (got.answer, got.cut) == ("ls -l", True)


async def test_reply_without_a_command_that_a_prompt_cannot_read_is_repaired_with_the_tool_at_hand(
    tmp_path: Path,
) -> None:
    class Strict(Turn):
        def parse(self, text: str) -> str:
            command = command_in(text)
            if command is None:
                raise Unparsable("no command")
            return command

    with ScriptedEndpoint([Reply("I wait", finish="length"), called(LS)]) as endpoint, open_run(tmp_path) as store:
        async with model_at(endpoint.url) as model:
            assert await asker_of(model, store).ask(Strict(), role="coder", name="turn") == "ls -l"
    assert "tools" in endpoint.requests[1].body
    assert "no command" in endpoint.requests[1].last


async def test_fallback_that_takes_over_midway_translates_for_itself() -> None:
    native = [called(LS), failure(503, "gone")]
    with ScriptedEndpoint(native) as first, ScriptedEndpoint([REFUSALS[0], FENCED]) as second:
        async with model_at(first.url, retries=0) as one, model_at(second.url, retries=0) as other:
            model = FallbackModel([Answerer("one", one, free), Answerer("other", other, free)], HurriedClock())
            for turn in (Turn(), SECOND):
                got = await model.complete(turn, role="coder", limits=CallLimits())
                assert got.answer == "ls -l"
    assert "tool_calls" in first.requests[1].body["messages"][2]
    assert second.requests[1].body["messages"][2] == {"role": "assistant", "content": FENCED}


async def converse(asker: Asker) -> list[str | None]:
    said: tuple[str, ...] = ("Look around.",)
    commands = []
    for number in range(3):
        commands.append(await asker.ask(Turn(said), role="coder", name=f"turn/{number}"))
        said = (*said, with_command("", commands[-1] or ""), f"printed {number}")
    return commands


async def test_conversation_is_played_back_from_its_recording(tmp_path: Path) -> None:
    calls = [called(LS), called('{"command": "cat a.md\\n```\\n"}'), Reply("Nothing more", finish="length")]
    with ScriptedEndpoint(calls) as endpoint, open_run(tmp_path / "first") as store:
        async with model_at(endpoint.url) as model:
            first = await converse(asker_of(model, store, recorder=RecordingWriter(tmp_path / "recording")))
    with open_run(tmp_path / "second") as store:
        assert await converse(asker_of(RecordedModel(tmp_path / "recording"), store)) == first
    assert first == ["ls -l", "cat a.md\n```\n", None]
    recorded = await RecordedModel(tmp_path / "recording", "0/turn/2/0").complete(
        Turn(), role="coder", limits=CallLimits()
    )
    assert recorded.cut

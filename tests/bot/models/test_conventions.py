"""Answers as open models write them where a server leaves them as they came: one recorded shape for each convention."""

import json
import re

import pytest

from bot.models import Message
from bot.models.commands import command_in
from bot.models.completion import parsed
from bot.models.conventions import answer_of, calls_in
from bot.models.quoting import clean
from bot.models.repair import Continuation
from bot.models.reply import read_reply
from bot.models.tools import Tool
from tests.bot.models.parts import BASH, Question, Value

REJECTED = "First I try:\n\n```sh\nrm -rf work\n```\n\nMy work would be lost."
ANSWER = "I look.\n\n```sh\nls\n```"


REASONED = (
    f"{REJECTED}\n</think>\n\n{ANSWER}",
    f"```sh\nrm -rf work\nno end of it\n</think>\n\n{ANSWER}",
    f"```sh\nrm -rf work\n``` no.</think>{ANSWER}",
    f'I would say "so"</think>\n{ANSWER}',
    f"a</think>\nb\n</think>\n{ANSWER}",
    f"<think>\n{REJECTED}\n</think>\n\n{ANSWER}",
    f"<think>a</think>\n\n{REJECTED}\n</think>\n{ANSWER}",
    f"<think>a <think> b</think> c</think>{ANSWER}",
    f"<thought>\n{REJECTED}\n</thought>\n{ANSWER}",
    f"<seed:think>{REJECTED}</seed:think>{ANSWER}",
    f"[THINK]{REJECTED}[/THINK]{ANSWER}",
    f"◁think▷{REJECTED}◁/think▷{ANSWER}",
    f"<|START_THINKING|>{REJECTED}<|END_THINKING|><|START_RESPONSE|>{ANSWER}<|END_RESPONSE|>",
    f"<|channel>thought\n{REJECTED}<channel|>{ANSWER}<turn|>",
    f"<think>{REJECTED}</think><answer>{ANSWER}\n</answer>",
    f"{REJECTED}</think>\n<|begin_of_box|>{ANSWER}<|end_of_box|>",
    f"<|channel|>analysis<|message|>{REJECTED}<|end|><|start|>assistant<|channel|>final<|message|>{ANSWER}<|return|>",
    f"{REJECTED}<|end|><|start|>assistant<|channel|>final<|message|>{ANSWER}",
    f"analysis{REJECTED}assistantfinal{ANSWER}",
    f"analysis We need it. {REJECTED} assistantfinal {ANSWER}",
    f"assistantanalysis{REJECTED}assistantfinal{ANSWER}",
    f"<|channel|>analysis<|message|>{REJECTED}<|end|><|start|>assistant<|message|>{ANSWER}",
    f"<Think>{REJECTED}</Think >{ANSWER}",
    f"<mm:think>{REJECTED}</mm:think><response>{ANSWER}</response>",
    f"<thought_process>{REJECTED}</thought_process>{ANSWER}<|endoftext|>",
    f"<|begin_of_thought|>{REJECTED}<|end_of_thought|><|begin_of_solution|>{ANSWER}<|end_of_solution|></s>",
    f"<|inner_prefix|>{REJECTED}<|inner_suffix|>{ANSWER}<|end|>",
    f"<analysis>{REJECTED}</analysis><final>{ANSWER}\n</final>",
    f"<scratchpad>{REJECTED}</scratchpad>{ANSWER}",
    f"[REASONING]{REJECTED}[/REASONING]{ANSWER}",
    f"<|thinking|>{REJECTED}<|/thinking|>{ANSWER}",
    f"<unused94>thought\n{REJECTED}<unused95>{ANSWER}",
    f"<think>{REJECTED}<\\think>{ANSWER}",
    f"<think>{REJECTED}</ think>{ANSWER}",
    f"<think>{REJECTED}</think>{ANSWER}<|im_end|>\n<|im_start|>user\n{REJECTED}",
    f"Here is my thought process:\n{REJECTED}\nHere is my response:\n{ANSWER}",
    f"<|im_start|>assistant\n<think>\n{REJECTED}\n</think>\n\n{ANSWER}<|im_end|>",
    f"<|im_start|>think\n{REJECTED}<|im_end|>\n<|im_start|>answer\n{ANSWER}<|im_end|>",
    f"<ctrl94>thought\n{REJECTED}\n<ctrl95>{ANSWER}",
    f"<|channel|>analysis {REJECTED}<|end|><|start|>assistant<|channel|>final {ANSWER}",
)
OF_ANY_NAME = (
    f"<inner_monologue>\n{REJECTED}\n</inner_monologue>\n\n{ANSWER}",
    f"<musing>{REJECTED}</musing>{ANSWER}",
    f'<monologue type="private">\n{REJECTED}\n</Monologue >\n{ANSWER}',
    f"<musing><think>{REJECTED}</think>{REJECTED}</musing>{ANSWER}",
    f"<musing>a<musing>{REJECTED}</musing>{REJECTED}</musing>{ANSWER}",
    f"<musing>{REJECTED}</musing>\n<check>{REJECTED}</check>\n{ANSWER}",
    f"<musing>{REJECTED}</musing>\n<answer>\n{ANSWER}\n</answer>",
    f"<inner-voice>\n```sh\nrm -rf work\n no end</inner-voice>{ANSWER}",
    f"<рассуждение>{REJECTED}</рассуждение>{ANSWER}",
    f"<|musing|>{REJECTED}<|/musing|>{ANSWER}",
    f"<|musing_start|>{REJECTED}<|musing_end|>{ANSWER}",
    f"<|begin_of_musing|>{REJECTED}<|end_of_musing|>{ANSWER}",
    f"[INNER THOUGHTS]{REJECTED}[/INNER THOUGHTS]{ANSWER}",
    f"[reasoning]\n{REJECTED}\n[/reasoning]\n{ANSWER}",
    f"<draft_answer>{REJECTED}</draft_answer>\n<answer>\n{ANSWER}\n</answer>",
    f"<details>\n<summary>Thoughts</summary>\n\n{REJECTED}\n</details>\n\n{ANSWER}",
    f"{REJECTED}</musing>{ANSWER}",
    f"Thought: {REJECTED}\n\nFinal answer:\n{ANSWER}",
    f"## Thinking\n{REJECTED}\n\n## Answer\n{ANSWER}",
    f"**Thinking process:**\n\n1. {REJECTED}\n\n**Final Answer:**\n\n{ANSWER}",
    f"Let me think.\n{REJECTED}\nFinal response:\n{ANSWER}",
    f"Thinking...\n{REJECTED}\n...done thinking.\n\n{ANSWER}",
    f"⟨think⟩{REJECTED}⟨/think⟩{ANSWER}",
    f"【思考】{REJECTED}【/思考】{ANSWER}",
    f"--- Thinking ---\n{REJECTED}\n--- End of thinking ---\n{ANSWER}",
    f"Reasoning: {REJECTED}\n\nCommand: {ANSWER}",
    f"Thought:\n{REJECTED}\n\nAction:\n{ANSWER}",
    f"## 思考过程\n{REJECTED}\n\n## 最终答案\n{ANSWER}",
    f"[Thinking]\n{REJECTED}\n\n[Final answer]\n{ANSWER}",
    f"[THOUGHT]: {REJECTED}\n\n[ANSWER]: {ANSWER}",
    f"[[ ## reasoning ## ]]\n{REJECTED}\n\n[[ ## answer ## ]]\n{ANSWER}",
    f"=== THOUGHTS ===\n{REJECTED}\n=== NOW ===\n{ANSWER}",
    f"Plan:\n{REJECTED}\n\nAction:\n{ANSWER}",
    f"-----BEGIN REASONING-----\n{REJECTED}\n-----END REASONING-----\n{ANSWER}",
    f"[BEGIN REASONING]\n{REJECTED}\n[END REASONING]\n{ANSWER}",
    f"[Start musing]\n{REJECTED}\n[End musing]\n{ANSWER}",
    f"<!-- thinking\n{REJECTED}\n-->\n{ANSWER}",
    f"<!-- begin musing -->\n{REJECTED}\n<!-- end musing -->\n{ANSWER}",
    f"/* {REJECTED} */\n{ANSWER}",
    f"::: thinking\n{REJECTED}\n:::\n{ANSWER}",
    f"&lt;think&gt;{REJECTED}&#60;/think&#62;{ANSWER}",
    f"[THINKING]\n{REJECTED}\n\n[OUTPUT]\n{ANSWER}",
    f"{{{{!-- {REJECTED} --}}}}{ANSWER}",
    f"{{musing}}\n{REJECTED}\n{{/musing}}\n{ANSWER}",
    f"{{{{#musing}}}}\n{REJECTED}\n{{{{/musing}}}}\n{ANSWER}",
    f"[THINKING START]\n{REJECTED}\n[THINKING END]\n{ANSWER}",
    f"<｜begin▁of▁thinking｜>{REJECTED}<｜end▁of▁thinking｜>{ANSWER}",
    f"## Thinking\n{REJECTED}\n\n## More thinking\n{REJECTED}\n\n## Answer\n{ANSWER}",
    f"Sure.\n\n[[ ## reasoning ## ]]\n{REJECTED}\n\n[[ ## answer ## ]]\n{ANSWER}",
    f"<think>{REJECTED}<think/>{ANSWER}",
)


@pytest.mark.parametrize("text", [*REASONED, *OF_ANY_NAME])
def test_what_is_reasoning_is_no_part_of_the_answer(text: str) -> None:
    assert answer_of(text).strip(" \n").removeprefix("<answer>\n").removesuffix("\n</answer>") == ANSWER
    assert command_in(answer_of(text)) == "ls"


@pytest.mark.parametrize(
    "words",
    ["Wait, that deletes my work.", "No, that is wrong.", "Hmm. I need it.", "But wait... better not.", "等等，不对。"],
)
def test_a_command_that_is_taken_back_is_not_run(words: str) -> None:
    assert command_in(answer_of(f"```sh\nrm -rf work\n```\n\n{words}\n\n{ANSWER}")) == "ls"
    assert command_in(answer_of(f"```sh\nrm -rf work\n```\n{words}")) is None


def test_the_command_in_a_last_tag_after_reasoning_is_run() -> None:
    assert command_in(answer_of(f"<think>{REJECTED}</think>\n<verdict>\n{ANSWER}\n</verdict>")) == "ls"
    assert command_in(answer_of(f"<think>a</think>{ANSWER}\n<musing>{REJECTED}</musing>")) == "ls"


@pytest.mark.parametrize(
    "text",
    [
        f"<think>\n{REJECTED}",
        f"[THINK]{REJECTED}",
        f"{REJECTED}</think>",
        f"<|channel|>analysis<|message|>{REJECTED}",
        f"analysis{REJECTED}",
        f"<musing>{REJECTED}</musing>",
        f"<musing>\n{REJECTED}",
        "",
    ],
)
def test_reasoning_alone_is_no_answer(text: str) -> None:
    assert answer_of(text).strip() == ""


@pytest.mark.parametrize(
    "text",
    [
        ANSWER,
        'I cut at `</think>`:\n\n```python\nanswer = text.split("</think>")[-1]\n```',
        '```python\nfound = re.sub(r"<think>(.*?)</think>\\s*", "", text)\n```',
        '```python\nPROMPT = """\n<think>\n{thoughts}\n</think>\n{answer}"""\n```',
        '```python\nprompt += "\\n</think>\\n" + f"{thoughts}</think>"\n```',
        "Models write <think> before they answer.",
        "Here is my response:\n[think] of it\nassistantfinal",
        "```python\nx = 1\n```\n~~~\n```\n~~~\nanalysis of it",
        f"The page has\n<entry>\n<a>1</a>\n</entry>\nand List<String>, Map<K, V> or [name].\n\n{ANSWER}",
        f'I use <Card title={{"a"}}>{{"x"}}</Card> and std::vector<std::string>.\n\n{ANSWER}',
        'I write it:\n\n```sh\ncat > a.md <<E\n<plan>\n```py\nx = {"a": 1}\n```\n</plan>\n</log>\nE\n```',
        f"```python\nfoot = '''\n</log>\nFinal answer:\n'''\n```\n\n{ANSWER}",
        '{"note": "<plan>{\\"a\\": 1}</plan>", "value": 7}',
        f"<details>\n<summary>Script</summary>\n\n{ANSWER}\n</details>",
        f"<solution>\n{ANSWER}\n</solution>",
        f"<proposed_command>\n{ANSWER}\n</proposed_command>",
        f"Thought: I look.\n\n{ANSWER}",
        f"Thought: I look.\n\n{ANSWER}\n\nAnswer: it shows the files.",
        f"{ANSWER}\n</turn_1>",
        f"{ANSWER}\n\n(/work/a) and {{/work}} and [/b]:\n\n{ANSWER}",
        f"{ANSWER}\n\nWait for it, then:\n\n{ANSWER}\n\nNo files change.\n\n{ANSWER}",
        f"<!-- note -->\n{ANSWER}\n\n<br/>\n\n{ANSWER}\n\n<br/>",
        f"## Thinking\nIt is simple.\n\n## Step 1\n{ANSWER}\n\n## Step 2\n{ANSWER}",
        f"Thought: I look and count.\n\n{ANSWER}\n\nThen I count:\n\n{ANSWER}",
        f"(thinking of it) {{think}} [1]\n\n{ANSWER}",
        f"::: note\n{ANSWER}\n:::",
    ],
)
def test_an_answer_that_speaks_of_tags_stays_whole(text: str) -> None:
    assert answer_of(text) == text


CALLS = {
    "hermes": '<tool_call>\n{"name": "bash", "arguments": {"command": "ls"}}\n</tool_call>',
    "qwen3-coder": "<tool_call>\n<function=bash>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>",
    "llama-function": '<function=bash>{"command": "ls"}</function>',
    "llama-python-tag": '<|python_tag|>{"name": "bash", "parameters": {"command": "ls"}}<|eom_id|>',
    "glm": "<tool_call>bash\n<arg_key>command</arg_key>\n<arg_value>ls</arg_value>\n</tool_call>",
    "kimi": "<|tool_calls_section_begin|><|tool_call_begin|>functions.bash:0<|tool_call_argument_begin|>"
    '{"command": "ls"}<|tool_call_end|><|tool_calls_section_end|>',
    "deepseek-r1": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>bash\n```json\n"
    '{"command": "ls"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    "deepseek-v3.1": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>bash<｜tool▁sep｜>"
    '{"command": "ls"}<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>',
    "mistral": '[TOOL_CALLS][{"name": "bash", "arguments": {"command": "ls"}}]</s>',
    "mistral-newer": '[TOOL_CALLS]bash[ARGS]{"command": "ls"}',
    "minimax": '<minimax:tool_call>\n<invoke name="bash">\n<parameter name="command">ls</parameter>\n</invoke>\n'
    "</minimax:tool_call>",
    "gemma": '```tool_code\nprint(default_api.bash(command="ls"))\n```',
    "gemma-4": '<|tool_call>call:bash{command:<|"|>ls<|"|>}<tool_call|>',
    "gpt-oss": "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary to=functions.bash "
    '<|constrain|>json<|message|>{"command": "ls"}<|call|>',
    "gpt-oss-from-its-role": 'to=functions.bash<|channel|>commentary<|constrain|>json<|message|>{"command": "ls"}',
    "gpt-oss-role": "<|start|>assistant to=functions.bash<|channel|>commentary json<|message|>"
    '{"command": "ls"}<|call|>',
    "hermes-without-its-last-brace": '<tool_call>\n{"name": "bash", "arguments": {"command": "ls"}\n</tool_call>',
    "hermes-as-python": "<tool_call>\n{'name': 'bash', 'arguments': {'command': 'ls'}}\n</tool_call>",
    "qwen2.5-coder": '<tools>\n{"name": "bash", "arguments": {"command": "ls"}}\n</tools>',
    "jamba": '<tool_calls>[{"name": "bash", "arguments": {"command": "ls"}}]</tool_calls>',
    "glaive": """<functioncall> {"name": "bash", "arguments": '{"command": "ls"}'}""",
    "hunyuan": '<tool_calls>\n<tool_call>bash\n```json\n{"command": "ls"}\n```\n</tool_call>\n</tool_calls>',
    "qwen3-coder-unclosed": "<function=bash>\n<parameter=command>\nls\n</tool_call>",
    "deepseek-newest": '<｜｜DSML｜｜ invoke name="bash">\n'
    '<｜｜DSML｜｜ parameter name="command" string="true">ls</｜｜DSML｜｜ parameter>\n</｜｜DSML｜｜ invoke>',
    "deepseek-ascii": '<|tool_calls_begin|><|tool_call_begin|>bash<|tool_sep|>{"command": "ls"}<|tool_call_end|>',
    "longcat": "<longcat_tool_call>bash<longcat_arg_key>command</longcat_arg_key>"
    "<longcat_arg_value>ls</longcat_arg_value></longcat_tool_call>",
    "kimi-unclosed": '<|tool_call_begin|>functions.bash:0<|tool_call_argument_begin|>{"command": "ls"}<|tool_calls_section_end|>',
    "devstral": '[TOOL_CALLS]bash{"command": "ls"}',
    "olmo": '<function_calls>\nbash(command="ls")\n</function_calls>',
    "llama-python-code": '<|python_tag|>bash.call(command="ls")',
    "gpt-oss-words": '<|channel|>commentary to=container.exec<|message|>{"cmd": ["ls"]}<|call|>',
    "lm-studio": '[TOOL_REQUEST]{"name": "bash", "arguments": {"command": "ls"}}[END_TOOL_REQUEST]',
    "lfm-as-json": '<|tool_call_start|>[{"name": "bash", "arguments": {"command": "ls"}}]<|tool_call_end|>',
    "anthropic-input": '<tool_use>{"name": "bash", "input": {"command": "ls"}}</tool_use>',
    "smolagents": '<tool_call>{"tool": "bash", "args": {"command": "ls"}}</tool_call>',
    "name-as-function": '<tool_call>{"function": "bash", "parameters": {"command": "ls"}}</tool_call>',
    "param": '<function name="bash"><param name="command">ls</param></function>',
    "qwen-2": '✿FUNCTION✿: bash\n✿ARGS✿: {"command": "ls"}',
    "react": 'Thought: I look.\nAction: bash\nAction Input: {"command": "ls"}\nObservation: a.txt',
    "apertus": '<|tools_prefix|>[{"bash": {"command": "ls"}}]<|tools_suffix|>',
    "gpt-oss-without-tokens": 'analysisI look.assistantcommentary to=functions.bash json{"command": "ls"}',
}


def read(content: object, tool: Tool | None = BASH, **fields: object) -> str:
    message = {"role": "assistant", "content": content, **fields}
    body = {"choices": [{"message": message, "finish_reason": "stop"}], "usage": None}
    return read_reply(json.dumps(body).encode(), [Message("user", "Go on.")], model="x", tool=tool).text


@pytest.mark.parametrize("text", CALLS.values(), ids=CALLS)
def test_a_call_in_the_text_is_a_command(text: str) -> None:
    assert command_in(read(text)) == "ls"


@pytest.mark.parametrize("text", CALLS.values(), ids=CALLS)
def test_a_call_that_was_rejected_is_none(text: str) -> None:
    assert command_in(read(f"<musing>{text}\nNo.\n</musing>\n\n```sh\necho note\n```")) == "echo note"
    assert command_in(read(f"<think>{text}\nNo, I write a note.\n</think>\n\n```sh\necho note\n```")) == "echo note"


def test_calls_keep_their_order_and_the_prose_before_them() -> None:
    text = (
        "I look.\n" + CALLS["hermes"] + '\n<tool_call>\n{"name": "bash", "arguments": {"command": "pwd"}}\n</tool_call>'
    )
    prose, calls = calls_in(text)
    assert (prose, [call["function"]["arguments"]["command"] for call in calls]) == ("I look.", ["ls", "pwd"])


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "bash", "parameters": {"command": "ls"}}',
        'I look.\n\n{"type": "function", "function": {"name": "bash", "arguments": "{\\"command\\": \\"ls\\"}"}}',
        '```json\n[{"name": "bash", "arguments": {"command": "ls"}}]\n```\nThat shows the files.',
        '{"tool_uses": [{"recipient_name": "functions.bash", "parameters": {"command": "ls"}}]}',
        'functools[{"name": "bash", "arguments": {"command": "ls"}}]',
    ],
)
def test_a_call_without_a_mark_is_a_command(text: str) -> None:
    assert command_in(read(text)) == "ls"


def test_json_that_is_no_call_stays_in_the_answer() -> None:
    text = 'It is:\n```json\n{"name": "lgbm", "metric": 1}\n```'
    assert read(text) == text


@pytest.mark.parametrize("result", ["\n<tool_response>\na.txt\n</tool_response>\n", "\nObservation: a.txt\n"])
def test_what_follows_a_result_that_the_model_made_up_is_not_run(result: str) -> None:
    form = CALLS["hermes"] if "tool" in result else 'Action: bash\nAction Input: {"command": "ls"}'
    assert command_in(read(form + result + form.replace("ls", "rm -rf work"))) == "ls"


@pytest.mark.parametrize(
    "arguments", ['"{\\"command\\": \\"ls\\"}"', '{"command": "ls"}</tool_call>', '{"command": ["ls"]}']
)
def test_arguments_are_read_as_servers_send_them(arguments: str) -> None:
    call = {"type": "function", "function": {"name": "bash", "arguments": arguments}}
    assert command_in(read(None, tool_calls=[call])) == "ls"


@pytest.mark.parametrize("name", ["arguments", "input"])
def test_a_call_without_its_function_is_read(name: str) -> None:
    assert command_in(read(None, tool_calls=[{"id": "1", "name": "bash", name: {"command": "ls"}}])) == "ls"


def test_a_call_that_is_cut_off_is_no_command() -> None:
    assert command_in(read('<tool_call>\n{"name": "bash", "arguments": {"command": "rm -rf /tm')) is None


@pytest.mark.parametrize("value", ["{[1]: 2}", "{{1}}", "{'command': {1, 2}}", "{'command': b'ls'}", "1j", "..."])
def test_a_call_that_is_python_and_no_json_is_no_command(value: str) -> None:
    assert command_in(read(f"<tool_call>{{'name': 'bash', 'arguments': {value}}}</tool_call>")) is None


def test_a_call_that_is_nested_absurdly_is_no_command() -> None:
    assert command_in(read("```tool_code\nprint(" + "-" * 200_000 + "1)\n```")) is None


@pytest.mark.parametrize("form", ["hermes", "qwen3-coder", "glm"])
def test_a_call_keeps_the_tags_that_its_command_writes(form: str) -> None:
    command = 'cat > a.md <<E\n<plan>\n```\n{"a": 1}\n```\n</plan>\nE'
    written = json.dumps(command)[1:-1] if form == "hermes" else command
    assert command_in(read(re.sub(r"\bls\b", lambda match: written, CALLS[form]))) == command


def test_reasoning_that_leaves_its_block_open_runs_nothing_of_it() -> None:
    assert command_in(read(f"```sh\nrm -rf work\nno end of it\n</musing>\n\n{ANSWER}")) is None


def test_a_command_that_only_speaks_of_calls_stays_as_it_is() -> None:
    assert command_in(read("```sh\ngrep '<function=a>x</function>' log\n```")) == "grep '<function=a>x</function>' log"


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_fields_of_reasoning_are_no_part_of_the_answer(field: str) -> None:
    assert command_in(read(ANSWER, **{field: REJECTED})) == "ls"
    assert read(None, **{field: ANSWER}) == ""


@pytest.mark.parametrize(
    ("said", "finish"),
    [
        ("MAX_TOKENS", "length"),
        ("model_length", "length"),
        ("model_context_window_exceeded", "length"),
        ("SAFETY", "content_filter"),
        ("content_filter: PROHIBITED_CONTENT", "content_filter"),
        ("guardrail_intervened", "content_filter"),
        ("sensitive", "content_filter"),
        ("function_call_filter: MALFORMED_FUNCTION_CALL", "function_call_filter: MALFORMED_FUNCTION_CALL"),
        ("end_turn", "end_turn"),
    ],
)
def test_other_servers_names_of_an_end_are_known(said: str, finish: str) -> None:
    body = {"choices": [{"message": {"content": ""}, "finish_reason": said}]}
    assert read_reply(json.dumps(body).encode(), [], model="x").finish == finish


def test_parts_of_reasoning_are_no_part_of_the_answer() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": REJECTED}]}
    also = {"type": "reasoning", "text": REJECTED}
    assert read([thinking, also, {"type": "text", "text": ANSWER}], tool=None) == ANSWER


def test_reasoning_that_ends_in_a_later_part_is_left_out_of_the_whole() -> None:
    question = Continuation(Question(), 'I might say {"value": 1}')
    assert parsed(question, ' but no.\n</think>\n{"value": 7}') == Value(value=7)


def test_a_part_that_reasons_anew_continues_the_answer() -> None:
    question = Continuation(Question(), 'So.</think>\n{"value":')
    assert parsed(question, "I go on with 7.</think> 7}") == Value(value=7)


@pytest.mark.parametrize("text", [text for text in (*REASONED, *CALLS.values()) if re.search("[<[◁]", text)])
def test_the_marks_of_conventions_are_plain_words_in_foreign_text(text: str) -> None:
    quotation = clean(text)
    assert answer_of(quotation) == quotation
    assert calls_in(quotation) == (quotation, [])

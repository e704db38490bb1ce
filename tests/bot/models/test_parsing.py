"""Reading code blocks and JSON objects out of whatever a model writes."""

import pytest
from pydantic import BaseModel, Field

from bot.models.parsing import json_answer, one_code_block
from state.errors import Unparsable


class Idea(BaseModel):
    title: str
    novelty: float = Field(ge=0, le=10)
    tags: list[str] = []


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Plan.\n```python\nx = 1\n```\nDone.", "x = 1\n"),
        ("```py\nx = 1\n```", "x = 1\n"),
        ("```Python title=run.py\r\nx = 1\r\n```", "x = 1\n"),
        ("```\nx = 1\n```", "x = 1\n"),
        ("~~~python\nx = 1\n~~~", "x = 1\n"),
        ("````python\ns = '''\n```\n'''\n````", "s = '''\n```\n'''\n"),
        ("```bash\npip install x\n```\n```python\nx = 1\n```", "x = 1\n"),
        ("```\nsome long output that is no code at all\n```\n```python\nx = 1\n```", "x = 1\n"),
        ("```python\nx = 1\n```\nand all of it:\n```python\nx = 1\ny = 2\n```", "x = 1\ny = 2\n"),
        ("```python\nx = 1\n```\nprints\n```\n1\n```\n", "x = 1\n"),
    ],
)
def test_block_is_found(text: str, code: str) -> None:
    assert one_code_block(text) == code


@pytest.mark.parametrize("quotes", ['"""', "'''"])
def test_fence_inside_a_string_does_not_end_the_block(quotes: str) -> None:
    code = f"readme = {quotes}\n```\nrun me\n```\n{quotes}\nprint('</code>')\n"
    assert one_code_block(f"Here:\n```python\n{code}```\nIt prints:\n```\nx\n```\n") == code


def test_code_with_a_mistake_in_it_ends_at_its_first_fence() -> None:
    assert one_code_block("```python\nif x\n  y = (\n```\nprose\n```\nout\n```") == "if x\n  y = (\n"


def test_code_whose_string_is_never_closed_ends_at_the_last_fence() -> None:
    assert one_code_block('```python\nx = """\n```\ny\n```\n') == 'x = """\n```\ny\n'


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "no code block"),
        ("x = 1", "no code block"),
        ("```json\n{}\n```", "no code block"),
        ("```python\n\n```", "empty"),
        ("```python\nx = 1\n", "never closed"),
        ("```python\nx = 1 ```", "never closed"),
    ],
)
def test_reply_without_a_whole_block_is_unparsable(text: str, fault: str) -> None:
    with pytest.raises(Unparsable, match=fault):
        one_code_block(text)


@pytest.mark.parametrize(
    "text",
    [
        '{"title": "a", "novelty": 7}',
        'Sure!\n```json\n{"title": "a", "novelty": 7}\n```\nHope {"it": "helps"}',
        '{"title": "a", "novelty": "7.0", "unknown": 1}',
        '{"title": "a", "novelty": 7,}',
        "{'title': 'a', 'novelty': 7}",
        '{title: "a", novelty: 7}',
        '{"title": "a", // the title\n "novelty": 7}',
        'Use {placeholders} or {"other": 1}: {"title": "a", "novelty": 7}',
        '[{"title": "a", "novelty": 7}, {"title": "b", "novelty": 1}]',
        '{"title": "a", "novelty": 7, "tags": ["x", ]}\n```',
    ],
)
def test_object_is_found_and_mended(text: str) -> None:
    answer = json_answer(text, Idea)
    assert (answer.title, answer.novelty) == ("a", 7.0)


def test_newline_inside_a_string_is_kept() -> None:
    assert json_answer('{"title": "a\nb", "novelty": 7}', Idea).title == "a\nb"


def test_object_inside_a_broken_one_is_not_taken_for_the_answer() -> None:
    with pytest.raises(Unparsable, match="title: Field required"):
        json_answer('{"ideas": [{"name": "a"},], "novelty": 7}', Idea)


def test_each_wrong_field_is_named() -> None:
    with pytest.raises(Unparsable) as caught:
        json_answer('{"novelty": 11, "tags": "x"}', Idea)
    for part in ("title: Field required", "novelty: Input should be less than or equal to 10", "tags: Input should be"):
        assert part in str(caught.value)


@pytest.mark.parametrize("text", ["", "no", "[1, 2]", "{", "}{"])
def test_reply_without_an_object_is_unparsable(text: str) -> None:
    with pytest.raises(Unparsable, match="no JSON object"):
        json_answer(text, Idea)


@pytest.mark.parametrize("text", ['{"a":' * 100_000, "[" * 100_000, "{" * 100_000, '{"a": {x: ' * 3_000])
def test_hostile_nesting_is_unparsable_and_quick(text: str) -> None:
    with pytest.raises(Unparsable):
        json_answer(text, Idea)

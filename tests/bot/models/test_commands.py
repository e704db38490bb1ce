"""Commands in replies: fenced blocks, read back as they were written."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.models.commands import command_in, prose_and_command, with_command, without_command

PIECES = st.sampled_from(
    [
        "```",
        "````",
        "~~~",
        "```sh",
        "~~~ bash",
        "```python",
        "\n",
        " ",
        "    ",
        "<think>",
        "</think>",
        "EOF",
        "<<EOF",
        "x",
    ]
)
TEXTS = st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=14).map("".join))


@given(TEXTS, TEXTS)
def test_whatever_is_said_around_it_a_command_is_read_back_as_it_was_written(prose: str, command: str) -> None:
    assert command_in(with_command(prose, command)) == re.sub(r"\r+(?=\n|\Z)", "", command)


@given(TEXTS)
def test_prose_without_commands_holds_none(prose: str) -> None:
    assert command_in(without_command(prose)) is None


@given(TEXTS, TEXTS)
def test_written_text_holds_one_command_alone(prose: str, command: str) -> None:
    found = prose_and_command(with_command(prose, command))
    assert found is not None
    assert found[1] == re.sub(r"\r+(?=\n|\Z)", "", command)


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("I look.\n\n```sh\nls -l\n```", "ls -l"),
        ("```bash\nls\n```\nThat is all.", "ls"),
        ("```shell\r\nls\r\npwd\r\n```\r\n", "ls\npwd"),
        ("```sh\na\n```\nthen\n```sh\nb\n```", "a\nb"),
        ("````sh\ncat <<'EOF' > a.md\n```\nx\n```\nEOF\n````", "cat <<'EOF' > a.md\n```\nx\n```\nEOF"),
        ("```sh\ncat <<EOF > a.md\n```\nx\n```\nEOF\nls\n```", "cat <<EOF > a.md\n```\nx\n```\nEOF\nls"),
        ("```sh\ncat <<-'A' <<\"B\"\nA\n```\nB\n```", "cat <<-'A' <<\"B\"\nA\n```\nB"),
        ("```sh\nrm a\n\n```sh\nls\n```", None),
        ("```sh\ncat <<EOF\nno end\n```", "cat <<EOF\nno end"),
        ("```sh\necho $((1<<2)); cat <<<word\n```\nso\n```\nx\n```", "echo $((1<<2)); cat <<<word"),
        ("```python\nprint('```sh')\n```", None),
        ("```sh\nls\n```\n```sh\ncat > a.py <<EOF", "ls"),
        ("```sh\ncat > train.py <<EOF\nimport", None),
        ("no command", None),
        ("```\nls\n```", None),
        ("", None),
    ],
)
def test_commands_are_closed_shell_blocks(text: str, command: str | None) -> None:
    assert command_in(text) == command


def test_a_block_in_a_list_is_read_without_the_lists_margin() -> None:
    text = "1. I write it:\n\n   ```sh\n   cat > a.py <<E\n   if x:\n       y()\n\n   E\n   ```\n2. Then more."
    assert command_in(text) == "cat > a.py <<E\nif x:\n    y()\n\nE"


def test_what_is_said_around_a_block_is_all_kept() -> None:
    text = "I look.\n\n```sh\nls\n```\nThen I read."
    assert prose_and_command(text) == ("I look.\n\nThen I read.", "ls")


@pytest.mark.parametrize("text", ["prose", "```sh\na\n```\n```sh\nb\n```", "```sh\na\n```\n```sh\nb", "```sh\na"])
def test_there_is_no_one_command_where_there_are_none_several_or_an_open_one(text: str) -> None:
    assert prose_and_command(text) is None

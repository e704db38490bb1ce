"""Tests of what is kept of an output."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.output import CappedOutput, plain_text
from state.redaction import MASK, Redactor


@given(st.lists(st.binary(max_size=40)), st.integers(min_value=2, max_value=50))
def test_the_first_and_the_last_part_are_kept_and_the_cut_is_counted(chunks: list[bytes], cap: int) -> None:
    output = CappedOutput(cap)
    for chunk in chunks:
        output.add(chunk)
    whole = b"".join(chunks)
    if len(whole) <= cap:
        assert output.text() == decoded(whole)
        return
    head, tail = whole[: cap // 2], whole[len(whole) - (cap - cap // 2) :]
    middle = f"\n[... {len(whole) - cap} bytes cut ...]\n"
    assert output.text() == decoded(head) + middle + decoded(tail)
    assert len(output.text().encode()) <= cap + len(middle)
    assert output.overflowing


def test_a_line_of_many_megabytes_takes_no_more_than_the_cap() -> None:
    output = CappedOutput(1000)
    for _ in range(100):
        output.add(b"x" * 65536)
    assert len(output.text()) < 1100


def decoded(content: bytes) -> str:
    return content.decode("utf-8", errors="replace").replace("\ufffd", "?")


def test_bytes_that_are_no_text_become_question_marks() -> None:
    output = CappedOutput(1000)
    output.add(b"a\xff\xfeb")
    assert output.text() == "a??b"


def test_what_is_kept_of_an_output_holds_no_secret_also_where_it_came_in_two_pieces() -> None:
    output = CappedOutput(1000, Redactor({"hunter2-is-a-s3cret": "KEY"}))
    for chunk in (b"a hunter2-is", b"-a-s3cret b"):
        output.add(chunk)
    assert output.text() == f"a {MASK} b"


@pytest.mark.parametrize(
    "escape",
    [
        "\x1b[31m",
        "\x1b[?25l",
        "\x9b1;31m",
        "\x1b]0;a title\x07",
        "\x1b]8;;x\x1b\\",
        "\x9d0;x\x9c",
        "\x1b(B",
        "\x1b7",
        "\x1bc",
        "\x1e",
    ],
)
def test_escapes_leave_nothing_of_themselves(escape: str) -> None:
    assert plain_text(f"a{escape}b\n{escape}c") == "ab\nc"

"""Sketches of texts: what counts as the same text, and how much of two texts is."""

from typing import Literal

import pytest

from scrapers.posts.cleaning import parts
from scrapers.posts.duplicates import THRESHOLD, similarity
from scrapers.posts.kernel_text import text_of
from scrapers.posts.sketches import PERMUTATIONS, Sketch, sketch_of

LINES = [f"step_{n} = fit(data[{n}], depth={n % 7}, rate=0.{n:02d})" for n in range(60)]
KINDS: tuple[Literal["kernel"], Literal["message"]] = ("kernel", "message")
PROSE = " ".join(f"word{n} and" for n in range(80))


def code(*changed: int) -> str:
    return "\n".join("other = thing(1)" if n in changed else line for n, line in enumerate(LINES))


def script(text: str) -> Sketch:
    made = sketch_of(text, "kernel", "script")
    assert made is not None
    return made


def message(text: str) -> Sketch:
    made = sketch_of(text, "message")
    assert made is not None
    return made


def test_layout_and_comments_make_no_other_text() -> None:
    spaced = code().replace(" = ", "=").replace("\n", "  # why\n\n")
    assert script(spaced).sha256 == script(code()).sha256
    assert message("Hello,  WORLD\n") == message("hello world")


def test_the_same_text_is_another_as_a_kernel() -> None:
    kernel, post = sketch_of("hello", "kernel", "writeup"), sketch_of("hello", "message")
    assert kernel is not None and post is not None and kernel.sha256 != post.sha256


@pytest.mark.parametrize("text", ["", " \n", "!?", "```\n\n```", "# "])
def test_a_text_without_a_word_has_no_sketch(text: str) -> None:
    assert sketch_of(text, "message") is None


def test_the_output_of_a_notebook_does_not_count() -> None:
    cell = '{"cells": [{"cell_type": "code", "source": "fit()", "outputs": [{"output_type": "stream", "text": "%s"}]}]}'
    one, other = (sketch_of(text_of(cell % figure), "kernel", "notebook") for figure in ("0.1", "0.2"))
    assert one == other is not None


def test_a_signature_has_a_fixed_size_and_only_what_is_long_enough_has_one() -> None:
    sketch = script(code())
    assert sketch.code is not None and len(sketch.code) == 4 * PERMUTATIONS
    assert sketch.prose is None
    assert message("Thanks for sharing!") == Sketch(message("thanks, for sharing").sha256, None, None)


def test_similarity_estimates_the_share_of_runs_that_two_texts_have_in_common() -> None:
    same, near, half = script(code()), script(code(10)), script(code(*range(20)))
    assert similarity(same, same, "kernel") == 1
    assert THRESHOLD < similarity(same, near, "kernel") < 1
    assert 0.3 < similarity(same, half, "kernel") < THRESHOLD
    assert similarity(same, script("\n".join(f"y{n} = {n}" for n in range(99))), "kernel") < 0.2


def test_of_kernels_the_code_counts_and_of_messages_all() -> None:
    fence = f"```python\n{code()}\n```"
    texts = [f"{PROSE}\n{fence}", f"{PROSE.replace('word', 'mot')}\n{fence}", PROSE]
    kernels, messages = ([made for text in texts if (made := sketch_of(text, kind))] for kind in KINDS)
    assert similarity(kernels[0], kernels[1], "kernel") == 1
    assert similarity(kernels[0], kernels[2], "kernel") == 0
    assert similarity(messages[0], messages[1], "message") < 0.3
    assert similarity(messages[0], messages[2], "message") == 0


def test_short_texts_are_alike_only_if_they_are_the_same() -> None:
    assert similarity(message("Thanks a lot!"), message("thanks, a lot"), "message") == 1
    assert similarity(message("Thanks a lot"), message("Thanks a lot indeed"), "message") == 0


def test_prose_and_code_are_found_in_markdown() -> None:
    text = "a\n```python\nb\n~~~\n```` \nc\n~~~{r}\nd\n~~~\ne\n   ```\nnever closed"
    assert [(part.text, part.language) for part in parts(text)] == [
        ("a", None), ("b\n~~~", "python"), ("c", None), ("d", "r"), ("e", None), ("never closed", ""),
    ]  # fmt: skip

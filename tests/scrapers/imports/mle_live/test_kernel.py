"""Kernels made anew from their text."""

import json
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapers.imports.mle_live.kernel import Cell, cells_of, kernel_file
from scrapers.posts.kernel_text import text_of

Kind = Literal["markdown", "code", "raw"]


def collected(cells: list[tuple[Kind, str]]) -> str:
    """Return a notebook's text as MLE-Live's collector writes it, which leaves out what stands in raw cells."""
    text, last = "", "markdown"
    for kind, source in cells:
        text += "\n```\n" if kind != last else "\n"
        text += source if kind != "raw" else ""
        last = kind
    return text + ("\n```\n" if last == "code" else "")


NOTEBOOK: list[tuple[Kind, str]] = [
    ("markdown", "# A start\n\n```python\nexample()\n```\n- item"),
    ("markdown", "and `` ```inline``` ``"),
    ("code", "import numpy as np\n\nx = 1"),
    ("code", "print(x)"),
    ("markdown", "The end"),
    ("code", "x"),
]


def test_a_notebook_comes_back_with_cells_of_one_kind_joined():
    file = kernel_file(collected(NOTEBOOK))
    assert (file.suffix, file.kind, file.language) == (".ipynb", "notebook", "python")
    cells = json.loads(file.content)["cells"]
    assert [(cell["cell_type"], cell["source"]) for cell in cells] == [
        ("markdown", "# A start\n\n```python\nexample()\n```\n- item\nand `` ```inline``` ``"),
        ("code", "import numpy as np\n\nx = 1\nprint(x)"),
        ("markdown", "The end"),
        ("code", "x"),
    ]


def test_a_notebook_is_one_and_reads_as_text():
    file = kernel_file(collected(NOTEBOOK))
    content = json.loads(file.content)
    assert (content["nbformat"], {cell["cell_type"] for cell in content["cells"]}) == (4, {"markdown", "code"})
    shown = text_of(file.content, kernel_type="notebook")
    assert "```python\nimport numpy as np\n\nx = 1\nprint(x)\n```" in shown
    assert shown.endswith("```python\nx\n```")


def test_a_script_is_taken_out_of_its_fences_as_it_was():
    script = 'import os\n\n"""\n```\nquoted\n```\n"""\nprint(os)\n'
    file = kernel_file(f"```\n{script}\n```\n")
    assert (file.suffix, file.kind, file.language) == (".py", "script", "python")
    assert file.content == script


@pytest.mark.parametrize(
    ("source", "suffix", "language"),
    [
        ("library(dplyr)\nx <- read.csv('a')\n", ".R", "r"),
        ("---\ntitle: x\n---\n```{r setup}\nlibrary(x)\n```\nmore", ".md", "r"),
        ("#!/usr/bin/env python\nprint(1)", ".py", "python"),
        ("Ein Text", ".md", None),
    ],
)
def test_the_language_of_a_script_is_told_by_its_looks(source: str, suffix: str, language: str | None):
    file = kernel_file(f"```\n{source}\n```\n")
    assert (file.suffix, file.kind, file.language, file.content) == (suffix, "script", language, source)


def test_an_r_notebook_says_that_it_is_one():
    file = kernel_file(collected([("markdown", "Hi"), ("code", "library(ggplot2)\ny <- 1")]))
    assert file.language == "r"
    assert "```r\nlibrary(ggplot2)" in text_of(file.content, kernel_type="notebook")


@pytest.mark.parametrize(
    "cells",
    [
        [("markdown", "```python\nnever closed"), ("code", "x = 1"), ("markdown", "end")],
        [("markdown", "a"), ("raw", "r"), ("code", "import x")],
        [("code", 'text = """\n```\n"""'), ("markdown", "end")],
    ],
)
def test_where_fences_do_not_go_in_pairs_the_text_stays_as_it_is(cells: list[tuple[Kind, str]]):
    text = collected(cells)
    file = kernel_file(text)
    assert (file.suffix, file.kind, file.content) == (".md", "notebook", text)


@pytest.mark.parametrize(
    ("text", "suffix", "kind"),
    [("\nProse alone", ".md", "notebook"), ("import os\nprint(1)\n", ".py", "script"), ("Prose", ".md", "script")],
)
def test_what_has_no_fences_is_kept(text: str, suffix: str, kind: str):
    file = kernel_file(text)
    assert (file.suffix, file.kind, file.content) == (suffix, kind, text)


LINES = st.lists(
    st.sampled_from(["x = 1", "", "# title", "  indented", "`code`", "~~strike~~", '"""']), min_size=1, max_size=5
)
SOURCES = LINES.map("\n".join).filter(lambda source: bool(source.strip()))
CELLS = st.lists(st.tuples(st.sampled_from(["markdown", "code"]), SOURCES), max_size=8)


@settings(deadline=None, max_examples=40)
@given(CELLS)
def test_the_cells_of_any_notebook_are_found_again(cells: list[tuple[Literal["markdown", "code"], str]]):
    joined: list[Cell] = []
    for kind, source in cells:
        if joined and joined[-1].kind == kind:
            joined[-1] = Cell(kind, f"{joined[-1].source}\n{source}")
        else:
            joined.append(Cell(kind, source))
    assert cells_of(collected([*cells])) == tuple(joined)


@pytest.mark.parametrize("piece", ["\n", " ", "for x in ", "a.b", "`", "~", "````\n", "x <- "])
def test_text_made_to_be_slow_to_read_is_kept_like_any_other(piece: str):
    text = piece * (1_000_000 // len(piece))
    assert kernel_file(text).content in (text, "")

"""A kernel's source, from a file or from the site: what it is read as, and in which language."""

import json
from pathlib import Path

import pytest

from scrapers.posts.kernel_text import language_named, language_of_file, text_of
from scrapers.snapshots.community import kernel_file
from tests.scrapers.in_process import read


def a_notebook(metadata: object = None, **more: object) -> str:
    cells = [{"cell_type": "code", "source": "x = 1", "metadata": {}, "outputs": []}]
    return json.dumps({"nbformat": 4, "nbformat_minor": 4, "metadata": metadata or {}, "cells": cells} | more)


def test_a_notebook_that_comes_as_a_string_is_read_as_one() -> None:
    assert text_of(a_notebook(), language="python", kernel_type="notebook") == "```python cell\nx = 1\n```"


@pytest.mark.parametrize(
    ("metadata", "language", "shown"),
    [
        ({"language_info": {"name": "R"}}, "python", "r"),
        ({"kernelspec": {"name": "ir"}}, None, "r"),
        ({"kernelspec": {"name": "python3"}}, "r", "python"),
        ({"kernelspec": {"language": "julia", "name": "julia-1.6"}}, None, "julia"),
        ({}, "r", "r"),
        ({}, "rmarkdown", "r"),
        ({}, "ipynb", "python"),
        ({}, None, "python"),
        ({"language_info": {"name": "```\nevil"}}, None, "python"),
        ([], None, "python"),
    ],
)
def test_a_notebooks_own_language_takes_precedence_over_the_sites(metadata, language, shown) -> None:
    assert text_of(a_notebook(metadata), language=language, kernel_type="notebook").startswith(f"```{shown} cell\n")


def test_the_suffix_gives_the_language_where_nothing_else_does(tmp_path: Path) -> None:
    (tmp_path / "a.irnb").write_text(a_notebook())
    assert read(kernel_file(tmp_path / "a.irnb")).text.startswith("```r cell\n")


def test_a_notebook_declared_as_a_script_is_read_as_one() -> None:
    assert text_of("\ufeff \n" + a_notebook(), kernel_type="script") == "```python cell\nx = 1\n```"
    assert text_of(a_notebook()) == "```python cell\nx = 1\n```"


def test_a_script_declared_as_a_notebook_is_text() -> None:
    assert text_of("import pandas\n", kernel_type="notebook") == "import pandas\n"
    assert text_of('{"no": "notebook"}', kernel_type="notebook") == '{"no": "notebook"}'


def test_r_and_r_markdown_are_text_as_they_are() -> None:
    script = "library(xgboost)\r\nx <- data.frame(a = 1)\n"
    markdown = "---\ntitle: EDA\n---\n\n```{r setup, include=FALSE}\nlibrary(ggplot2)\n```\n"
    assert text_of(script, language="r", kernel_type="script") == script.replace("\r", "")
    assert text_of(markdown, language="rmarkdown", kernel_type="script") == markdown


def test_encoded_data_within_a_script_is_left_out() -> None:
    weights = "A1b2" * 500
    folded = "\n".join([weights[:76]] * 12)
    text = text_of(f'w = "{weights}"\nx = """\n{folded}\n"""\nfit(w)\n')
    assert text == 'w = "[encoded data left out]"\nx = """\n[encoded data left out]"""\nfit(w)\n'


def test_a_later_format_is_read_as_the_latest_that_is_known() -> None:
    assert text_of(a_notebook(nbformat=7)) == "```python cell\nx = 1\n```"


def test_a_notebook_with_broken_parts_keeps_the_others() -> None:
    cells = [
        3,
        {"cell_type": "code", "source": ["x", 4, " = 1"], "outputs": [None, {"output_type": "stream", "text": 5}]},
        {"cell_type": "markdown", "source": {"a": 1}, "attachments": {"image": 3}},
        {"source": "no type"},
    ]
    assert text_of(json.dumps({"cells": cells})) == "```python cell\nx = 1\n```\n\nno type"


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("Python", "python"), ("python3", "python"), ("python3.11", "python"), ("ir", "r"), ("R", "r"), ("rmarkdown", "r"),
        ("sqlite", "sql"), ("julia-1.6", "julia"), ("scala", "scala"), ("C++", "c++"),
        ("ipynb", None), ("script", None), ("", None), (None, None), (3, None), ("a\nb", None), ("x" * 40, None),
    ],
)  # fmt: skip
def test_a_language_has_one_name(name: object, language: str | None) -> None:
    assert language_named(name) == language


def test_a_suffix_gives_a_language() -> None:
    assert [language_of_file(name) for name in ("a.py", "b.R", "../../c.Rmd", "d\\e.jl", "f.ipynb", "g")] == [
        "python", "r", "r", "julia", None, None,
    ]  # fmt: skip

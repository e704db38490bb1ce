"""What hostile messages and kernels try: nothing raises, nothing takes long, nothing grows, nothing is written."""

import base64
import io
import json
import resource
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapers.posts.cleaning import LARGEST_TEXT, readable
from scrapers.posts.html import markdown_of
from scrapers.posts.kernel_text import language_named, language_of_file, text_of
from scrapers.snapshots.community import kernel_file
from tests.scrapers.in_process import read
from tests.scrapers.in_process import read as read_here


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


quick = settings(max_examples=60)
any_text = st.text(alphabet=st.characters(codec=None, categories=None))

# fmt: off
TAGS = [
    "a", "b", "blockquote", "br", "code", "dd", "div", "dl", "dt", "h1", "hr", "i", "img", "li", "math", "ol", "p", "pre",
    "script", "span", "style", "svg", "table", "tbody", "td", "th", "thead", "tr", "ul",
]
# fmt: on
_attribute = st.sampled_from(
    [
        *("", " hidden", ' href="x"', " class='language-r'", " start=9", ' start="²"', ' colspan="²"', " colspan=99"),
        *(' alt="]("', " x='"),
    ]
)
_piece = st.one_of(
    st.builds("<{}{}>".format, st.sampled_from(TAGS), _attribute),
    st.builds("</{}>".format, st.sampled_from(TAGS)),
    st.sampled_from(
        ["<", ">", "&", "<!--", "-->", "<![CDATA[", "<?xml", "&#", "&lt;", "\n", "  ", "|", "```", "\\", "*", "$"]
    ),
    any_text,
)
html_like = st.lists(_piece, max_size=40).map("".join)


def fine(text: str) -> bool:
    """Whether a text can be stored: valid UTF-8 that is not too long."""
    return len(text.encode()) <= LARGEST_TEXT


@quick
@given(html_like)
def test_any_markup_becomes_text(html: str) -> None:
    assert fine(markdown_of(html))


@quick
@given(any_text)
def test_any_text_becomes_text_whatever_its_declared_form(text: str) -> None:
    assert fine(markdown_of(text))
    assert fine(readable(text))
    for kind in (None, "notebook", "script"):
        assert fine(text_of(text, kernel_type=kind))


@quick
@given(st.binary())
def test_any_bytes_are_a_kernel(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    folder = tmp_path_factory.mktemp("bytes")
    for name in ("a.ipynb", "a.py"):
        (folder / name).write_bytes(data)
        assert fine(read_here(kernel_file(folder / name)).text)


@settings(max_examples=15)
@given(st.sampled_from([markdown_of, readable, text_of]), any_text.filter(bool), st.integers(1, 200_000))
def test_a_text_of_any_length_is_cut(read: Callable[[str], str], part: str, times: int) -> None:
    assert fine(read((part * times)[:400_000]))


def notebook(*cells: object, **more: object) -> str:
    return json.dumps({"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": cells} | more)


def zipped() -> str:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("../../escape.txt", "0" * 5_000_000)
    return file.getvalue().decode("latin-1")


DEEP = 100_000
MILLION = 1_000_000
HOSTILE: dict[str, Callable[[], str]] = {
    "ten megabytes": lambda: "words and words " * 640_000,
    "a million unclosed tags": lambda: "<p>x<div>y" * (MILLION // 2),
    "a million list items": lambda: "<ol>" + "<li>x" * MILLION,
    "rows of many bodies": lambda: "<table>" + "<tbody><tr><td>x</td></tr></tbody>" * 100_000,
    "deep tags": lambda: "<div><ul><li><blockquote>" * DEEP + "x",
    "deep tables": lambda: "<table><tr><td>" * DEEP,
    "deep quotes": lambda: "> " * DEEP + "x\n" + ">" * DEEP + "[" * DEEP + "*" * DEEP,
    "deep JSON": lambda: "[" * DEEP + "]" * DEEP,
    "deep JSON in a notebook": lambda: '{"cells": [], "nbformat": 4, "metadata": {"x": ' + "[" * 900 + "]" * 900 + "}}",
    "many cells": lambda: '{"nbformat": 4, "metadata": {}, "cells": [' + ",".join(["{}"] * 300_000) + "]}",
    "a long number": lambda: '{"nbformat": 4, "cells": [], "metadata": {"x": ' + "9" * 100_000 + "}}",
    "unclosed comments": lambda: "<!--" * MILLION,
    "unclosed scripts": lambda: "<svg><script" * 100_000 + "<svg>" * 100_000 + "<b hidden>" * 100_000,
    "quotes without end": lambda: "<a '\"" * 200_000 + '<a href="' * 100_000,
    "declarations without end": lambda: "<!x" * 100_000 + "<![CDATA[" * 100_000 + "<?" * 100_000,
    "ampersands": lambda: "&" * MILLION + "&#" * MILLION + "&#x" * MILLION,
    "a long reference": lambda: "&#" + "1" * 100_000 + ";",
    "long runs of blanks": lambda: "a" + " " * MILLION + "b<pre>c" + " " * 200_000 + "d</pre>" + "\t\n" * 100_000,
    "encoded data just too short": lambda: ("A" * 399 + " ") * 10_000 + ("B" * 59 + "\n") * 10_000,
    "encoded data": lambda: "data:image/png;base64," + base64.b64encode(b"\1\2\3" * MILLION).decode(),
    "attributes without end": lambda: "<a " + "x" * MILLION + "<a " + "y " * MILLION + ">",
    "backticks": lambda: "<code>" + "`" * MILLION + "</code><pre>" + "`~" * 100_000,
    "control and bidirectional characters": lambda: "\0\x1b\u202e\u2066\u200b\U000e0041\ufeff" * 200_000,
    "lone surrogates": lambda: "\ud800\udfff\udc00" * 200_000,
    "a zip that grows": zipped,
    "names that lead away": lambda: "../../x\0/etc/passwd%2e%2e/" * 1_000,
}


@pytest.mark.integration  # half a minute in all
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_read_in_seconds_and_becomes_a_text_that_can_be_stored(name: str) -> None:
    source = HOSTILE[name]()
    # A time that grows with the square of the length would be hours.
    for text in (
        markdown_of(source),
        readable(source),
        text_of(source, kernel_type="notebook"),
        text_of(source, kernel_type="script", language="r"),
        text_of(
            notebook({"cell_type": "code", "source": source, "outputs": [{"output_type": "stream", "text": source}]})
        ),
    ):
        assert fine(text)
        assert not any(char in text for char in "\0\x1b\u202e\u2066\u200b\U000e0041")


LARGE_NOTEBOOK = """
import resource, sys, json
from scrapers.posts.kernel_text import text_of
picture = {"output_type": "display_data", "data": {"image/png": "iVBOR" * 12_600_000}}
cells = [{"cell_type": "code", "source": "fit()", "outputs": [picture]}, {"cell_type": "markdown", "source": "after"}]
source = json.dumps({"nbformat": 4, "metadata": {}, "cells": cells})
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
text = text_of(source, kernel_type="notebook")
assert "fit()" in text and text.endswith("after"), text[:200]
print(len(source), (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)
"""


@pytest.mark.integration  # it holds 200 MB
def test_a_notebook_of_64_megabytes_is_read_with_little_more_than_itself() -> None:
    done = subprocess.run([sys.executable, "-c", LARGE_NOTEBOOK], capture_output=True, text=True, check=True)
    length, grown = map(int, done.stdout.split())
    assert length > 60_000_000
    assert grown < 3 * length


@pytest.mark.integration
def test_reading_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        for name in ("a zip that grows", "names that lead away", "encoded data just too short"):
            source = HOSTILE[name]()
            assert fine(markdown_of(source)) and fine(text_of(source)) and fine(text_of(source, kernel_type="notebook"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(tmp_path.iterdir()) == []

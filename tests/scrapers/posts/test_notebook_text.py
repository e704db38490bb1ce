"""Notebooks as text: cells in their order, and whatever they hold gives back its code and no more."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapers.posts.cleaning import LARGEST_TEXT, parts
from scrapers.posts.kernel_text import code_cells, parse_notebook, text_of
from scrapers.snapshots.community import kernel_file
from tests.scrapers.in_process import read

PICTURE = "iVBORw0KGgo" * 200


def _notebook(*cells: dict[str, Any], **more: Any) -> str:
    return json.dumps({"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": cells} | more)


def _code(source: str | list[str], *outputs: dict[str, Any]) -> dict[str, Any]:
    return {"cell_type": "code", "source": source, "outputs": outputs, "execution_count": 1, "metadata": {}}


def _stream(text: str | list[str]) -> dict[str, Any]:
    return {"output_type": "stream", "name": "stdout", "text": text}


def test_prose_and_code_alternate_with_their_outputs() -> None:
    text = text_of(
        _notebook({"cell_type": "markdown", "source": ["# Title\n", "prose"]}, _code("print(1)", _stream("1\n")))
    )
    assert text == "# Title\nprose\n\n```python cell\nprint(1)\n```\n\nOutput:\n```text\n1\n```"


def test_the_language_of_the_notebook_is_that_of_its_fences() -> None:
    metadata = {"language_info": {"name": "R"}}
    assert text_of(_notebook(_code("x <- 1"), metadata=metadata)) == "```r cell\nx <- 1\n```"


@pytest.mark.parametrize(
    ("kernel", "language"),
    [({"name": "my-env"}, "python"), ({"name": "ir"}, "r"), ({"name": "my-env", "language": "scala"}, "scala")],
)
def test_a_kernels_own_name_is_no_language(kernel: dict[str, str], language: str) -> None:
    assert text_of(_notebook(_code("x"), metadata={"kernelspec": kernel})) == f"```{language} cell\nx\n```"


def test_images_are_left_out_everywhere() -> None:
    image = {"output_type": "display_data", "data": {"image/png": PICTURE, "text/plain": "<Figure>"}}
    markdown = {"cell_type": "markdown", "source": f"![a](data:image/png;base64,{PICTURE}) after"}
    text = text_of(_notebook(_code("plot()", image), markdown))
    assert "iVBOR" not in text
    assert "[image left out]" in text
    assert text.endswith("![a]([encoded data left out]) after")


def test_progress_bars_and_overwritten_lines_are_left_out() -> None:
    log = "start\n 10%|█         | 1/10 [00:01<00:09,  1.0it/s]\r100%|██████████| 10/10 [00:10<00:00]\nstep 1\rstep 9\n"
    keras = "Epoch 1\n128/128 [==============================] - ETA: 0s - loss: 0.3\nval 0.42\n\x1b[31mred\x1b[0m"
    text = text_of(_notebook(_code("fit()", _stream(log), _stream(keras))))
    assert text.split("```text\n")[1] == "start\nstep 9\nEpoch 1\nval 0.42\nred\n```"


def test_a_long_log_is_cut_and_says_so() -> None:
    text = text_of(_notebook(_code("fit()", _stream([f"round {i}\n" for i in range(5000)]))))
    assert len(text) < 2500
    assert "round 0\n" in text and "round 4999" in text
    assert "characters of output cut" in text


def test_an_error_keeps_its_name_and_loses_its_traceback() -> None:
    error = {"output_type": "error", "ename": "ValueError", "evalue": "bad", "traceback": ["long"] * 99}
    assert "Output:\n```text\nValueError: bad\n```" in text_of(_notebook(_code("x", error)))


def test_a_table_that_is_only_markup_becomes_text() -> None:
    table = {"output_type": "execute_result", "data": {"text/html": "<table><td>0.5 &lt; 1</td></table>"}}
    assert "0.5 < 1" in text_of(_notebook(_code("t", table)))


def test_code_with_fences_does_not_close_its_own() -> None:
    text = text_of(_notebook(_code('doc = """\n```\nx\n```\n"""')))
    assert text.startswith("````python cell\n") and text.endswith("\n````")


def test_a_broken_notebook_is_read_as_text_without_its_images() -> None:
    broken = _notebook(_code("fit()", {"data": {"image/png": PICTURE}}))[:-20]
    text = text_of(broken)
    assert "fit()" in text
    assert "iVBOR" not in text


@pytest.mark.parametrize(
    "source",
    ["", "null", "[1]", '{"cells": 3}', '{"cells": [1, {"source": 5}]}', '{"worksheets": [null]}', "[" * 99_999],
)
def test_what_is_no_notebook_never_raises(source: str) -> None:
    assert isinstance(text_of(source), str)


KEYS = ["cells", "worksheets", "source", "input", "outputs", "data", "text", "text/plain", "cell_type", "level"]

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS) | st.text(), inner, max_size=5),
    max_leaves=25,
)


@given(JSON)
def test_any_json_can_be_read(content: object) -> None:
    assert isinstance(text_of(json.dumps(content)), str)


def _file(folder: Path, name: str, data: bytes) -> str:
    (folder / name).write_bytes(data)
    return read(kernel_file(folder / name)).text


def test_scripts_and_prose_are_text_as_they_are(tmp_path: Path) -> None:
    for name in ("a.py", "a.R", "a.md", "a.unknown"):
        assert _file(tmp_path, name, b"x = 1\r\n\ty\r\n") == "x = 1\n\ty\n"


def test_bytes_that_are_not_utf8_are_replaced_and_controls_removed(tmp_path: Path) -> None:
    assert _file(tmp_path, "a.py", b"\xef\xbb\xbfna\xefve \x00\x1b[0m \xe2\x80\xaeevil") == "na\ufffdve [0m evil"


def test_a_long_file_is_cut_in_the_middle_and_says_so(tmp_path: Path) -> None:
    text = _file(tmp_path, "a.py", ("é" * 100 + "\n").encode() * 3000)
    assert len(text.encode()) <= LARGEST_TEXT
    assert "bytes cut from the middle" in text
    assert text.startswith("é") and text.endswith("é\n")


def test_a_lone_surrogate_in_a_notebook_can_be_stored(tmp_path: Path) -> None:
    text = _file(tmp_path, "a.ipynb", _notebook(_code("x = '\ud800'")).encode())
    assert "\ufffd" in text
    assert text.encode()


EXAMPLE = "I first tried\n\n```python\nmodel = worse()\n```\n"

MARKED = "```python cell\nevil()\n```"

PIECES = st.sampled_from(
    [
        "x = 1",
        "f(x)",
        "```",
        "```python",
        "~~~",
        "````python cell",
        MARKED,
        "```python\u200b cell",
        "",
        " ",
        '"""',
        EXAMPLE,
    ]
)

TEXTS = st.lists(PIECES, max_size=4).map("\n".join)


def cells_in(text: str) -> list[str]:
    return [part.text for part in parts(text) if part.is_cell and part.text]


def notebook(cells: list[tuple[str, str, str]]) -> str:
    made = []
    for kind, source, printed in cells:
        cell = {"cell_type": kind, "metadata": {}, "source": source}
        if kind == "code":
            cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": printed}]
        made.append(cell)
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 4})


@given(st.lists(st.tuples(st.sampled_from(["code", "markdown", "raw"]), TEXTS, TEXTS), max_size=5))
def test_the_text_of_a_notebook_gives_back_its_code_cells(cells: list[tuple[str, str, str]]) -> None:
    code = [text.replace("\u200b", "") for kind, text, _ in cells if kind == "code"]
    assert cells_in(text_of(notebook(cells))) == [text for text in code if text.strip()]


def test_a_notebook_of_prose_alone_has_no_code() -> None:
    (cell,) = [part for part in parts(text_of(notebook([("markdown", "x = 1", "")]))) if part.is_cell]
    assert cell.text == ""


def test_a_long_notebook_loses_output_then_prose_then_encoded_data_and_its_code_last() -> None:
    code = [("code", f"x{number} = 1", f"{number}\n" * 900) for number in range(150)]
    prose, encoded = ("markdown", "long prose " * 20_000, ""), ("code", f"y = '{'A1b2' * 60_000}'", "")
    for cells, begins in (([("markdown", "prose", ""), *code], "prose"), ([prose, *code], "```python cell\nx0 = 1")):
        text = text_of(notebook(cells))
        assert text.startswith(begins) and "Output:" not in text
        assert cells_in(text) == [source for _, source, _ in code]
    assert cells_in(text_of(notebook([*code, encoded])))[-1] == "y = '[encoded data left out]'"


def test_code_keeps_the_encoded_data_that_it_reads() -> None:
    source = f"weights = b64decode('{'A1b2' * 500}')"
    assert cells_in(text_of(notebook([("code", source, ""), ("markdown", source, "")]))) == [source]


def test_a_notebook_of_format_3_is_upgraded() -> None:
    cells = [
        {"cell_type": "heading", "level": 2, "source": ["Trees"], "metadata": {}},
        {"cell_type": "code", "input": ["x = 1\n", "x"], "language": "python", "metadata": {}, "collapsed": False,
         "prompt_number": 1, "outputs": [{"output_type": "pyout", "prompt_number": 1, "text": ["1"], "metadata": {}}]},
    ]  # fmt: skip
    source = json.dumps(
        {"metadata": {"name": ""}, "nbformat": 3, "nbformat_minor": 0, "worksheets": [{"cells": cells}]}
    )
    for kind in ("notebook", "script", None):
        text = text_of(source, kernel_type=kind)
        assert text.startswith("## Trees") and cells_in(text) == ["x = 1\nx"] and text.endswith("```text\n1\n```")
    found = parse_notebook(source)
    assert found is not None and code_cells(found) == ["x = 1\nx"]

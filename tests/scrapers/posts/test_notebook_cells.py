"""Whatever a notebook's prose and outputs hold, its text gives back its code cells and nothing else."""

import json

from hypothesis import given
from hypothesis import strategies as st

from scrapers.posts.cleaning import parts
from scrapers.posts.kernel_text import code_cells, parse_notebook, text_of

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
    code = [text.strip("\n").replace("\u200b", "") for kind, text, _ in cells if kind == "code"]
    assert cells_in(text_of(notebook(cells))) == [text for text in code if text.strip()]


def test_a_notebook_of_prose_alone_has_no_code() -> None:
    (cell,) = [part for part in parts(text_of(notebook([("markdown", "x = 1", "")]))) if part.is_cell]
    assert cell.text == ""


def test_a_long_notebook_loses_its_output_before_its_code() -> None:
    cells = [("code", f"x{number} = 1", f"{number}\n" * 900) for number in range(150)]
    text = text_of(notebook(cells))
    assert cells_in(text) == [source for _, source, _ in cells]
    assert "Output:" not in text


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

"""A cell is taken as IPython takes it, whose transformer is the oracle; the code of its magics then runs, commands do not."""

import ast
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from IPython.core.inputtransformer2 import TransformerManager

from scrapers.posts.ipython_code import ipython_calls, plain_cell

CELLS = (
    "%matplotlib inline\nimport x",
    "  %matplotlib inline\n  x = 1",
    "%time model.fit(X, y)",
    "score = %time f(x)\nx = 7 \\\n  % 4",
    "if x:\n    !ls \\\n  -l\n    y = !pwd",
    "s = '''\n%time\n!ls\n'''\nd = {\n'a': 1 %\n2}\n%time f(s)",
    "%%time\nx = 1\n!ls",
    "\n\n%%bash\nls\n",
    "%%time?",
    "frame.head?\n?frame\nframe??\nnp.*load*?\na[0].b?",
    ">>> x = 1\n>>> for i in x:\n...     i",
    "In [12]: x = 1\n    ...: y = 2",
    "!echo \"it's\nx = 1",
    "!!ls\nfiles = !ls {folder} | head",
    ",f a b\n;g a b\n/h a b",
    "f(a,\n%d)",
    "x = 1  # what?\n# !ls\n",
    "x == 1\nlambda a=1: a\ny[b != 2] = %who",
)
LINES = (
    *("%time f()", "!ls", "x = !ls", "y = %time g(z)", "f?", "?f", "'''", '"it', "(", ")", "a = [", "]", "if a:"),
    *("    b = 1", "    %timeit c", "\\", "d = e \\", "# it's", "%%time", "", "  ", "f'{a!r}'", "g = h % i", "% j"),
    *("k ?", "l = '?'"),
)


def meaning(code: str) -> str | None:
    try:
        return ast.dump(ast.parse(code))
    except SyntaxError:
        return None


@pytest.mark.parametrize("cell", CELLS)
def test_a_cell_is_what_it_is_to_ipython(cell: str) -> None:
    assert ipython_calls(cell) == TransformerManager().transform_cell(cell)


@settings(deadline=None, max_examples=200, derandomize=True)
@given(st.lists(st.sampled_from(LINES), max_size=6))
def test_what_ipython_can_run_is_taken_as_ipython_takes_it(lines: list[str]) -> None:
    cell = "\n".join(lines)
    try:
        wanted = meaning(TransformerManager().transform_cell(cell))
    except SyntaxError:
        return
    if wanted is not None:
        assert meaning(ipython_calls(cell)) == wanted


@pytest.mark.parametrize(
    ("cell", "code"),
    [
        ("%time model.fit(X)", "model.fit(X)"),
        ("%timeit -n 3 -r1 model.fit(X)", "model.fit(X)"),
        ("p = %time model.predict(X)", "p = (model.predict(X))"),
        ("%%time\nmodel.fit(X)\n%time p = f()", "model.fit(X)\np = f()"),
        ("%%time model.fit(X)", "model.fit(X)"),
        ("%%timeit -n 1 a = 1\nf(a)", "a = 1\nf(a)"),
        ("%%capture --no-stderr seen\nf()", "seen = get_ipython()\nf()"),
        ("for a in b:\n    %time f(a)\n    !ls", "for a in b:\n    f(a)\n    pass"),
        ("if a: %time f()", "if a: %time f()"),
        ("get_ipython().run_cell_magic('time', '', 'f()\\ng()')", "f()\ng()"),
        ("get_ipython().magic('time f()')", "f()"),
        ("é = 'ß'; x = get_ipython().getoutput('ls')", "é = 'ß'; x = []"),
        ("%%html\n<b>x = 1</b>", "pass"),
        ("%%javascript\nvar x = 1", "pass"),
        ("%pip install x", "pass"),
        ("pip install -q x\n", "pass"),
        ("pip = 1", "pip = 1"),
        ("frame?", "pass"),
        ("%%snakeviz -t\nmodel.fit(X)", "model.fit(X)"),
        ("// no Python\n%= 3", "// no Python\n%= 3"),
    ],
)
def test_magics_that_hold_code_keep_it_and_others_none(cell: str, code: str) -> None:
    assert plain_cell(cell).code.strip() == code


def test_what_a_magic_sets_or_writes_is_set_and_written(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SHOWN", raising=False)
    cells = (
        "%%writefile part.py\nseven = 7\n",
        "%run part.py",
        "%env SHOWN=a b",
        "import os\nshown = os.environ['SHOWN']",
    )
    names: dict[str, object] = {}
    for cell in cells:
        exec(plain_cell(cell).code, names)  # noqa: S102
    assert (names["seven"], names["shown"]) == (7, "a b")


def test_commands_that_are_left_out_are_named_those_of_a_shells_cell_too() -> None:
    assert plain_cell("%%bash\npip install x\nls\n").commands == ["!pip install x", "!ls", "%%bash"]


@pytest.mark.parametrize("magic", ["%%capture\n", "%%time\n", "%time "])
def test_magics_within_magics_without_end_stay_as_they_are(magic: str) -> None:
    assert "get_ipython()" in plain_cell(f"{magic * 900}x = 1\n").code
    assert plain_cell(f"{magic * 3}x = 1\n").code.strip() == "x = 1"


def test_a_hostile_cell_takes_no_longer_than_its_length() -> None:
    for line in ("!ls (", "x = !(", "'''", "%time (", "a?"):
        began = time.process_time()
        plain_cell(f"{line}\n" * (20_000 // len(line)))
        assert time.process_time() - began < 2, line

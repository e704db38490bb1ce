"""A kernel made to run here without a model: Kaggle's folders, no network, no drawings, its submission found."""

import ast
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from bot.community.reproduction.needs import TABLE, check_needs, stems
from scrapers.posts.cleaning import parts
from scrapers.posts.kernel_text import language_named
from state.community import Post
from state.errors import UnsupportedKernel

_CELL = re.compile(r"\A\s*%%(\w+)[^\n]*\n?")
_KEPT_CELLS = ("time", "timeit", "capture", "prun")
"""Cell magics whose cell is Python all the same."""
_COMMAND = re.compile(r"^(?P<indent>[ \t]*)(?:(?P<name>[A-Za-z_][\w, ]*?)\s*=\s*)?(?P<what>[%!?].*|[\w.]+\?{1,2})\s*$")
_FUTURE = re.compile(r"^from __future__ import .*$", re.MULTILINE)
_PYTHON_2 = re.compile(
    r"^\s*(?:print\s+[^\s(=.,)]|print\s*>>|exec\s+['\"\w]|except\s+[\w.()]+\s*,\s*\w+\s*:|raise\s+\w+\s*,)|<>|\b0\d+\b[^.]|\bur['\"]",
    re.MULTILINE,
)
_CUT = re.compile(r"\[\.\.\. [\d,]+ (?:bytes cut from the middle|characters left out)|\[encoded data left out\]")
_HEAD = Path(__file__).with_name("as_on_kaggle.py.txt")
_DASHES = "-" * 100
_ABSOLUTE = re.compile(r"(?<![\w.])/kaggle/(input|working|temp|tmp)\b")
_DRAWING = (
    "matplotlib", "mpl_toolkits", "pylab", "seaborn", "plotly", "bokeh", "altair", "wordcloud", "missingno", "IPython",
    "plotnine", "ggplot", "cufflinks", "holoviews", "folium", "squarify", "pandas_profiling", "ydata_profiling", "sweetviz",
    "ipywidgets", "chart_studio",
)  # fmt: skip


def adapted(post: Post, files: Collection[str], competition: str, packages: Collection[str]) -> str:
    """Return a kernel as a script that runs here.

    Files are paths below the data folder, packages the names of those that scripts find.

    Raises:
        UnsupportedKernel: it cannot run here; the message gives the reason.
    """
    source = python_of(post.text, post.language)
    check_needs(source.code, source.dropped, files, competition, packages)
    return with_head(source.code, post.item, files, competition)


def with_head(code: str, item: str, files: Collection[str], competition: str) -> str:
    """Return a kernel's code below what gives it Kaggle's folders."""
    code = _ABSOLUTE.sub(lambda found: "../input" if found[1] == "input" else "../working", code)
    head = _HEAD.read_text(encoding="utf-8").format(
        item=item,
        competition=competition,
        wanted=sorted(_names(code, files)),
        # Drawings cost time, and their packages' functions come and go; read as pictures, files must be real.
        stand_ins=[] if "imread" in code else list(_DRAWING),
        dashes=_DASHES,
    )
    return f"{head}{code}"


def without_head(script: str) -> str:
    """Return the kernel's own code of a script that `with_head` made."""
    return script.partition(f"# {_DASHES}\n")[2]


def _names(code: str, files: Collection[str]) -> set[str]:
    """Return the tables, and the competition's files and folders, that the code names."""
    known = {stem for path in files for stem in stems(path)}
    texts = (n.value for n in ast.walk(ast.parse(code)) if isinstance(n, ast.Constant) and isinstance(n.value, str))
    return {part for text in texts for part in text.split("/") if part in known or TABLE.search(part)}


@dataclass(frozen=True)
class Source:
    """A kernel as Python 3."""

    code: str
    dropped: tuple[str, ...]
    """Lines and cells that only a notebook understands, such as `!pip install catboost`, as they were."""


def python_of(text: str, language: str | None) -> Source:
    """Return a kernel's code in one piece.

    The text is a script's code, or a notebook's prose with its code in fences; the language is as the site names it.

    Raises:
        UnsupportedKernel: it is in another language, in Python 2, incomplete, or no program; the message names which.
    """
    if (named := language_named(language)) not in (None, "python"):
        raise UnsupportedKernel(f"it is written in {named.upper() if named == 'r' else named}")
    cells = list(_cells(text))
    if not any(cell.strip() for cell in cells):
        raise UnsupportedKernel("it holds no Python code")
    dropped: list[str] = []
    code = _FUTURE.sub("", "\n\n".join(_plain(cell, dropped) for cell in cells)).strip() + "\n"
    if _CUT.search(code):
        raise UnsupportedKernel("its code was too long, and is not complete here")
    try:
        ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        if _PYTHON_2.search(code):
            raise UnsupportedKernel("it is written in Python 2") from None
        raise UnsupportedKernel(f"it is no valid Python 3: {error}") from None
    return Source(code, tuple(dropped))


def _cells(text: str) -> Iterator[str]:
    """Yield the code cells of a notebook; a script is one. Fences of other languages are outputs and prose."""
    if "```" not in text and "~~~" not in text:
        yield text
        return
    try:
        # A script may hold fences in a string.
        ast.parse(text)
        yield text
        return
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        pass
    others = set()
    for part in parts(text):
        if part.language and language_named(part.language) == "python":
            yield part.text
        elif part.language and part.language != "text":
            others.add(part.language)
    if others & {"r", "julia", "sql"}:
        raise UnsupportedKernel(
            f"it is written in {', '.join(sorted(one.upper() if one == 'r' else one for one in others))}"
        )


def _plain(cell: str, dropped: list[str]) -> str:
    """Return a cell as Python, with `pass` in place of its magics and shell commands."""
    if magic := _CELL.match(cell):
        if magic[1] not in _KEPT_CELLS:
            dropped.append(cell.strip().splitlines()[0])
            return ""
        cell = cell[magic.end() :]
    try:
        ast.parse(cell)
        return cell
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "\n".join(_plain_line(line, dropped) for line in cell.split("\n"))


def _plain_line(line: str, dropped: list[str]) -> str:
    found = _COMMAND.match(line)
    if found is None:
        return line
    dropped.append(found["what"].strip())
    return f"{found['indent']}{found['name']} = []" if found["name"] else f"{found['indent']}pass"

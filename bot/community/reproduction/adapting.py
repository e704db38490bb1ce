"""A kernel made to run here without a model: Kaggle's folders, no network, no drawings, its submission found."""

import ast
import re
from collections.abc import Collection
from pathlib import Path

from bot.community.reproduction.cells import python_of
from bot.community.reproduction.needs import TABLE, check_needs, stems
from state.community import Post

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

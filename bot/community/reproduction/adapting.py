"""A kernel adapted to run here without a model: Kaggle's folders, no network, no drawings, its submission found."""

import ast
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from bot.community.reproduction.needs import DRAWING, TABLE, check_needs, paths_unpacked, stems, unused_packages
from scrapers.posts.cleaning import parts
from scrapers.posts.ipython_code import plain_cell
from scrapers.posts.kernel_text import language_named
from state.community import Post
from state.errors import UnsupportedKernel

_FUTURE = re.compile(r"^from __future__ import .*$", re.MULTILINE)
_PYTHON_2 = re.compile(
    r"^\s*(?:print\s+[^\s(=.,)]|print\s*>>|exec\s+['\"\w]|except\s+[\w.()]+\s*,\s*\w+\s*:|raise\s+\w+\s*,)|<>|\b0\d+\b[^.]|\bur['\"]"
)
_JUPYTEXT, _MAGIC_COMMENT = (
    re.compile(form, re.MULTILINE) for form in (r"^# (?:%%|\+|jupyter:)", r"^([ \t]*)# (?=[%!]\w)")
)
_CUT = re.compile(r"\[\.\.\. [\d,]+ (?:bytes cut from the middle|characters left out)")
_FAULTS = (SyntaxError, ValueError, RecursionError, MemoryError)
_HEAD = Path(__file__).with_name("as_on_kaggle.py.txt")
_DASHES = "-" * 100
_ABSOLUTE = re.compile(r"(?<![\w.])/kaggle/(input|working|temp|tmp)\b")


def adapted(post: Post, files: Collection[str], competition: str, packages: Collection[str]) -> str:
    """Return a kernel as a script that runs here.

    Files are paths below the data folder, packages the names of those that scripts find.

    Raises:
        UnsupportedKernel: it cannot run here; the message gives the reason.
    """
    if (reason := refusal(post.text, post.language, tuple(files), competition, frozenset(packages))) is not None:
        raise UnsupportedKernel(reason)
    return with_head(python_of(post.text, post.language).code, post.item, files, competition)


@lru_cache(maxsize=1_000)
def refusal(
    text: str, language: str | None, files: tuple[str, ...], competition: str, packages: frozenset[str]
) -> str | None:
    """Return why a kernel cannot run here, None if it can be tried; arguments as of `adapted`."""
    try:
        source = python_of(text, language)
        check_needs(source.code, source.commands, files, competition, packages)
    except UnsupportedKernel as error:
        return str(error)
    return None


def with_head(code: str, item: str, files: Collection[str], competition: str) -> str:
    """Return a kernel's code below a head that gives it Kaggle's folders."""
    code = _ABSOLUTE.sub(lambda folder_match: "../input" if folder_match[1] == "input" else "../working", code)
    tree, known_stems = ast.parse(code), {stem for path in files for stem in stems(path)}
    texts = (n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str))
    # A folder's name may be filled in before a file's, as in `{}train.csv`.
    path_parts = {part for text in texts for part in re.split(r"[/}]|%s", text)}
    names = {name for part in path_parts if part in known_stems or TABLE.search(part) for name in paths_unpacked(part)}
    head = _HEAD.read_text(encoding="utf-8").format(
        item=item,
        competition=competition,
        wanted=sorted(names),
        # Drawings cost time, and their packages' functions change; files read as pictures must be real.
        # An unused package may be missing; one that is installed is imported all the same.
        stand_ins=[] if "imread" in code else list(DRAWING),
        unused=sorted(unused_packages(tree)),
        dashes=_DASHES,
    )
    return f"{head}{code}"


def without_head(script: str) -> str:
    """Return the kernel's own code of a script that `with_head` made."""
    return script.partition(f"# {_DASHES}\n")[2]


@dataclass(frozen=True)
class KernelScript:
    """A kernel as Python 3."""

    code: str
    commands: tuple[str, ...]
    """Removed lines and cells that only a notebook understands, such as `!pip install catboost`."""


def python_of(text: str, language: str | None) -> KernelScript:
    """Return a kernel's code in one piece.

    The text is a script's code, or a notebook's prose and code cells (see `cleaning.parts`), of which only the cells are
    code; the language is as the site names it.

    Raises:
        UnsupportedKernel: it is in another language, in Python 2, incomplete, or no program; the message names which.
    """
    if (name := language_named(language)) not in (None, "python"):
        raise UnsupportedKernel(f"it is written in {_shown_language(name)}")
    cells = [part for part in parts(text) if part.is_cell]
    if other_languages := sorted(
        {_shown_language(cell.language) for cell in cells if language_named(cell.language) != "python"}
    ):
        raise UnsupportedKernel(f"it is written in {', '.join(other_languages)}")
    # Jupytext comments magics out where it writes a notebook as a script.
    script = _MAGIC_COMMENT.sub(r"\1", text) if _JUPYTEXT.search(text) else text
    codes = [cell.text for cell in cells] if cells else [script]
    if not any(code.strip() for code in codes):
        raise UnsupportedKernel("it contains no Python code")
    if _CUT.search(text if cells else codes[0]):
        raise UnsupportedKernel("it was cut off because it was too long")
    if any("[encoded data left out]" in code for code in codes):
        raise UnsupportedKernel("its code contained encoded data that was removed")
    plain = [plain_cell(code) for code in codes]
    code = _FUTURE.sub("", "\n\n".join(cell.code.rstrip("\n") for cell in plain)).strip() + "\n"
    try:
        ast.parse(code)
    except _FAULTS as error:
        raise UnsupportedKernel(_fault([cell.code for cell in plain], error)) from None
    return KernelScript(code, tuple(command for cell in plain for command in cell.commands))


def _shown_language(name: str | None) -> str:
    return "R" if name == "r" else name or "an unknown language"


def _fault(codes: Sequence[str], error: BaseException) -> str:
    """Return why code is not Python 3, by the first such cell."""
    place = ""
    for number, code in enumerate(codes, 1):
        try:
            ast.parse(_FUTURE.sub("", code))
        except _FAULTS as fault:
            error, place = fault, f"code cell {number}, " if len(codes) > 1 else ""
            break
    line = (getattr(error, "text", None) or "").rstrip("\n")
    message = getattr(error, "msg", None) or str(error)
    if _PYTHON_2.search(line) or message.startswith("Missing parentheses in call to"):
        return f"it is written in Python 2: {place}{line.strip()[:80]}"
    line_prefix = f"line {error.lineno}: " if isinstance(error, SyntaxError) and error.lineno else ""
    return f"it is not valid Python 3: {place}{line_prefix}{message}"

"""Excerpts of code: features, models and validation stay; installs, plots, prints, logs and long lists go."""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby

from bot.community.reading.statements import Kind, kind_of, telling_lines, worth_of, worth_of_prose
from scrapers.posts.cleaning import parts
from scrapers.posts.ipython_code import plain_cell
from scrapers.posts.kernel_text import language_named

_SPLIT = 700
"""Characters of a statement from which its inner statements are weighed one by one."""
_PARAGRAPH = 800
"""Characters of a paragraph of prose that are shown."""
_LEAST_CUT = 300
"""Characters that are worth showing of a statement that does not fit."""
_MARKER = 40
"""Characters of a note on omitted lines."""
_LONG_LITERAL = re.compile(
    r"\[[^\[\](){}]{800,}\]|(?<![\w)\]])\([^\[\](){}=]{800,}\)|\{[^\[\](){}]{1500,}\}|\"[^\"\n]{1000,}\"|'[^'\n]{1000,}'"
)
"""Plain lists, mappings (which hold parameters) and strings; not lists of models or functions."""
_NOTE = re.compile(r"([\[({])\"(… [\d,]+ items)\"(?:: 0|,)?([\])}])")
_FAULTS = (SyntaxError, ValueError, RecursionError, MemoryError)


@dataclass
class _Piece:
    """Some lines that are kept or omitted together."""

    text: str
    kind: Kind | None
    """Why it is omitted; None: it stays if there is room."""
    worth: int = 0
    around: tuple["_Piece", ...] = ()
    """Pieces that it needs, such as the `def` around it."""
    kept: bool = field(default=False, compare=False)


@lru_cache(maxsize=256)
def code_excerpt(text: str, characters: int) -> str:
    """Return a script or notebook in about so many characters at most, in its own order.

    Models with their parameters are kept first, then validation, target and metric, then features. A note stands for each
    omitted stretch. A notebook has its code and output in fences.
    """
    pieces, seen_texts = list(_pieces(text)), set[str]()
    for piece in pieces:
        if piece.kind is None and not piece.around and piece.worth and len(piece.text) > _MARKER:
            piece.kind = "repetitions" if piece.text in seen_texts else None
            seen_texts.add(piece.text)
    worthy_pieces = [piece for piece in pieces if piece.kind is None and piece.worth]
    remaining_characters, kept_pieces = characters, list[_Piece]()
    for piece in sorted(worthy_pieces, key=lambda piece: -piece.worth):
        needed_pieces = [neighbour for neighbour in (*piece.around, piece) if not neighbour.kept]
        size = sum(len(needed_piece.text) + 1 for needed_piece in needed_pieces)
        room = remaining_characters - (size - len(piece.text))
        if size > remaining_characters and piece.worth > 1 and room >= _LEAST_CUT:
            # The beginning of a definition is better than nothing.
            start, end = piece.text[: room - _MARKER], piece.text[room - _MARKER :]
            if "\n" in start:
                start, _, cut_line = start.rpartition("\n")
                end = cut_line + end
            piece.text = f"{start}\n[… {end.strip().count(chr(10)) + 1} more lines]"
            size = remaining_characters
        if size <= remaining_characters:
            remaining_characters -= size
            kept_pieces += needed_pieces
            for needed_piece in needed_pieces:
                needed_piece.kept = True
    text_shown = _render_pieces(pieces)
    while len(text_shown) > characters + _MARKER and len(kept_pieces) > 1:
        kept_pieces.pop().kept = False
        text_shown = _render_pieces(pieces)
    return text_shown


def _render_pieces(pieces: Sequence[_Piece]) -> str:
    """Return the kept pieces, with a note for each omitted stretch."""
    lines, dropped_lines, kinds = list[str](), 0, dict[str, None]()

    def note() -> None:
        if dropped_lines > 2 or "code" in kinds or "imports" in kinds:
            lines.append(
                f"[… {dropped_lines} lines: {', '.join(kinds)}]" if dropped_lines > 1 else f"[… {', '.join(kinds)}]"
            )
        elif dropped_lines:
            # A line or two of no interest are no loss, but the lines around them were not adjacent.
            lines.append("[…]")

    for piece in pieces:
        if piece.kept:
            note()
            dropped_lines, kinds = 0, {}
            lines.append(piece.text)
        elif piece.text.strip():
            dropped_lines += piece.text.strip("\n").count("\n") + 1
            kinds[piece.kind or "code"] = None
    note()
    return "\n".join(lines)


def _pieces(text: str) -> Iterator[_Piece]:
    pieces = list(parts(text))
    if not any(part.is_cell for part in pieces):
        plain = plain_cell(text)
        # Another language has signs of its own at the beginnings of lines.
        yield from _code_pieces(text if _parsed(plain.code) is None else plain.code)
        return
    for part in pieces:
        if part.is_cell and language_named(part.language) == "python":
            plain = plain_cell(part.text)
            # A cell of commands alone, or of another language, such as `%%bash`, is no part of the solution.
            idle = plain.code.strip() in ("", "pass") and bool(plain.commands)
            yield from [_Piece(part.text, "installs")] if idle else _code_pieces(plain.code)
        elif part.is_cell:
            yield from _code_pieces(part.text)
        elif part.language == "text":  # what a cell printed
            telling_text = telling_lines(part.text)
            yield _Piece(telling_text or part.text, None if telling_text else "output", 3)
        else:  # an example in prose is prose
            yield from _prose_pieces(part.text)


def _prose_pieces(text: str, least_worth: int = 0) -> Iterator[_Piece]:
    for paragraph in map(str.strip, re.split(r"\n\s*\n", text)):
        worth = max(least_worth, worth_of_prose(paragraph))
        if paragraph and paragraph != "Output:" and worth:
            is_short = len(paragraph) <= _PARAGRAPH
            yield _Piece(paragraph if is_short else f"{paragraph[:_PARAGRAPH].rsplit(maxsplit=1)[0]} […]", None, worth)


def _code_pieces(code: str) -> Iterator[_Piece]:
    code = _LONG_LITERAL.sub(_note, code)
    tree = _parsed(code)
    code = _NOTE.sub(r"\1\2\3", code)
    if tree is None:
        yield from _unparsed_pieces(code)
        return
    if (docstring := ast.get_docstring(tree)) is not None:
        yield from _prose_pieces(docstring, least_worth=2)
    lines = code.split("\n")
    begin = 0 if docstring is None else tree.body[0].end_lineno or 0
    try:
        yield from list(_statement_pieces(lines, tree.body[docstring is not None :], begin, None))
    except RecursionError:  # statements within statements, and so on
        yield from _unparsed_pieces(code)


def _unparsed_pieces(code: str) -> Iterator[_Piece]:
    """Yield the blocks of code that is not Python 3, split at empty lines, without lines of no interest."""
    for block in re.split(r"\n[ \t]*\n", code):
        lines = [(line, kind_of(line, None)) for line in block.split("\n")]
        code_text = "\n".join(line for line, kind in lines if kind is None)
        if code_text.strip():
            shown_runs = (
                "[…]" if is_dropped else "\n".join(line for line, _ in run)
                for is_dropped, run in groupby(lines, key=lambda line: line[1] is not None)
            )
            yield _Piece("\n".join(shown_runs), None, worth_of(code_text))
        elif block.strip():
            yield _Piece(block, next(kind for _, kind in lines if kind is not None))


def _statement_pieces(
    lines: Sequence[str],
    body: Sequence[ast.stmt],
    first: int,
    last: int | None,
    around: tuple[_Piece, ...] = (),
    least_worth: int = 1,
) -> Iterator[_Piece]:
    """Yield the pieces of statements in the lines from `first` to before `last` (from 0; None: to the end).

    They need the pieces `around` them; within a split statement, `least_worth` is the worth of one that says little.
    """
    position, glue = first, around
    for statement in body:
        begin, end = _begin(statement), statement.end_lineno or statement.lineno
        if begin < position:
            # It shares a line with the one before it.
            position = max(position, end)
            continue
        comments = begin
        while comments > position and (not lines[comments - 1].strip() or lines[comments - 1].lstrip().startswith("#")):
            comments -= 1
        if comments > position:
            between = _Piece("\n".join(lines[position:comments]), None)
            yield between
            glue = (*around, between)
        text = "\n".join(lines[comments:end]).strip("\n")
        inner = list(_inner(statement))
        kind = kind_of("\n".join(lines[begin:end]), statement)
        if kind is None and len(text) > _SPLIT and inner and _begin(inner[0]) > begin:
            head = _Piece("\n".join(lines[comments : _begin(inner[0])]).strip("\n"), None)
            yield head
            least_of_parts = min(2, worth_of(text, statement))
            yield from _statement_pieces(lines, inner, _begin(inner[0]), end, (*glue, head), least_of_parts)
        else:
            yield _Piece(text, kind, max(least_worth, worth_of(text, statement)), glue)
        position = end
    if trailing_text := "\n".join(lines[position:last]).strip("\n"):
        yield _Piece(trailing_text, "comments")


def _begin(statement: ast.stmt) -> int:
    """Return a statement's first line, from 0, decorators included."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)]) - 1


def _inner(statement: ast.AST) -> Iterator[ast.stmt]:
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, ast.stmt):
            yield child
        elif isinstance(child, ast.ExceptHandler | ast.match_case):
            yield from _inner(child)


def _note(literal: re.Match[str]) -> str:
    """Return the placeholder for a long literal, in code that can be parsed."""
    begin, content, end = literal[0][0], literal[0][1:-1], literal[0][-1]
    if begin in "\"'":
        return f"{begin}… {len(content):,} characters{end}"
    items = content.strip().rstrip(",").count(",") + 1
    return f'{begin}"… {items:,} items"{": 0" if begin == "{" else ","}{end}'


def _parsed(code: str) -> ast.Module | None:
    try:
        return ast.parse(code)
    except _FAULTS:
        return None

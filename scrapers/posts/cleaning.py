"""Foreign text made safe to store and to show: line ends, control and invisible characters, encoded data, length, fences."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

LARGEST_TEXT = 200_000
"""Most bytes of a cleaned text, in UTF-8."""
_LONGEST_READ = 1_000_000
"""Characters of a text's two ends that are read; encoded data within them does not count towards the length."""

# Control characters except tab and newline; marks that reorder text on screen so that it reads differently; and invisible
# characters, in which a text may hide another one (joiners stay: some scripts and emoji need them).
_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_SURROGATES = re.compile("[\ud800-\udfff]")
_SHORTEST_LINE = 60
"""Characters of a line of base64 where it is broken into lines."""
# A run cannot begin within a run, so that each is scanned once.
_ENCODED = re.compile(
    r"(?<![A-Za-z0-9+/])(?:data:[\w/+.;=-]{1,100},)?[A-Za-z0-9+/]{400,}={0,2}"
    rf"|^(?:[A-Za-z0-9+/]{{{_SHORTEST_LINE},76}}\n){{8,}}(?:[A-Za-z0-9+/]{{1,76}}={{0,2}}$)?",
    re.MULTILINE,
)
_REFERENCE = re.compile(r"&#(?:[0-9]{8,}|[xX][0-9a-fA-F]{7,});?")


def readable(text: str) -> str:
    """Return markdown or code for storage: clean, without encoded data, of at most `LARGEST_TEXT` bytes."""
    return cut_middle(without_encoded(clean(both_ends(text, _LONGEST_READ))))


def clean(text: str) -> str:
    """Return the text with newline line ends, without control and invisible characters, and encodable as UTF-8."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _SURROGATES.sub("\ufffd", _CONTROLS.sub("", text))


def without_encoded(text: str) -> str:
    """Return the text with a note in place of base64 and of data addresses."""
    # Splitting is twenty times as fast as searching, and most texts have no word that long.
    if max(map(len, text.split()), default=0) < _SHORTEST_LINE:
        return text
    return _ENCODED.sub("[encoded data left out]", text)


def possible_references(text: str) -> str:
    """Return HTML with U+FFFD for impossible character references, at which parsers fail."""
    return _REFERENCE.sub("\ufffd", text)


def cut_middle(text: str, largest: int = LARGEST_TEXT) -> str:
    """Return the text, shortened if necessary to its beginning and end with a note between, at most `largest` bytes."""
    data = text.encode()
    if len(data) <= largest:
        return text
    note = f"\n\n[... {len(data) - largest:,} bytes cut from the middle ...]\n\n"
    half = (largest - len(note.encode()) - 16) // 2  # 16: the count in the note may gain digits
    start, end = data[:half].decode(errors="ignore"), data[-half:].decode(errors="ignore")
    note = f"\n\n[... {len(data) - 2 * half:,} bytes cut from the middle ...]\n\n"
    return start + note + end


def both_ends(text: str, longest: int) -> str:
    """Return the text, or its first and last `longest` / 2 characters, so that the rest costs no time."""
    if len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half:,} characters left out ...]\n{text[len(text) - half :]}"


_BACKTICKS = re.compile(r"`{3,}")
_OPENING = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*\{?([A-Za-z0-9+#]{0,30})")
_CELL = re.compile(r"^(`{3,})([A-Za-z0-9+#]{0,30}) cell$", re.MULTILINE)
"""What opens a code cell of a notebook, and nothing else in its text."""


@dataclass(frozen=True)
class MarkdownSegment:
    """A part of markdown: the code between two fences, or the prose between code."""

    text: str
    language: str | None
    """Language of code, empty if the fence names none; None for prose."""
    is_cell: bool = False
    """Whether it is a code cell of a notebook: other fences are output, and examples in its text."""


def fenced(text: str, language: str) -> str:
    """Return the text between fences that are longer than any run of backticks in it."""
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=2)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def fenced_cell(code: str, language: str) -> str:
    """Return a notebook's code cell, which `parts` tells from every other fence."""
    return fenced(code, f"{language} cell")


def without_cells(text: str) -> str:
    """Return a notebook's prose or output without what would pass for a code cell."""
    return _CELL.sub(r"\1\2", text)


def parts(markdown: str) -> Iterator[MarkdownSegment]:
    """Yield the prose and the code of markdown in order; an unclosed fence extends to the next code cell, or to the end."""
    lines: list[str] = []
    fence, language, is_cell = "", None, False
    for line in markdown.split("\n"):
        opening = None if is_cell else _CELL.fullmatch(line) or (None if fence else _OPENING.match(line))
        if opening:
            yield MarkdownSegment("\n".join(lines), language)
            lines, fence, language, is_cell = [], opening[1], opening[2].lower(), opening.re is _CELL
        elif line == fence if is_cell else fence and _closes(line, fence):
            yield MarkdownSegment("\n".join(lines), language, is_cell)
            lines, fence, language, is_cell = [], "", None, False
        else:
            lines.append(line)
    yield MarkdownSegment("\n".join(lines), language, is_cell)


def _closes(line: str, fence: str) -> bool:
    return line.strip(" \t").startswith(fence) and not line.strip(" \t" + fence[0])

"""Fences: code in markdown, written so that nothing within closes it, and found again."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_BACKTICKS = re.compile(r"`{3,}")
_OPENING = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*\{?([A-Za-z0-9+#]{0,30})")


@dataclass(frozen=True)
class Part:
    """A stretch of markdown: the code between two fences, or the prose between such."""

    text: str
    language: str | None
    """Of code, empty where the fence names none; None for prose."""


def fenced(text: str, language: str) -> str:
    """Return the text between fences that are longer than any run of backticks in it."""
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=2)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def parts(markdown: str) -> Iterator[Part]:
    """Yield the prose and the code of markdown in order; a fence that is not closed goes on to the end."""
    held: list[str] = []
    fence, language = "", None
    for line in markdown.split("\n"):
        if not fence and (opening := _OPENING.match(line)):
            yield Part("\n".join(held), None)
            held, fence, language = [], opening[1], opening[2].lower()
        elif fence and line.strip(" \t").startswith(fence) and not line.strip(" \t" + fence[0]):
            yield Part("\n".join(held), language)
            held, fence, language = [], "", None
        else:
            held.append(line)
    yield Part("\n".join(held), language)

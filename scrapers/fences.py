"""Fences: code in markdown, written so that nothing within closes it."""

import re

_BACKTICKS = re.compile(r"`{3,}")


def fenced(text: str, language: str) -> str:
    """Return the text between fences that are longer than any run of backticks in it."""
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=2)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"

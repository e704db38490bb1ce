"""How figures, times and foreign text read in a notice."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from bot.models.quoting import clean
from state.words import plural

_BARS = "▁▂▃▄▅▆▇█"
_WIDTH = 40
_SPECIAL = re.compile(r"([\\`*_\[\]()#|~])")
_CALLING = (("<", "‹"), (">", "›"), ("@", "@\u200b"), ("!", "!\u200b"), ("://", ":\u200b//"))
_LIST = re.compile(r"^(\s*)([-+]|\d+[.)])(?=\s)", re.MULTILINE)


def plain(text: str) -> str:
    """Return the text without control, invisible and direction-changing characters."""
    return clean(text)


def escaped(text: str) -> str:
    """Return foreign text so that Markdown shows it unchanged, and it mentions nobody and links to nothing.

    Services differ in which characters a backslash escapes; those that would begin HTML, a mention or a link are
    replaced by lookalikes.
    """
    if isinstance(text, Verbatim):
        return text
    text = _SPECIAL.sub(r"\\\1", clean(text))
    text = _LIST.sub(r"\1\\\2", text)
    for character, harmless in _CALLING:
        text = text.replace(character, harmless)
    return text


class Verbatim(str):
    """Text that is printed without escaping."""


def bold(text: object) -> str:
    """Return a figure or a name so that Markdown shows it in bold."""
    return Verbatim(f"**{escaped(str(text))}**")


def indented(lines: Sequence[str]) -> str:
    """Return lines to be copied, as plain text shows them."""
    return "\n".join(f"    {line}" for line in lines)


def fenced(lines: Sequence[str]) -> str:
    """Return lines to be copied, as a code block; only what would end the block or mention somebody is replaced."""
    body = clean("\n".join(lines)).replace("```", "'''").replace("<", "‹").replace(">", "›")
    return Verbatim(f"```\n{body}\n```")


def link(url: str) -> str:
    """Return one of our own addresses as a link; text that holds more than an address stays text."""
    return Verbatim(url) if re.fullmatch(r"https?://[\w.:/?=&%~-]+", url) else url


def sparkline(values: Sequence[float]) -> str:
    """Return a line of bars, the newest value last; many values are thinned out to the last of each stretch."""
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return ""
    if len(finite) > _WIDTH:
        finite = [finite[(i + 1) * len(finite) // _WIDTH - 1] for i in range(_WIDTH)]
    low, high = min(finite), max(finite)
    # Halved, as the difference of two large numbers may overflow a float.
    span = high / 2 - low / 2
    places = [0 if span == 0 else round((value / 2 - low / 2) / span * (len(_BARS) - 1)) for value in finite]
    return "".join(_BARS[place] for place in places)


def figure(value: float | None) -> str:
    """Return a number with six digits; a dash for None."""
    return "–" if value is None else f"{value:.6g}"


def moment(time: datetime) -> str:
    """Return a time to the minute, in UTC."""
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def cut(text: str, characters: int = 1_500) -> str:
    """Return the beginning of a text, and how many characters follow."""
    if len(text) <= characters:
        return text
    return f"{text[:characters]} [{len(text) - characters} more characters]"


FILTERS: Mapping[str, Callable[..., Any]] = {
    "bold": str,
    "cut": cut,
    "fenced": indented,
    "figure": figure,
    "link": str,
    "moment": moment,
    "plural": plural,
    "sparkline": sparkline,
}
"""The templates' filters, for plain text."""
MARKDOWN_FILTERS: Mapping[str, Callable[..., Any]] = {**FILTERS, "bold": bold, "fenced": fenced, "link": link}

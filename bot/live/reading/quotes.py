"""Whether a quoted sentence stands on a page: word for word, whatever the marks between the words."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_TARGET = re.compile(r"\]\([^)\s]*\)")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class ReadPage:
    """A page of a competition, in markdown."""

    name: str
    text: str


def not_found(quotes: Iterable[str], pages: Sequence[ReadPage]) -> list[str]:
    """Return the quotes that stand on none of the pages; one without words stands nowhere."""
    texts = [_words(page.text) for page in pages]
    return [
        quote for quote in quotes if not (words := _words(quote)).strip() or not any(words in text for text in texts)
    ]


def _words(text: str) -> str:
    """Return the words, each with a blank before and after it; the addresses of links are none."""
    plain = unicodedata.normalize("NFKC", _TARGET.sub("]", text)).casefold()
    return f" {' '.join(_WORD.findall(plain.replace('_', ' ')))} "

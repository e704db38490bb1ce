"""Masking of what a probe saw: names, texts and numbers of people are replaced, and its form stays."""

import re
from collections.abc import Callable, Sequence, Set
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from bot.simulator.probe.exchange import Exchange

_KEPT = frozenset(
    (
        *("extension", "mimeType", "category", "hostSegment", "evaluationMetric", "documentType", "tier"),
        *("status", "language", "kernelType", "sourceType", "topicType", "type"),
        *("competitionName", "sortBy", "group", "canonicalOrderBy", "documentTypes"),
    )
)
"""Fields whose text is the site's or the competition's; all other text is masked, of fields that nobody knows too."""
_NAMES_OF_THINGS = frozenset(("ListCompetitionPages", "ListDataFiles"))
"""Methods whose `name` is that of a page or a file, not of a person."""
_ADDRESS = "https://www.kaggle.com/competitions/"
_LIKE_NUMBER = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-][\d:]+)?|-?\d+(?:\.\d+)?(?:e-?\d+|s)?", re.IGNORECASE)
"""Times, numbers and seconds as text."""
_TAGS = "p|div|span|h[1-6]|ul|ol|li|a|b|i|em|strong|code|pre|br|hr|table|thead|tbody|tr|td|th|img|blockquote|sup|sub"
_TAG = re.compile(rf"(</?(?:{_TAGS})\b)[^<>]*(>)", re.IGNORECASE)
_LETTER = re.compile(r"[^\W\d_]")
_DIGIT = re.compile(r"\d")
_LONGEST = 300
"""Characters of a masked text."""


class Masking:
    """Masks the exchanges of one probe; the same number becomes the same number in all of them."""

    def __init__(self, slug: str, hide: Callable[[str], str]) -> None:
        """Prepare it: the competition's name stays, and `hide` removes the key from a text, should it hold it."""
        self._slug = slug
        self._hide = hide
        self._numbers: dict[int, int] = {}

    def masked(self, exchanges: Sequence[Exchange]) -> tuple[Exchange, ...]:
        """Return the exchanges without names, texts and numbers of people; the words of refusals stay."""
        return tuple(self._masked(one) for one in exchanges)

    def _masked(self, one: Exchange) -> Exchange:
        kept = _KEPT | ({"name"} if one.method in _NAMES_OF_THINGS else set())
        if one.status is not None and not one.answered:
            kept |= {"message", "error"}
        request = self._value("", dict(one.request), kept)
        return replace(one, request=request, answer=self._value("error", one.answer, kept))

    def _value(self, name: str, value: Any, kept: Set[str]) -> Any:
        if isinstance(value, dict):
            return {key: self._value(key, one, kept) for key, one in value.items()}
        if isinstance(value, list):
            return [self._value(name, one, kept) for one in value]
        if name == "id" or name == "ref" or name.endswith("Id"):
            value = self._number(value)
        elif name == "userRank" and value:
            value = 1  # beside a public leaderboard it names the user
        return self._hide(self._text(name, value, kept)) if isinstance(value, str) else value

    def _number(self, value: Any) -> Any:
        """Return another number of the same form: an integer, or one as text."""
        if isinstance(value, bool) or not re.fullmatch(r"\d{1,20}", str(value)):
            return value
        other = self._numbers.setdefault(int(value), len(self._numbers) + 1)
        return str(other) if isinstance(value, str) else other

    def _text(self, name: str, text: str, kept: Set[str]) -> str:
        if name == "location":
            return f"{urlsplit(text).scheme}://{urlsplit(text).hostname}/masked"
        if name.endswith("Token"):
            return "token" if text else ""
        is_public = text == self._slug or text.rstrip("/") == f"{_ADDRESS}{self._slug}"
        if name in kept or is_public or _LIKE_NUMBER.fullmatch(text):
            return text
        return _without_words(text)


def _without_words(text: str) -> str:
    """Return a text with its letters and digits replaced, and the attributes of its tags removed."""
    parts = _TAG.split(text)
    # Every third part is between two tags; the two after it are a tag's beginning and end.
    shown = [part if place % 3 else _DIGIT.sub("0", _LETTER.sub("x", part)) for place, part in enumerate(parts)]
    return "".join(shown)[:_LONGEST]

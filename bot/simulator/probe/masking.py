"""Masking of what a probe saw: names, texts and numbers of people are replaced, and its form stays."""

import re
from collections.abc import Callable, Sequence, Set
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from bot.simulator.probe.exchange import ProbeExchange

_PLAIN_FIELDS = frozenset(
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

    def masked(self, exchanges: Sequence[ProbeExchange]) -> tuple[ProbeExchange, ...]:
        """Return the exchanges without names, texts and numbers of people; the words of refusals stay."""
        return tuple(self._masked(exchange) for exchange in exchanges)

    def _masked(self, exchange: ProbeExchange) -> ProbeExchange:
        plain_fields = _PLAIN_FIELDS | ({"name"} if exchange.method in _NAMES_OF_THINGS else set())
        if exchange.status is not None and not exchange.answered:
            plain_fields |= {"message", "error"}
        request = self._value("", dict(exchange.request), plain_fields)
        return replace(exchange, request=request, answer=self._value("error", exchange.answer, plain_fields))

    def _value(self, name: str, value: Any, plain_fields: Set[str]) -> Any:
        if isinstance(value, dict):
            return {key: self._value(key, item, plain_fields) for key, item in value.items()}
        if isinstance(value, list):
            return [self._value(name, item, plain_fields) for item in value]
        if name == "id" or name == "ref" or name.endswith("Id"):
            value = self._number(value)
        elif name == "userRank" and value:
            value = 1  # beside a public leaderboard it names the user
        return self._hide(self._text(name, value, plain_fields)) if isinstance(value, str) else value

    def _number(self, value: Any) -> Any:
        """Return another number of the same form: an integer, or one as text."""
        if isinstance(value, bool) or not re.fullmatch(r"\d{1,20}", str(value)):
            return value
        number = self._numbers.setdefault(int(value), len(self._numbers) + 1)
        return str(number) if isinstance(value, str) else number

    def _text(self, name: str, text: str, plain_fields: Set[str]) -> str:
        if name == "location":
            return f"{urlsplit(text).scheme}://{urlsplit(text).hostname}/masked"
        if name.endswith("Token"):
            return "token" if text else ""
        is_public = text == self._slug or text.rstrip("/") == f"{_ADDRESS}{self._slug}"
        if name in plain_fields or is_public or _LIKE_NUMBER.fullmatch(text):
            return text
        return _without_words(text)


def _without_words(text: str) -> str:
    parts = _TAG.split(text)
    # Every third part is between two tags; the two after it are a tag's beginning and end.
    masked_parts = [part if place % 3 else _DIGIT.sub("0", _LETTER.sub("x", part)) for place, part in enumerate(parts)]
    return "".join(masked_parts)[:_LONGEST]

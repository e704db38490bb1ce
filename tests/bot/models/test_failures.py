"""What an endpoint's headers and words mean; the classes themselves are tested over HTTP."""

from datetime import UTC, datetime

import pytest

from bot.models.failures import LONGEST_WAIT, endpoint_words, retry_after

NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "3"}, 0.25),
        ({"retry-after": "999"}, LONGEST_WAIT),
        ({"retry-after": "Fri, 20 Nov 2026 12:00:20 GMT"}, 20.0),
        ({"retry-after": "Fri, 20 Nov 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "later"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "-1"}, None),
    ],
)
def test_seconds_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == seconds


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"error": {"message": "no\n such  model"}}, "no such model"),
        ({"error": "busy"}, "busy"),
        ({"message": "busy"}, "busy"),
        ("plain text", "plain text"),
        ("", "no message"),
        ({"error": {"message": "x" * 1000}}, "x" * 300),
    ],
)
def test_words_of_an_endpoint_are_one_bounded_line(body: object, words: str) -> None:
    assert endpoint_words(body) == words

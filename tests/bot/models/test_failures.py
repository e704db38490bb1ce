"""What an endpoint's words mean; the classes themselves are tested over HTTP."""

import pytest

from bot.models.failures import endpoint_words, requested_wait
from tests.bot.models.parts import CUTOFF


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


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        ("Rate limit reached for x. Please try again in 1m2.5s. Need more tokens?", 62.5),
        ("Please try again in 340ms.", 0.34),
        ("You exceeded your current quota. Please retry in 33.5s.", 33.5),
        ("Retry after 20 seconds.", 20),
        ("try again later; it was retried 3 times", None),
    ],
)
def test_the_wait_that_an_error_names_is_read(words: str, seconds: float | None) -> None:
    assert requested_wait({}, {"error": {"message": words}}, CUTOFF) == seconds


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after-ms": "1500", "retry-after": "2"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "2"}, 2),
        ({"retry-after": "3"}, 3),
    ],
)
def test_the_wait_that_a_header_names_goes_before_that_in_words(headers: dict[str, str], seconds: float) -> None:
    assert requested_wait(headers, {"error": "try again in 20s"}, CUTOFF) == seconds

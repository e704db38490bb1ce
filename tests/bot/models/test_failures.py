"""What an endpoint's words mean; the classes themselves are tested over HTTP."""

import pytest

from bot.models.failures import endpoint_words


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

"""What an endpoint's words mean; the classes themselves are tested over HTTP."""

import pytest

from bot.models.failures import endpoint_words, named_wait


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
    assert named_wait({"error": {"message": words}}) == seconds

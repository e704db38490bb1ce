"""Which error an answer stands for, in both of Kaggle's shapes."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from scrapers.http.responses import retry_after
from scrapers.kaggle.failures import code_and_words, failure
from state.errors import (
    Forbidden,
    KaggleError,
    NotAuthenticated,
    NotebooksOnly,
    NotEntered,
    NotFound,
    QuotaReached,
    RateLimited,
    SiteUnavailable,
)

DENIED = "Permission 'competitions.participate' was denied"
RULES = "You must accept this competition's rules before you'll be able to download files."
LIMIT = "Your team has used its daily Submission allowance (5) today, please try again tomorrow UTC (3 hours from now)."
NOTEBOOKS = "This competition only accepts Submissions from Notebooks."
NAME = 'Submission files must be named "submission.csv".'

CASES = [
    (401, "Unauthenticated", "UNAUTHENTICATED", NotAuthenticated),
    (403, DENIED, "PERMISSION_DENIED", NotEntered),
    (403, RULES, "PERMISSION_DENIED", NotEntered),
    (403, "Verify your phone number first", "PERMISSION_DENIED", Forbidden),
    (403, "", "", Forbidden),
    (404, "Not found", "NOT_FOUND", NotFound),
    (400, LIMIT, "FAILED_PRECONDITION", QuotaReached),
    (400, "Submission not allowed: " + LIMIT, "FAILED_PRECONDITION", QuotaReached),
    (400, "Submission not allowed: your team is being reviewed", "FAILED_PRECONDITION", KaggleError),
    (400, NOTEBOOKS, "FAILED_PRECONDITION", NotebooksOnly),
    (400, NAME, "INVALID_ARGUMENT", KaggleError),
    (429, "Too many requests", "RESOURCE_EXHAUSTED", RateLimited),
    (500, "Internal error", "INTERNAL", SiteUnavailable),
    (503, "", "UNAVAILABLE", SiteUnavailable),
]


@pytest.mark.parametrize(("status", "words", "name", "expected"), CASES)
@pytest.mark.parametrize("nested", [True, False])
def test_an_error_is_recognised_in_both_shapes_and_keeps_kaggles_words(status, words, name, expected, nested) -> None:
    inner = {"code": status, "message": words} | ({"status": name} if nested else {})
    body = json.dumps({"error": inner} if nested else inner)
    error = failure(status, body, method="CreateSubmission", subject="leaf")
    assert type(error) is expected
    assert words in str(error)
    assert "CreateSubmission for leaf" in str(error)


def test_only_a_denied_permission_is_a_competition_to_enter() -> None:
    other = failure(403, '{"message": "Verify your phone number first"}', method="CreateSubmission", subject="leaf")
    assert str(other) == "Kaggle answered 403 to CreateSubmission for leaf: Verify your phone number first"
    assert "accept its rules on the website" in str(failure(403, DENIED, method="GetCompetition", subject="leaf"))


def test_the_code_in_the_body_goes_before_a_status_of_200() -> None:
    body = '{"code": 403, "message": "Permission \'kernels.get\' was denied"}'
    assert isinstance(failure(200, body, method="GetKernel", subject="a/b"), NotEntered)


def test_plain_text_and_html_are_words_too() -> None:
    assert isinstance(failure(429, "Too many requests.", method="GetKernel", subject=""), RateLimited)
    page = "<html><head><title>502 Bad Gateway</title><script>x()</script></head><body>nginx</body></html>"
    error = failure(502, page, method="GetKernel", subject="")
    assert isinstance(error, SiteUnavailable)
    assert str(error).endswith("502 Bad Gateway")


@pytest.mark.parametrize(
    "body",
    [
        '{"code": 7, "message": "Be patient"}',
        '{"code": "403", "message": "Be patient"}',
        '{"error": "Be patient", "code": 403}',
        '{"error": "Be patient"}',
        '{"detail": "Be patient"}',
        '{"errors": [{"message": "Be patient"}]}',
        "Be patient",
        "<p>Be patient</p>",
    ],
)
def test_odd_bodies_keep_their_words_and_the_status_counts(body: str) -> None:
    error = failure(403, body, method="GetKernel", subject="")
    assert type(error) is Forbidden
    assert (error.status, "Be patient" in str(error)) == (403, True)


@pytest.mark.parametrize("body", ["[]", "null", "[" * 100_000, '{"error": "x"}', '{"code": true}', "\x00\x1b[31m"])
def test_any_body_can_be_read(body: str) -> None:
    code, words = code_and_words(body)
    assert code is None
    assert len(words) <= 500
    assert "\x1b" not in words


def test_a_wait_is_a_number_or_a_date() -> None:
    now = datetime(2026, 11, 20, 12, tzinfo=UTC)
    later = (now + timedelta(seconds=90)).strftime("%a, %d %b %Y %H:%M:%S GMT")
    assert [retry_after(value, now) for value in ("7", later, "soon", "nan", "-1", None)] == [
        *(7.0, 90.0),
        *[None] * 4,
    ]

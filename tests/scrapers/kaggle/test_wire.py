"""How answers are read, and which error one stands for, in both of Kaggle's shapes."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from scrapers.http.responses import retry_after
from scrapers.kaggle.competitions import KaggleCompetition
from scrapers.kaggle.failures import code_and_words, failure
from scrapers.kaggle.forum import TopicMessages
from scrapers.kaggle.search import SearchPage
from scrapers.kaggle.submissions import KaggleStatus, KaggleSubmission
from scrapers.kaggle.wire import parse_time, wire_time
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

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "microsecond"),
    [
        ("2026-11-20T12:00:00Z", 0),
        ("2026-11-20T12:00:00.1Z", 100_000),
        ("2026-11-20T12:00:00.123456789Z", 123_456),
        ("2026-11-20 12:00:00", 0),
        ("2026-11-20T13:00:00+01:00", 0),
        ("2026-11-20T12:00:00.5+0000", 500_000),
    ],
)
def test_a_time_is_read_as_aware_utc_whatever_its_digits(text: str, microsecond: int) -> None:
    assert parse_time(text) == NOON.replace(microsecond=microsecond)


def test_a_time_that_is_none_is_none_and_nonsense_is_refused() -> None:
    assert [parse_time(nothing) for nothing in (None, "", "0001-01-01T00:00:00Z")] == [None] * 3
    for nonsense in ("soon", "2026-13-01T00:00:00Z", 17, "2026-11-20T12:00:00" + "0" * 30):
        with pytest.raises(ValueError):
            parse_time(nonsense)


def test_a_time_is_written_as_kaggle_writes_it() -> None:
    assert wire_time(NOON.replace(microsecond=120_000)) == "2026-11-20T12:00:00.120Z"


def test_unknown_fields_numbers_as_text_and_empty_lists_as_objects_are_taken() -> None:
    found = KaggleCompetition.model_validate(
        {"id": "9007199254740993", "ref": "https://k/c/leaf", "brandNew": {"a": 1}}
    )
    assert (found.id, found.slug) == (9007199254740993, "leaf")
    assert TopicMessages.model_validate({"messages": {}}).messages == ()
    assert SearchPage.model_validate({"documents": None}).documents == ()


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ("COMPLETE", KaggleStatus.COMPLETE),
        ("SUBMISSION_STATUS_ERROR", KaggleStatus.ERROR),
        (1, KaggleStatus.COMPLETE),
        ("PONDERING", KaggleStatus.UNKNOWN),
        (99, KaggleStatus.UNKNOWN),
        (None, KaggleStatus.PENDING),
    ],
)
def test_an_enumeration_is_read_by_name_or_number_and_what_is_new_is_unknown(
    sent: object, status: KaggleStatus
) -> None:
    assert KaggleSubmission.model_validate({"ref": 1, "status": sent}).status is status


def test_replies_are_flattened_with_the_message_that_they_answer_in_order() -> None:
    thread = {"id": 1, "replies": [{"id": 2, "replies": [{"id": 3}]}, {"id": 4}]}
    page = TopicMessages.model_validate({"messages": [thread, {"id": 5}]})
    assert [(message.id, parent) for message, parent in page.flat()] == [(1, None), (2, 1), (3, 2), (4, 1), (5, None)]


def test_tiers_are_read_by_name_or_number() -> None:
    documents = [{"ownerUser": {"tier": tier}} for tier in ("GRANDMASTER", "USER_TIER_MASTER", 2, "11", "DEMIGOD")]
    found = SearchPage.model_validate({"documents": documents}).documents
    assert [one.owner_user.tier_name for one in found if one.owner_user] == [
        "GRANDMASTER",
        "MASTER",
        "EXPERT",
        "ORGANIZATION",
        None,
    ]


def test_a_score_of_a_kernel_without_a_submission_is_none() -> None:
    cases = ((0.0, True), (0.0, False), (float("nan"), True), (None, True))
    facts = [{"bestPublicScore": score, "hasLinkedSubmission": linked} for score, linked in cases]
    found = SearchPage.model_validate({"documents": [{"kernelDocument": fact} for fact in facts]}).documents
    assert [one.public_score for one in found] == [0.0, None, None, None]


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
    assert str(other) == "Kaggle answered CreateSubmission for leaf with status 403: Verify your phone number first"
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
    assert [retry_after(value, now) for value in ("7", later, "soon", "nan", "-1", None)] == [*(7.0, 90.0), *[None] * 4]

"""How answers are read."""

from datetime import UTC, datetime

import pytest

from scrapers.kaggle.competitions import Competition
from scrapers.kaggle.forum import TopicMessages
from scrapers.kaggle.search import SearchPage
from scrapers.kaggle.submissions import SentFile, Status
from scrapers.kaggle.wire import parse_time, wire_time

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
    found = Competition.model_validate({"id": "9007199254740993", "ref": "https://k/c/leaf", "brandNew": {"a": 1}})
    assert (found.id, found.slug) == (9007199254740993, "leaf")
    assert TopicMessages.model_validate({"messages": {}}).messages == ()
    assert SearchPage.model_validate({"documents": None}).documents == ()


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ("COMPLETE", Status.COMPLETE),
        ("SUBMISSION_STATUS_ERROR", Status.ERROR),
        (1, Status.COMPLETE),
        ("PONDERING", Status.UNKNOWN),
        (99, Status.UNKNOWN),
        (None, Status.PENDING),
    ],
)
def test_an_enumeration_is_read_by_name_or_number_and_what_is_new_is_unknown(sent: object, status: Status) -> None:
    assert SentFile.model_validate({"ref": 1, "status": sent}).status is status


def test_replies_are_flattened_with_the_message_that_they_answer_in_order() -> None:
    thread = {"id": 1, "replies": [{"id": 2, "replies": [{"id": 3}]}, {"id": 4}]}
    page = TopicMessages.model_validate({"messages": [thread, {"id": 5}]})
    assert [(message.id, parent) for message, parent in page.flat()] == [
        (1, None),
        (2, 1),
        (3, 2),
        (4, 1),
        (5, None),
    ]


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

"""Which message opens a topic."""

import asyncio
from datetime import timedelta

from scrapers.kaggle.forum import TopicMessages, TopicText
from scrapers.kaggle.polling.said import opening_of, said_in
from scrapers.kaggle.wire import wire_time
from tests.scrapers.in_process import Here
from tests.scrapers.kaggle.parts import START

TOPIC = TopicText.model_validate(
    {"id": 1, "authorName": "ann", "postDate": wire_time(START), "content": "<p>Hello <b>all</b></p>"}
)


def opening(*messages: dict[str, object]) -> str | None:
    numbered = [{"id": number, **message} for number, message in enumerate(messages, start=1)]
    return asyncio.run(opening_of(TOPIC, said_in(TopicMessages.model_validate({"messages": numbered})), Here()))


def said(content: str, author: str = "ann", seconds: float = 0, **more: object) -> dict[str, object]:
    return {"content": content, "authorName": author, "postDate": wire_time(START + timedelta(seconds=seconds)), **more}


def test_it_is_known_by_what_it_says_wherever_it_stands_and_however_it_is_marked_up() -> None:
    assert opening(said("thanks", seconds=90), said("Hello <strong>all</strong>\n", seconds=300)) == "2"


def test_the_same_words_by_another_are_not_it() -> None:
    assert opening(said("<p>Hello <b>all</b></p>", author="bob", seconds=60)) is None


def test_one_that_was_edited_in_between_is_known_by_author_and_moment() -> None:
    assert opening(said("thanks", author="bob"), said("Hello everybody")) == "2"
    assert opening(said("I forgot something", seconds=60)) is None


def test_a_deleted_one_is_known_by_its_moment() -> None:
    assert opening({"isDeleted": True, "postDate": wire_time(START)}) == "1"


def test_a_reply_never_opens() -> None:
    reply = said("<p>Hello <b>all</b></p>", id=9)
    assert opening(said("what?", author="bob", seconds=60, replies=[reply])) is None


def test_a_message_that_comes_twice_is_one() -> None:
    answer = TopicMessages.model_validate({"messages": [{"id": 1, "replies": [{"id": 2}]}, {"id": 2}]})
    assert [message.id for message in said_in(answer)] == ["1", "2"]

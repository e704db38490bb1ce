"""Which message opens a topic."""

import asyncio
from datetime import timedelta

from scrapers.kaggle.forum import TopicMessages, TopicText
from scrapers.kaggle.polling.message_rows import messages_in, opening_of
from scrapers.kaggle.wire import wire_time
from tests.scrapers.in_process import Here
from tests.scrapers.kaggle.parts import START

TOPIC = TopicText.model_validate(
    {"id": 1, "authorName": "ann", "postDate": wire_time(START), "content": "<p>Hello <b>all</b></p>"}
)


def opening(*messages: dict[str, object]) -> str | None:
    numbered = [{"id": number, **message} for number, message in enumerate(messages, start=1)]
    return asyncio.run(opening_of(TOPIC, messages_in(TopicMessages.model_validate({"messages": numbered})), Here()))


def given(content: str, author: str = "ann", seconds: float = 0, **more: object) -> dict[str, object]:
    return {"content": content, "authorName": author, "postDate": wire_time(START + timedelta(seconds=seconds)), **more}


def test_it_is_known_by_its_text_wherever_it_stands_and_however_it_is_marked_up() -> None:
    assert opening(given("thanks", seconds=90), given("Hello <strong>all</strong>\n", seconds=300)) == "2"


def test_the_same_words_by_another_are_not_it() -> None:
    assert opening(given("<p>Hello <b>all</b></p>", author="bob", seconds=60)) is None


def test_one_that_was_edited_in_between_is_known_by_author_and_moment() -> None:
    assert opening(given("thanks", author="bob"), given("Hello everybody")) == "2"
    assert opening(given("I forgot something", seconds=60)) is None


def test_a_deleted_one_is_known_by_its_moment() -> None:
    assert opening({"isDeleted": True, "postDate": wire_time(START)}) == "1"


def test_a_reply_never_opens() -> None:
    reply = given("<p>Hello <b>all</b></p>", id=9)
    assert opening(given("what?", author="bob", seconds=60, replies=[reply])) is None


def test_a_message_that_comes_twice_is_one() -> None:
    answer = TopicMessages.model_validate({"messages": [{"id": 1, "replies": [{"id": 2}]}, {"id": 2}]})
    assert [message.id for message in messages_in(answer)] == ["1", "2"]

"""The forum as a reader finds it: what is visible when, orders, pages, nesting, deletions, both texts of a message."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.simulator.site.identity import wire_id
from bot.simulator.site.settings import SiteSettings
from scrapers.snapshots.snapshot import Snapshot
from tests.bot.simulator.site.parts import COMPETITIONS, DEADLINE, DISCUSSIONS, Served, served
from tests.tiny_snapshot import write_tiny


def topic(number: int | str, at: str | None = "2020-01-02T00:00:00Z", **fields: Any) -> dict[str, Any]:
    row = {"id": number, "title": f"Topic {number}", "author": "ann", "tier": None, "posted_at": at, "votes": 77}
    return row | fields


def message(number: int | str, about: int | str, at: str | None, **fields: Any) -> dict[str, Any]:
    row = {"id": number, "topic_id": about, "parent_id": None, "author": "ann", "tier": None, "posted_at": at}
    return row | {"edited_at": None, "votes": 77, "markdown": f"text {number}", "deleted": False} | fields


def forum(folder: Path, topics: list[Any], messages: list[Any], readings: list[Any] | None = None) -> Snapshot:
    path = write_tiny(folder / "tiny")
    rows = {"topics": topics, "messages": messages, "kernels": [], "observations": readings or []}
    for name, content in rows.items():
        (path / "community" / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in content))
    return Snapshot.load(path, METRIC_DIRECTIONS)


def topics(it: Served, **body: Any) -> list[int]:
    return [one["id"] for one in it.client.compete("ListCompetitionTopics", **body).get("topics", [])]


def messages(it: Served, number: int, **body: Any) -> list[dict[str, Any]]:
    wanted = {"topicId": number, "sortBy": "COMMENT_LIST_SORT_BY_OLD"} | body
    found: list[dict[str, Any]] = it.client.compete("ListTopicMessages", **wanted).get("messages", [])
    return found


def test_posts_appear_when_they_were_posted(snapshot: Snapshot) -> None:
    with served(snapshot, at=datetime(2020, 1, 4, 23, 59, tzinfo=UTC)) as it:
        assert topics(it) == []
        it.clock.pass_by(minutes=1)
        assert topics(it) == [1]
        assert [one["id"] for one in messages(it, 1)] == [11]
        it.clock.time = DEADLINE
        assert [one["id"] for one in messages(it, 1)] == [11, 12]
        it.clock.pass_by(seconds=1)
        assert [one["id"] for one in messages(it, 1)] == [11, 12, 13]
        assert (
            it.client.post(f"{COMPETITIONS}/ListTopicMessages", competitionName="tiny-table", topicId=2).status_code
            == 404
        )


def test_rows_without_a_time_are_never_shown(tmp_path: Path) -> None:
    rows = [message(11, 1, None), message(12, 1, "2020-01-02T00:00:00Z"), message(13, 2, "2020-01-02T00:00:00Z")]
    with served(forum(tmp_path, [topic(1), topic(2, None)], rows), at=datetime(2030, 1, 1, tzinfo=UTC)) as it:
        assert topics(it) == [1]
        assert [one["id"] for one in messages(it, 1)] == [12]


def test_an_edited_message_is_shown_from_its_edit_on_and_keeps_its_date(tmp_path: Path) -> None:
    rows = [message(11, 1, "2020-01-03T00:00:00Z", edited_at="2020-01-20T00:00:00Z")]
    with served(forum(tmp_path, [topic(1)], rows)) as it:
        assert messages(it, 1) == []
        it.clock.pass_by(days=10)
        assert messages(it, 1)[0]["postDate"].startswith("2020-01-03T00:00:00")


def test_a_deleted_message_shows_neither_text_nor_author(tmp_path: Path) -> None:
    rows = [message(11, 1, "2020-01-02T00:00:00Z"), message(12, 1, "2020-01-03T00:00:00Z", deleted=True)]
    with served(forum(tmp_path, [topic(1)], rows)) as it:
        gone = messages(it, 1)[1]
        assert gone["isDeleted"]
        assert {"content", "rawMarkdown", "authorName"} & set(gone) == set()
        assert "text 12" not in it.client.post(f"{DISCUSSIONS}/ListComments", topicId=1).text
        assert "text 12" not in it.client.post("search.SearchApiService/ListEntities", filters={"query": "topic"}).text


def test_replies_nest_as_deep_as_the_site_goes_and_no_further(tmp_path: Path) -> None:
    rows = [message(10, 1, "2020-01-02T00:00:00Z", author="ann")]
    rows += [message(11 + i, 1, f"2020-01-02T00:{i + 1:02d}:00Z", parent_id=10 + i) for i in range(6)]
    with served(forum(tmp_path, [topic(1)], rows), SiteSettings(reply_depth=2)) as it:
        [opening] = messages(it, 1)
        assert [one["id"] for one in opening["replies"]] == [11]
        assert [one["id"] for one in opening["replies"][0]["replies"]] == [12, 13, 14, 15, 16]


def test_a_reply_whose_parent_is_not_visible_stands_at_the_top(tmp_path: Path) -> None:
    rows = [message(11, 1, None), message(12, 1, "2020-01-03T00:00:00Z", parent_id=11)]
    rows += [message(13, 1, "2020-01-04T00:00:00Z", parent_id=14), message(14, 1, "2020-01-05T00:00:00Z", parent_id=13)]
    with served(forum(tmp_path, [topic(1)], rows)) as it:
        found = messages(it, 1)
        assert [one["id"] for one in found] == [12, 13]
        assert [one["id"] for one in found[1]["replies"]] == [14]


def test_votes_are_those_of_the_latest_reading_and_0_before_the_first(here: Served) -> None:
    here.clock.time = datetime(2020, 1, 7, tzinfo=UTC)
    assert "votes" not in messages(here, 1)[0]
    here.clock.pass_by(days=1)
    assert messages(here, 1)[0]["votes"] == 4


def test_topics_come_20_a_page_with_sticky_ones_first(tmp_path: Path) -> None:
    rows = [topic(number, f"2020-01-{number // 10 + 1:02d}T00:{number:02d}:00Z") for number in range(1, 46)]
    with served(forum(tmp_path, rows, []), SiteSettings(sticky_topics=2)) as it:
        pages = [topics(it, sortBy="TOPIC_LIST_SORT_BY_NEW", page=page, pageSize=5) for page in (1, 2, 3, 4)]
        assert [len(page) for page in pages] == [20, 20, 5, 0]
        assert pages[0][:3] == [2, 1, 45]
        assert len({one for page in pages for one in page}) == 45
        assert it.client.compete("ListCompetitionTopics", page=2)["totalCount"] == 45


@pytest.mark.parametrize(
    ("order", "expected"),
    [("NEW", [3, 2, 1]), ("RECENT", [1, 3, 2]), ("ACTIVE", [1, 2, 3]), ("TOP", [2, 1, 3]), (3, [3, 2, 1])],
)
def test_topics_come_in_the_order_that_is_asked_for(tmp_path: Path, order: str | int, expected: list[int]) -> None:
    rows = [topic(number, f"2020-01-0{number}T00:00:00Z") for number in (1, 2, 3)]
    posted = [message(10 + i, 1, f"2020-01-0{4 + i}T00:00:00Z") for i in range(3)]
    posted += [message(20, 2, "2020-01-02T00:00:00Z"), message(21, 2, "2020-01-02T01:00:00Z", author="bob")]
    readings = [
        {"target": "topic", "id": 2, "at": "2020-01-03T00:00:00Z", "votes": 9},
        {"target": "topic", "id": 1, "at": "2020-01-03T00:00:00Z", "votes": 5},
    ]
    wanted = f"TOPIC_LIST_SORT_BY_{order}" if isinstance(order, str) else order
    with served(forum(tmp_path, rows, posted, readings), SiteSettings(sticky_topics=0)) as it:
        assert topics(it, sortBy=wanted) == expected
        assert (
            it.client.post(
                f"{COMPETITIONS}/ListCompetitionTopics", competitionName="tiny-table", sortBy="X"
            ).status_code
            == 400
        )


def test_messages_are_ordered_and_limited_at_the_top_level(tmp_path: Path) -> None:
    rows = [message(10 + i, 1, f"2020-01-02T{i:02d}:00:00Z") for i in range(24)]
    rows += [message(40 + i, 1, f"2020-01-03T{i:02d}:00:00Z") for i in range(24)]
    readings = [{"target": "message", "id": 20, "at": "2020-01-03T00:00:00Z", "votes": 9}]
    with served(forum(tmp_path, [topic(1)], rows, readings)) as it:
        assert len(messages(it, 1)) == 30
        assert len(messages(it, 1, pageSize=-1)) == 48
        assert [one["id"] for one in messages(it, 1, pageSize=2, sortBy="COMMENT_LIST_SORT_BY_OLD")] == [10, 11]
        assert messages(it, 1, pageSize=1, sortBy="COMMENT_LIST_SORT_BY_HOT")[0]["id"] == 20


def test_a_message_is_html_and_sometimes_its_markdown_too(tmp_path: Path) -> None:
    rows = [message(i, 1, "2020-01-02T00:00:00Z", markdown="**bold** <script>x</script>") for i in range(10, 30)]
    with served(forum(tmp_path, [topic(1)], rows)) as it:
        found = messages(it, 1)
        assert {one["content"] for one in found} == {"<p><strong>bold</strong> &lt;script&gt;x&lt;/script&gt;</p>\n"}
        assert {one.get("rawMarkdown") for one in found} == {None, "**bold** <script>x</script>"}
        assert [one.get("rawMarkdown") for one in found] == [one.get("rawMarkdown") for one in messages(it, 1)]


def test_the_opening_post_may_be_left_out_of_the_messages(snapshot: Snapshot) -> None:
    with served(snapshot, SiteSettings(opening_post="left out")) as it:
        assert [one["id"] for one in messages(it, 1)] == [12]
        found = it.client.ask(f"{DISCUSSIONS}/GetTopic", id=1)["topic"]
        assert "standardised columns" in found["content"]
        assert found["commentCount"] == 1


def test_comments_are_paged_by_token(tmp_path: Path) -> None:
    rows = [message(10 + i, 1, f"2020-01-02T00:{i:02d}:00Z") for i in range(8)]
    with served(forum(tmp_path, [topic(1)], rows)) as it:
        seen, token = [], ""
        for _ in range(3):
            page = it.client.ask(f"{DISCUSSIONS}/ListComments", topicId=1, pageSize=3, pageToken=token)
            seen += [one["id"] for one in page["comments"]]
            token = page.get("nextPageToken", "")
        assert (seen, token) == ([11, 12, 13, 14, 15, 16, 17], "")
        assert it.client.post(f"{DISCUSSIONS}/ListComments", topicId=1, pageToken="x").status_code == 400


def test_a_topic_that_is_not_there_is_not_found(here: Served) -> None:
    assert here.client.post(f"{DISCUSSIONS}/GetTopic", id=99).status_code == 404


def test_ids_that_are_no_numbers_get_some_that_stay_the_same(tmp_path: Path) -> None:
    rows = [message("bsd-m001", "bsd-t01", "2020-01-02T00:00:00Z"), message(2**62, "bsd-t01", "2020-01-03T00:00:00Z")]
    with served(forum(tmp_path, [topic("bsd-t01"), topic("007", "2020-01-03T00:00:00Z")], rows)) as it:
        found = topics(it, sortBy="TOPIC_LIST_SORT_BY_NEW")
        assert set(found) == {wire_id("topic", "bsd-t01"), wire_id("topic", "007")}
        ids = [one["id"] for one in messages(it, wire_id("topic", "bsd-t01"))]
        assert ids == [wire_id("message", "bsd-m001"), wire_id("message", str(2**62))]
        assert all(2**60 <= one < 2**61 for one in [*found, *ids])
        assert wire_id("topic", "x") != wire_id("message", "x")


def test_everything_of_a_forum_can_be_read_back_row_by_row(snapshot: Snapshot) -> None:
    with served(snapshot, at=datetime(2021, 1, 1, tzinfo=UTC)) as it:
        seen = {}
        for number in topics(it):
            for one in messages(it, number, pageSize=-1):
                seen[one["id"]] = (number, one["authorName"], datetime.fromisoformat(one["postDate"]))
        rows = snapshot.community.messages
        assert seen == {
            wire_id("message", row.id): (wire_id("topic", row.topic_id), row.author, row.posted_at) for row in rows
        }

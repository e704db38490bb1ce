"""The search: votes, scores and tiers as they were last read, of what matches a title."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bot.simulator.site.identity import wire_id
from bot.simulator.site.settings import SiteSettings
from scrapers.snapshots.snapshot import Snapshot
from tests.bot.simulator.site.parts import KERNELS, SEARCH, Served, served
from tests.bot.simulator.site.test_kernel_methods import kernel, with_kernels


def find(it: Served, *types: str, query: str = "Tiny table", **body: Any) -> list[dict[str, Any]]:
    filters = {"query": query, "documentTypes": list(types)} | body.pop("filters", {})
    answer = it.client.ask(f"{SEARCH}/ListEntities", filters=filters, pageSize=100, **body)
    return [one for one in answer.get("documents", []) if one["documentType"] != "PLAYLIST"]


def test_a_kernels_best_score_and_tier_are_known_once_they_were_read(tmp_path: Path) -> None:
    rows = [
        kernel(1, "ann/one", 1, "2020-01-03T00:00:00Z"),
        kernel(2, "ann/one", 2, "2020-01-05T00:00:00Z"),
        kernel(3, "ann/two", 1, "2020-01-05T00:00:00Z"),
    ]
    readings = [
        {"target": "kernel", "id": 1, "at": "2020-01-03T00:00:00Z", "public_score": 0.4, "tier": "EXPERT"},
        {"target": "kernel", "id": 2, "at": "2020-01-12T00:00:00Z", "public_score": 0.5, "votes": 7, "tier": "MASTER"},
    ]
    with served(with_kernels(tmp_path, rows, readings)) as it:
        one, two = find(it, "KERNEL")
        assert (one["slug"], one["ownerUser"]["userName"], one["id"]) == ("one", "ann", wire_id("kernel", "ann/one"))
        assert one["kernelDocument"] == {"bestPublicScore": 0.4, "hasLinkedSubmission": True}
        assert {"tier"} & set(one["ownerUser"]) == set()
        assert two["kernelDocument"] == {}
        it.clock.time = datetime(2020, 1, 12, tzinfo=UTC)
        later = find(it, "KERNEL")[0]
        assert (later["votes"], later["ownerUser"]["tier"], later["kernelDocument"]["bestPublicScore"]) == (
            7,
            "MASTER",
            0.4,
        )


def test_a_kernel_that_leaves_its_competition_keeps_the_score_that_was_read(tmp_path: Path) -> None:
    readings = [{"target": "kernel", "id": 1, "at": "2020-01-03T00:00:00Z", "public_score": 0.4}]
    played = with_kernels(tmp_path, [kernel(1, "ann/one", 1, "2020-01-03T00:00:00Z")], readings)
    with served(played, SiteSettings(user_name="ann")) as it:
        pushed = {"slug": "ann/one", "newTitle": "Kernel one", "text": "print()", "kernelType": "script"}
        it.client.ask(f"{KERNELS}/SaveKernel", **pushed, isPrivate=False)
        [found] = find(it, "KERNEL", query="one")
    assert found["kernelDocument"]["bestPublicScore"] == 0.4


@pytest.mark.parametrize("kind", ["COMMENT", "DOCUMENT_TYPE_COMMENT"])
def test_types_are_taken_by_either_name(here: Served, kind: str) -> None:
    assert [one["id"] for one in find(here, kind)] == [12]


def test_topics_and_comments_say_where_they_belong(here: Served) -> None:
    [topic] = find(here, "TOPIC")
    document = topic["discussionDocument"]
    assert document["forumUrl"] == "https://www.kaggle.com/competitions/tiny-table/discussion"
    [comment] = find(here, "COMMENT")
    assert comment["discussionDocument"]["newCommentUrl"].endswith("/discussion/1#12")
    assert [one["id"] for one in find(here, "COMMENT", "TOPIC")] == [1, 12]


def test_it_knows_the_title_and_not_the_slug(here: Served) -> None:
    assert find(here, "KERNEL", query="tiny-table") == []
    assert find(here, "KERNEL", query="linear")
    assert find(here, "KERNEL", query="nothing like it") == []


def test_documents_are_ordered_and_paged(tmp_path: Path) -> None:
    rows = [kernel(number, f"ann/k{number}", 1, f"2020-01-0{number}T00:00:00Z") for number in range(1, 6)]
    with served(with_kernels(tmp_path, rows), SiteSettings(unknown_enums=False)) as it:
        newest = find(it, "KERNEL", canonicalOrderBy="LIST_SEARCH_CONTENT_ORDER_BY_DATE_UPDATED")
        assert [one["slug"] for one in newest] == ["k5", "k4", "k3", "k2", "k1"]
        wanted: dict[str, Any] = {"filters": {"query": "", "documentTypes": ["KERNEL"]}, "pageSize": 4}
        first = it.client.ask(f"{SEARCH}/ListEntities", **wanted)
        second = it.client.ask(f"{SEARCH}/ListEntities", **wanted, pageToken=first["nextPageToken"])
        assert (len(first["documents"]), len(second["documents"]), second["totalDocuments"]) == (4, 1, 5)


def test_a_kind_and_a_tier_that_no_client_knows_are_among_what_is_found(snapshot: Snapshot, here: Served) -> None:
    found = here.client.ask(f"{SEARCH}/ListEntities", filters={"query": "tiny"})["documents"]
    assert (found[-1]["documentType"], found[-1]["ownerUser"]["tier"]) == ("PLAYLIST", "LUMINARY")
    with served(snapshot, SiteSettings(unknown_enums=False)) as it:
        found = it.client.ask(f"{SEARCH}/ListEntities", filters={"query": "tiny"})["documents"]
        assert {one["documentType"] for one in found} == {"COMPETITION", "KERNEL", "TOPIC", "COMMENT"}

"""What the site shows at a time, against what the engine's own queries say may be known at that time."""

import asyncio
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.simulator.site.identity import wire_id
from bot.simulator.site.rendering import rendered
from scrapers.snapshots.demo import write_demo
from scrapers.snapshots.snapshot import Snapshot
from state.clock import SystemClock
from state.community import CommunityView
from state.community_rows import add_community
from state.store import Store
from tests import needs
from tests.bot.simulator.site.parts import KERNELS, SEARCH, Served, served
from tests.scrapers.in_process import rows_of


def messages(it: Served) -> dict[int, tuple[Any, ...]]:
    """Return every message that the site shows with its text: topic, author, HTML, votes."""
    found: dict[int, tuple[Any, ...]] = {}

    def note(topic: int, message: dict[str, Any]) -> None:
        if not message.get("isDeleted"):
            author, content = message.get("authorName"), message.get("content", "")
            found[message["id"]] = (topic, author, content, message.get("votes", 0))
        for reply in message.get("replies", ()):
            note(topic, reply)

    page = 1
    while topics := it.client.compete("ListCompetitionTopics", page=page).get("topics"):
        for topic in topics:
            messages = it.client.compete("ListTopicMessages", topicId=topic["id"], pageSize=-1).get("messages", [])
            for message in messages:
                note(topic["id"], message)
        page += 1
    return found


def documents(it: Served, kind: str) -> Iterator[dict[str, Any]]:
    token = ""
    while True:
        filters = {"query": it.competition.card.title, "documentTypes": [kind]}
        answer = it.client.ask(f"{SEARCH}/ListEntities", filters=filters, pageSize=100, pageToken=token)
        yield from (one for one in answer.get("documents", []) if one["documentType"] == kind)
        token = answer.get("nextPageToken", "")
        if not token:
            return


def check(it: Served, view: CommunityView) -> int:
    """Compare the site with the engine's view of the same time; return how many posts were compared."""
    posts = view.messages()
    assert messages(it) == {
        wire_id("message", post.id): (
            wire_id("topic", post.topic_id or ""),
            post.author,
            rendered(post.text) if post.text else "",
            post.votes or 0,
        )
        for post in posts
    }
    tiers = {wire_id("message", post.id): post.tier for post in posts}
    for one in documents(it, "COMMENT"):
        assert one["ownerUser"].get("tier") == tiers[one["id"]]
    versions = view.kernels()
    latest = {post.ref: post for post in versions}
    listed = it.client.ask(f"{KERNELS}/ListKernels", competition=it.client.slug, pageSize=100).get("kernels", [])
    assert {one["ref"]: (one["currentVersionNumber"], one.get("totalVotes", 0)) for one in listed} == {
        ref: (post.version, post.votes or 0) for ref, post in latest.items()
    }
    for post in versions:
        owner, slug = str(post.ref).split("/")
        body = {"userName": owner, "kernelSlug": slug, "versionLabel": f"v{post.version}"}
        assert it.client.ask(f"{KERNELS}/GetKernel", **body)["metadata"]["title"] == post.title
    for one in documents(it, "KERNEL"):
        post = latest[f"{one['ownerUser']['userName']}/{one['slug']}"]
        assert (one["ownerUser"].get("tier"), one.get("votes", 0)) == (post.tier, post.votes or 0)
    return len(posts) + len(versions)


def play(snapshot: Snapshot, folder: Path, moments: int) -> int:
    """Compare at that many moments from the beginning to a month after the deadline."""
    card = snapshot.card
    span = (card.deadline - card.enabled_at) + timedelta(days=30)
    with Store.open(folder / "state.db", SystemClock()) as store, served(snapshot, at=card.enabled_at) as it:
        with store.write() as tx:
            add_community(tx, card.slug, asyncio.run(rows_of(snapshot)))
        compared = 0
        for moment in range(moments):
            now: datetime = card.enabled_at + span * moment / (moments - 1)
            it.clock.time = now
            compared += check(it, CommunityView(store, card.slug, now))
        return compared


def test_the_small_snapshot_is_played_back_as_the_engine_may_know_it(snapshot: Snapshot, tmp_path: Path) -> None:
    assert play(snapshot, tmp_path, 12) > 20


@pytest.mark.integration
def test_the_demo_is_played_back_as_the_engine_may_know_it(tmp_path: Path) -> None:
    snapshot = Snapshot.load(write_demo(tmp_path / "demo"), METRIC_DIRECTIONS)
    assert play(snapshot, tmp_path, 25) > 300


@pytest.mark.integration
@pytest.mark.parametrize(
    "slug", ["spooky-author-identification", "bike-sharing-demand", "aerial-cactus-identification"]
)
def test_a_real_competition_is_played_back_as_the_engine_may_know_it(tmp_path: Path, slug: str) -> None:
    snapshot = Snapshot.load(needs.snapshots() / slug, METRIC_DIRECTIONS)
    assert play(snapshot, tmp_path, 12) > 300

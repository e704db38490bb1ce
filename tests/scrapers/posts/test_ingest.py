"""From raw posts to rows in the store: in order, whole, and known for what they repeat."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from scrapers.posts.cleaners import Cleaners, RawPost
from scrapers.posts.ingest import Raw, cleaned, ingest
from state.community import CommunityView, Repeat
from state.store import Store
from state.tables import CommunityRow, KernelVersion, Observation, PostedMessage, Topic
from tests.state.conftest import START, StandingClock

CODE = "\n".join(f"part_{n} = fit(data[{n}], depth={n % 7})" for n in range(40))
LATER = START + timedelta(days=9)


@pytest.fixture
async def cleaners() -> AsyncIterator[Cleaners]:
    async with Cleaners(2, seconds=30, program="tests.scrapers.deadly_cleaner") as running:
        yield running


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "state.db", StandingClock()) as opened:
        yield opened


def a_message(id: str, hour: float, text: str | None, **more: object) -> Raw:
    row = PostedMessage(competition="c", id=id, topic_id="1", posted_at=START + timedelta(hours=hour), **more)
    return Raw(row, None if text is None else RawPost("html", text))


def a_kernel(id: str, hour: float, author: str, text: str, kind: str = "script") -> Raw:
    at = START + timedelta(hours=hour)
    row = KernelVersion(competition="c", id=id, ref=f"{author}/{id}", author=author, created_at=at, kind=kind)
    return Raw(row, RawPost("kernel", text, "python", kind))


def some(code: str = "fit(x)", changed: str = "fit( x )") -> list[Raw]:
    cells = [{"cell_type": "code", "source": changed}]
    return [
        Raw(Topic(competition="c", id="1", title="Folds", posted_at=START)),
        a_message("10", 1, "<p>Use <b>folds</b></p>"),
        Raw(Observation(competition="c", target="message", target_id="10", at=START + timedelta(hours=2), votes=7)),
        a_kernel("20", 2, "ann", code),
        a_kernel("21", 3, "bob", json.dumps({"cells": cells}), "notebook"),
        a_message("11", 4, "<div>use   folds</div>"),
    ]


async def test_raw_posts_become_posts_that_can_be_read(store: Store, cleaners: Cleaners) -> None:
    assert await ingest(store, "c", some(), cleaners) == {}
    seen = CommunityView(store, "c", LATER)
    assert [(post.text, post.votes) for post in seen.messages()] == [("Use **folds**", 7), ("use folds", None)]
    assert [post.text for post in seen.kernels()] == ["fit(x)", "```python cell\nfit( x )\n```"]
    assert seen.repeats()["message/11"] == Repeat("message/10", 1.0)
    assert seen.repeats()["kernel/21"].original == "kernel/20"


@pytest.mark.integration  # seconds: the cleaners load numpy
async def test_a_notebook_that_nearly_repeats_a_script_is_views(store: Store, cleaners: Cleaners) -> None:
    await ingest(store, "c", some(CODE, CODE.replace("data[30]", "other[30]")), cleaners)
    seen = CommunityView(store, "c", LATER)
    assert seen.repeats()["kernel/21"].original == "kernel/20"
    assert 0.8 < seen.repeats()["kernel/21"].similarity < 1


async def test_an_ingest_that_is_done_again_changes_nothing(store: Store, cleaners: Cleaners) -> None:
    seen = CommunityView(store, "c", LATER)
    views = []
    for _ in range(2):
        await ingest(store, "c", some(), cleaners)
        views.append((seen.posts(), seen.repeats(), seen.counts()))
    assert views[0] == views[1]


@pytest.mark.integration
async def test_rows_come_in_order_however_long_each_takes(cleaners: Cleaners) -> None:
    def source() -> Iterator[Raw]:
        for n in range(300):
            yield a_message(str(n), n, "<p>" * 3_000 if n % 90 == 0 else f"<b>{n}</b>")
            yield Raw(Topic(competition="c", id=str(n)))

    rows: list[CommunityRow] = [ready.row async for chunk in cleaned(source(), cleaners) for ready in chunk]
    assert [row.id for row in rows if isinstance(row, PostedMessage)] == [str(n) for n in range(300)]
    assert [row.id for row in rows if isinstance(row, Topic)] == [str(n) for n in range(300)]
    assert all(row.markdown == f"**{row.id}**" for row in rows if isinstance(row, PostedMessage) and int(row.id) % 90)


@pytest.mark.integration
async def test_no_more_is_read_than_a_few_chunks_ahead(cleaners: Cleaners) -> None:
    taken = 0

    def source() -> Iterator[Raw]:
        nonlocal taken
        for n in range(10_000):
            taken += 1
            yield a_message(str(n), n, "x" * 50_000)

    rows = cleaned(source(), cleaners)
    await anext(rows)
    await asyncio.sleep(0.2)
    assert taken < 40
    await rows.aclose()


@pytest.mark.integration
async def test_a_post_that_ends_its_cleaner_is_stored_cut_down_and_named(store: Store, cleaners: Cleaners) -> None:
    raws = [a_message("10", 1, "<b>a</b>"), a_message("11", 2, "<b>DIE</b>"), a_message("12", 3, "<b>c</b>")]
    topic = Raw(Topic(competition="c", id="1", posted_at=START))
    problems = await ingest(store, "c", [topic, *raws], cleaners)
    assert list(problems) == ["message/11"]
    assert [post.text for post in CommunityView(store, "c", LATER).messages()] == ["**a**", "<b>DIE</b>", "**c**"]


async def test_a_message_that_was_deleted_comes_without_a_text(store: Store, cleaners: Cleaners) -> None:
    await ingest(store, "c", some(), cleaners)
    await ingest(store, "c", [a_message("10", 1, None, deleted=True)], cleaners)
    seen = CommunityView(store, "c", LATER)
    assert [post.id for post in seen.messages()] == ["11"]
    assert "message/11" not in seen.repeats()


async def test_what_was_stored_before_a_source_failed_stays(store: Store, cleaners: Cleaners) -> None:
    def source() -> Iterator[Raw]:
        for n in range(4_100):
            yield Raw(Topic(competition="c", id=str(n), posted_at=START))
        raise ConnectionError("the site is gone")

    with pytest.raises(ConnectionError):
        await ingest(store, "c", source(), cleaners)
    stored = CommunityView(store, "c", LATER).counts().topics
    assert stored >= 2_000 and stored % 400 == 0


async def test_an_ingest_that_is_cancelled_leaves_whole_chunks(store: Store, cleaners: Cleaners) -> None:
    def source() -> Iterator[Raw]:
        n = 0
        while True:
            yield Raw(Topic(competition="c", id=str(n), posted_at=START))
            n += 1

    task = asyncio.create_task(ingest(store, "c", source(), cleaners))
    while CommunityView(store, "c", LATER).counts().topics < 800:
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert CommunityView(store, "c", LATER).counts().topics % 400 == 0
    with store.write() as tx:
        assert tx.now() == START

"""Kernels: how far down the list is read, votes, and kernels that are gone."""

import json
from datetime import timedelta

import httpx2
import pytest
from sqlmodel import select

from scrapers.kaggle.polling.poller import Poller
from scrapers.kaggle.polling.settings import PollingSettings
from scrapers.kaggle.wire import wire_time
from state.community import CommunityView
from state.errors import SiteUnavailable, UnknownAnswer
from state.store import Store
from state.tables import KernelVersion, Observation, PolledKernel
from tests.scrapers.kaggle.parts import START, answer
from tests.scrapers.kaggle.polling.world import SLUG, World, down, missing, poller_of


def versions(store: Store) -> dict[str, KernelVersion]:
    with store.read() as session:
        return {row.id: row for row in session.exec(select(KernelVersion))}


def asked(world: World) -> list[str | None]:
    """Return the labels of the versions that were asked for since the last time."""
    found = [body.get("versionLabel") for method, body in world.asked if method == "GetKernel"]
    world.asked.clear()
    return found


async def poll(poller: Poller) -> list[str]:
    await poller.poll(SLUG, "kernels")
    return (await poller.poll(SLUG, "sources")).ids("version new")


async def test_a_version_is_stored_with_its_text_its_raw_source_and_its_time(world, store, poller) -> None:
    cells = [
        {"cell_type": "markdown", "source": "# Trees"},
        {"cell_type": "code", "source": ["import x\n", "x.fit()"], "outputs": []},
    ]
    source = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4})
    kernel = world.kernel(1, minutes=5, kind="notebook", votes=4)
    kernel.versions[0] = (kernel.versions[0][0], source)
    assert await poll(poller) == ["1/v1"]
    row = versions(store)["1/v1"]
    assert row.text == "# Trees\n\n```python cell\nimport x\nx.fit()\n```"
    assert store.blob(row.raw_sha or "").decode() == source
    assert (row.ref, row.version, row.title, row.author) == ("ann/kernel-1", 1, "kernel-1", "Ann")
    assert (row.created_at, row.first_seen_at) == (START + timedelta(minutes=5), world.clock.now())
    assert (row.kind, row.language, row.votes) == ("notebook", "python", 4)
    assert asked(world) == ["v1"]


async def test_only_what_was_run_is_read_again(world: World, store: Store, poller: Poller) -> None:
    for id in (1, 2):
        world.kernel(id, minutes=id)
    assert await poll(poller) == ["2/v1", "1/v1"]
    assert await poll(poller) == []
    asked(world)
    world.run(1, "print('again')", minutes=9)
    assert await poll(poller) == ["1/v2"]
    assert asked(world) == ["v2"]
    assert [versions(store)[id].text for id in ("1/v1", "1/v2")] == ["print(1)", "print('again')"]


async def test_of_many_kernels_only_the_promising_are_read_and_so_many_a_day(world: World, store: Store) -> None:
    world.page_size = 1_000
    for id in range(400):
        world.kernel(id + 1, minutes=id)
    for id, votes in ((7, 30), (8, 20), (9, 10), (10, 5)):
        world.kernels[id].votes = votes
    for id, score in ((50, 0.1), (51, 0.2), (52, 0.9)):
        world.kernels[id].score = score
    world.board = [(1, "ann", 0.1), (2, "bob", 0.9)]  # lower is better
    settings = PollingSettings(top_kernels=2, newest_kernels=2, max_kernels_per_day=4)
    async with poller_of(world, store, settings) as poller:
        for part in ("top", "kernels", "scores"):
            await poller.poll(SLUG, part)
        first = (await poller.poll(SLUG, "sources")).ids("version new")
        assert first == ["400/v1", "50/v1", "7/v1", "399/v1"], "the newest, the best, the most voted, and the next"
        assert (await poller.poll(SLUG, "sources")).ids("version new") == []
        world.clock.advance(86_400)
        assert (await poller.poll(SLUG, "sources")).ids("version new") == ["51/v1", "8/v1"]
        world.clock.advance(86_400)
        assert (await poller.poll(SLUG, "sources")).ids("version new") == []
        world.kernels[10].votes = 50
        await poller.poll(SLUG, "kernel_sweep")
        assert (await poller.poll(SLUG, "sources")).ids("version new") == ["10/v1"], "it has become promising"


async def test_versions_that_were_missed_are_dated_with_when_they_were_found_and_never_pass_for_the_latest(
    world: World, store: Store, poller: Poller
) -> None:
    world.kernel(1)
    await poll(poller)
    for number in (2, 3, 4):
        world.run(1, f"version {number}", minutes=number)
    world.kernels[1].hidden.add(2)
    world.clock.advance(86_400)
    asked(world)
    assert await poll(poller) == ["1/v3", "1/v4"]
    assert asked(world) == ["v2", "v3", "v4"]
    found = versions(store)
    assert (found["1/v3"].text, found["1/v3"].created_at) == ("version 3", world.clock.now())
    assert found["1/v4"].created_at == START + timedelta(minutes=4)
    posts = CommunityView(store, SLUG, world.clock.now()).posts()
    assert [(post.version, post.text) for post in posts] == [(4, "version 4")]


async def test_of_kernels_that_were_there_before_only_the_current_version_is_read(world, store, poller) -> None:
    world.kernel(1)
    world.run(1, "second", minutes=1)
    world.kernel(2)
    await poller.poll(SLUG, "kernels")
    world.run(2, "second", minutes=2)
    # Of the second one, the first version was the current one when it was first seen.
    assert await poll(poller) == ["2/v1", "2/v2", "1/v2"]
    world.kernel(3, minutes=3)
    world.run(3, "second", minutes=4)
    assert await poll(poller) == ["3/v1", "3/v2"]


async def test_of_many_missed_versions_the_last_ones_are_read(world: World, store: Store) -> None:
    async with poller_of(world, store, PollingSettings(max_missed_versions=2)) as poller:
        world.kernel(1)
        await poll(poller)
        for number in range(2, 9):
            world.run(1, f"version {number}", minutes=number)
        assert await poll(poller) == ["1/v6", "1/v7", "1/v8"]


async def test_a_number_missing_from_lists_comes_with_the_source(world: World, store: Store, poller: Poller) -> None:
    world.numbers_listed = False
    world.kernel(1)
    assert await poll(poller) == ["1/v1"]
    for number in (2, 3):
        world.run(1, f"version {number}", minutes=number)
    asked(world)
    assert await poll(poller) == ["1/v2", "1/v3"]
    assert asked(world) == [None, "v2"]
    assert await poll(poller) == []


async def test_an_error_between_two_versions_loses_nothing_and_repeats_no_version(world, store, poller) -> None:
    world.kernel(1)
    await poll(poller)
    for number in (2, 3, 4):
        world.run(1, f"version {number}", minutes=number)

    def break_down(method: str, body: dict[str, object]) -> None:
        if body.get("versionLabel") == "v3":
            world.before = lambda method, body: None
            world.bad[method] = [down]

    world.before = break_down
    await poller.poll(SLUG, "kernels")
    with pytest.raises(SiteUnavailable):
        await poller.poll(SLUG, "sources")
    assert set(versions(store)) == {"1/v1", "1/v2"}
    world.clock.advance(1)
    asked(world)
    assert await poll(poller) == ["1/v3", "1/v4"]
    assert asked(world) == ["v3", "v4"]


async def test_a_kernel_that_cannot_be_read_keeps_no_other_from_being_read(world, store, poller) -> None:
    for id in (1, 2):
        world.kernel(id, minutes=id)
    await poller.poll(SLUG, "kernels")
    taken = world.kernels.pop(2)
    assert (await poller.poll(SLUG, "sources")).ids("version new") == ["1/v1"]
    asked(world)
    await poller.poll(SLUG, "sources")
    assert asked(world) == []
    world.kernels[2] = taken
    world.clock.advance(3600)
    assert (await poller.poll(SLUG, "sources")).ids("version new") == ["2/v1"]


async def test_an_answer_without_a_source_is_no_version(world: World, store: Store, poller: Poller) -> None:
    world.kernel(1)
    world.bad["GetKernel"] = [answer({})]
    assert await poll(poller) == []
    assert versions(store) == {}
    world.clock.advance(3600)
    assert await poll(poller) == ["1/v1"]


async def test_a_kernel_with_a_new_address_stays_one_kernel(world: World, store: Store, poller: Poller) -> None:
    world.kernel(1)
    await poll(poller)
    world.kernels[1].ref = "ann/better-name"
    world.run(1, "second", minutes=1)
    assert await poll(poller) == ["1/v2"]
    assert {row.ref for row in versions(store).values()} == {"ann/better-name"}
    assert [post.version for post in CommunityView(store, SLUG, world.clock.now() + timedelta(hours=1)).posts()] == [2]


async def test_a_number_that_the_site_does_not_know_is_left_out(world: World, store: Store, poller: Poller) -> None:
    world.kernel(1)
    world.bad["GetKernel"] = [missing]
    assert await poll(poller) == ["1/v1"]
    assert asked(world) == ["v1", None]


def known(store: Store) -> dict[str, PolledKernel]:
    with store.read() as session:
        return {row.id: row for row in session.exec(select(PolledKernel))}


def votes(store: Store, id: str) -> list[int | None]:
    with store.read() as session:
        query = select(Observation).where(Observation.target == "kernel", Observation.target_id == id)
        return [row.votes for row in session.exec(query.order_by(Observation.pk)) if row.votes is not None]


def pages(world: World) -> list[int]:
    asked = [body["page"] for method, body in world.asked if method == "ListKernels"]
    world.asked.clear()
    return asked


async def test_all_pages_are_read_at_first_and_then_until_one_is_older_than_the_watermark(world, store, poller) -> None:
    for id in range(1, 46):
        world.kernel(id, minutes=id)
    await poller.poll(SLUG, "kernels")
    assert pages(world) == [1, 2, 3, 4]
    assert len(known(store)) == 45
    assert not (await poller.poll(SLUG, "kernels")).ids_by_kind
    assert pages(world) == [1]
    for id in range(1, 26):
        world.run(id, "new", minutes=100 + id)
    assert len((await poller.poll(SLUG, "kernels")).ids("kernel moved")) == 25
    assert pages(world) == [1, 2]


async def test_an_error_between_two_pages_loses_nothing_and_repeats_nothing(world, store, poller) -> None:
    for id in range(1, 46):
        world.kernel(id, minutes=id)

    def break_down(method: str, body: dict[str, object]) -> None:
        if body.get("page") == 3:
            world.before = lambda method, body: None
            world.bad[method] = [down]

    world.before = break_down
    with pytest.raises(SiteUnavailable):
        await poller.poll(SLUG, "kernels")
    assert len(known(store)) == 40
    world.clock.advance(1)
    pages(world)
    await poller.poll(SLUG, "kernels")
    assert pages(world) == [3, 4]
    assert len(known(store)) == 45


async def test_a_token_that_is_good_no_more_begins_the_list_anew(world: World, store: Store, poller: Poller) -> None:
    kernel = world.kernel(1).shown()
    world.kernel(2, minutes=1)
    expired = httpx2.Response(400, json={"code": 400, "message": "Invalid page token"})
    world.bad["ListKernels"] = [
        lambda: httpx2.Response(200, json={"kernels": [kernel], "nextPageToken": "abc"}),
        lambda: expired,
    ]
    with pytest.raises(UnknownAnswer, match="page token"):
        await poller.poll(SLUG, "kernels")
    world.asked.clear()
    await poller.poll(SLUG, "kernels")
    assert [(body.get("page"), body.get("pageToken")) for _, body in world.asked] == [(1, None), (2, None)]
    assert set(known(store)) == {"1", "2"}


async def test_where_the_order_does_not_hold_all_pages_are_read(world: World, store: Store, poller: Poller) -> None:
    for id in range(1, 31):
        world.kernel(id, minutes=id)
    await poller.poll(SLUG, "kernels")
    pages(world)
    jumbled = [kernel.shown() for kernel in world.kernels.values()][:20]
    world.bad["ListKernels"] = [lambda: httpx2.Response(200, json={"kernels": jumbled})]
    await poller.poll(SLUG, "kernels")
    assert pages(world)[:2] == [1, 2]


async def test_private_kernels_are_left_alone(world: World, store: Store, poller: Poller) -> None:
    own = {"id": 9, "ref": "me/mine", "isPrivate": True, "lastRunTime": wire_time(START)}
    world.bad["ListKernels"] = [lambda: httpx2.Response(200, json={"kernels": [own]})]
    await poller.poll(SLUG, "kernels")
    assert known(store) == {}


@pytest.mark.integration
async def test_votes_are_kept_where_they_differ_and_those_of_old_kernels_found_by_the_sweep(world, store, poller):
    for id in range(1, 31):
        world.kernel(id, minutes=id, votes=2)
    for part in ("kernels", "sources", "kernels"):
        await poller.poll(SLUG, part)
    assert (votes(store, "1/v1"), votes(store, "30/v1")) == ([2], [2])
    world.kernels[1].votes = world.kernels[30].votes = 5
    await poller.poll(SLUG, "kernels")
    assert (votes(store, "1/v1"), votes(store, "30/v1")) == ([2], [2, 5])
    await poller.poll(SLUG, "kernel_sweep")
    assert (votes(store, "1/v1"), votes(store, "30/v1")) == ([2, 5], [2, 5])


async def test_a_kernel_that_is_gone_is_asked_for_once_and_may_come_back(world, store, poller) -> None:
    kernel = world.kernel(1)
    world.kernel(2)
    await poller.poll(SLUG, "kernels")
    del world.kernels[1]
    world.asked.clear()
    assert (await poller.poll(SLUG, "kernel_sweep")).ids("kernel gone") == ["ann/kernel-1"]
    assert known(store)["1"].gone_at == world.clock.now()
    await poller.poll(SLUG, "kernel_sweep")
    assert world.methods().count("GetKernel") == 1
    assert (await poller.poll(SLUG, "sources")).ids("version new") == ["2/v1"]
    world.kernels[1] = kernel
    assert (await poller.poll(SLUG, "kernels")).ids("kernel back") == ["ann/kernel-1"]
    assert (await poller.poll(SLUG, "sources")).ids("version new") == ["1/v1"]

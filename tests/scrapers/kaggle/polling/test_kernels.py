"""Kernels: how far down the list is read, votes, and kernels that are gone."""

import httpx2
import pytest
from sqlmodel import select

from scrapers.kaggle.polling.poller import Poller
from scrapers.kaggle.wire import wire_time
from state.errors import SiteUnavailable, UnknownAnswer
from state.store import Store
from state.tables import Observation, PolledKernel
from tests.scrapers.kaggle.parts import START
from tests.scrapers.kaggle.polling.world import SLUG, World, down


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
    assert not await poller.poll(SLUG, "kernels")
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

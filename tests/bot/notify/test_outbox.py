"""Notices: at least once, oldest first, never after a confirmation, and none in the way of another."""

import asyncio
import itertools
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlmodel import select

from bot.notify import Notice, Receipt
from bot.notify.outbox import NO_RUN, Delivered, DeliverySettings, deliver, notify, pause
from state.store import Store
from state.tables import Notification
from tests.bot.submission.parts import Fate, HurriedClock, Killed, MortalStore
from tests.scripted_site import ScriptedSite
from tests.site_submitter import SiteNotifier, plain_client

SETTINGS = DeliverySettings(first_pause=10, longest_pause=100, seconds=5)


@pytest.fixture
def clock() -> HurriedClock:
    return HurriedClock()


@pytest.fixture
def store(tmp_path: Path, clock: HurriedClock) -> Iterator[Store]:
    with Store.open(tmp_path / "state.db", clock) as opened:
        yield opened


def tell(store: Store, *keys: str, run_id: str | None = None) -> None:
    for key in keys:
        with store.write() as tx:
            notify(tx, Notice(key, "submission.refused", "Refused", f"The site refused {key}.", run_id))


async def go(store: Store, site: ScriptedSite) -> Delivered:
    async with plain_client() as client:
        return await deliver(store, SiteNotifier(client, site.url), store.clock, SETTINGS)


def rows(store: Store) -> list[Notification]:
    with store.read() as session:
        return list(session.exec(select(Notification)).all())


async def test_notices_go_out_oldest_first_and_once(store: Store) -> None:
    tell(store, "a", "b", "c")
    with ScriptedSite() as site:
        assert await go(store, site) == Delivered(sent=3, failed=0)
        assert await go(store, site) == Delivered(sent=0, failed=0)
    assert site.tags() == ["a", "b", "c"]


def test_a_key_that_is_known_is_not_told_again(store: Store) -> None:
    tell(store, "a", "a")
    assert [row.key for row in rows(store)] == ["a"]


def test_a_notice_appears_with_what_it_tells_of_or_not_at_all(store: Store) -> None:
    with pytest.raises(Killed), store.write() as tx:
        notify(tx, Notice("a", "run.ended", "Over", ""))
        raise Killed
    assert rows(store) == []


async def test_what_becomes_of_a_notice_is_told_by_events(store: Store, clock: HurriedClock) -> None:
    tell(store, "a", run_id="r")
    tell(store, "b")
    with ScriptedSite(["500"]) as site:
        await go(store, site)
        clock.pass_by(10)
        await go(store, site)
    told = [(e["type"], e["key"]) for e in store.export_events("r")]
    assert told == [("notification.added", "a"), ("notification.failed", "a"), ("notification.sent", "a")]
    assert [e["type"] for e in store.export_events(NO_RUN)] == ["notification.added", "notification.sent"]


async def test_one_that_fails_keeps_no_other_waiting_and_is_tried_later_and_later(
    store: Store, clock: HurriedClock
) -> None:
    tell(store, "a", "b")
    with ScriptedSite(["500", "accept", "refuse", "stall", "accept"]) as site:
        assert await go(store, site) == Delivered(sent=1, failed=1)
        assert rows(store)[0].last_error == "the site answered 500: Internal error"
        tried = [clock.now()]
        for _ in range(200):
            clock.pass_by(1)
            if (await go(store, site)) != Delivered(0, 0):
                tried.append(clock.now())
    assert site.tags() == ["b", "a"]
    assert [(b - a).total_seconds() for a, b in itertools.pairwise(tried)] == [10, 20, 40]
    (a, b) = rows(store)
    assert (a.attempts, a.last_error, a.sent_at, b.attempts) == (4, None, tried[-1], 1)


async def test_killed_at_any_boundary_it_comes_at_least_once_under_one_key(tmp_path: Path) -> None:
    doubled, at, died = 0, 0, True
    while died:
        clock = HurriedClock()
        fate, died = Fate(at), False
        with MortalStore.open(tmp_path / f"{at}.db", clock) as store, ScriptedSite() as site:
            tell(store, "a", "b")
            store.fate = fate
            try:
                await go(store, site)
            except Killed:
                died = True
            store.fate = Fate()
            clock.pass_by(SETTINGS.seconds + SETTINGS.first_pause)
            await go(store, site)
            assert await go(store, site) == Delivered(0, 0)
            assert set(site.tags()) == {"a", "b"}
            assert len(site.tags()) <= 3
            doubled += len(site.tags()) == 3
        at += 1
    assert at == 13, "twelve boundaries, and a life without a death"
    assert doubled == 4, "a kill between the act and its committed confirmation, for each of two"


async def test_a_notice_that_kills_the_process_is_not_the_first_of_the_next_one(store: Store) -> None:
    class Deadly:
        def __init__(self) -> None:
            self.sent: list[str] = []

        async def send(self, event: Notice) -> Receipt:
            if event.key == "a":
                raise Killed
            self.sent.append(event.key)
            return Receipt()

    tell(store, "a", "b")
    notifier = Deadly()
    with pytest.raises(Killed):
        await deliver(store, notifier, store.clock, SETTINGS)
    assert await deliver(store, notifier, store.clock, SETTINGS) == Delivered(sent=1, failed=0)
    assert notifier.sent == ["b"]


async def test_two_that_deliver_at_once_send_each_notice_once(store: Store) -> None:
    tell(store, *"abcdef")
    with ScriptedSite() as site:
        done = await asyncio.gather(*(go(store, site) for _ in range(3)))
    assert sum(one.sent for one in done) == 6
    assert sorted(site.tags()) == list("abcdef")


async def test_a_clock_that_was_put_back_holds_no_notice_for_ever(store: Store, clock: HurriedClock) -> None:
    tell(store, "a")
    clock.time -= timedelta(days=1)
    with ScriptedSite() as site:
        assert await go(store, site) == Delivered(sent=1, failed=0)


@given(st.integers(1, 10**6))
def test_a_pause_grows_to_its_bound(attempts: int) -> None:
    now, then = pause(attempts, SETTINGS), pause(attempts + 1, SETTINGS)
    assert SETTINGS.first_pause <= now <= then <= SETTINGS.longest_pause

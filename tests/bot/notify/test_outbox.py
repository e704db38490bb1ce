"""Notices: at least once, oldest first, never after a confirmation, and none in the way of another."""

import asyncio
import itertools
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlmodel import select

from bot.notify import Notice
from bot.notify.outbox import NO_RUN, Delivered, deliver, notify
from bot.notify.settings import NotifySection
from state.clock import FastClock
from state.errors import NotificationFailed
from state.store import Store
from state.tables import Letter, LetterPart, Notification
from tests.bot.submission.parts import Fate, HurriedClock, Killed, MortalStore
from tests.scripted_site import ScriptedSite
from tests.site_submitter import SiteNotifier, plain_client

SETTINGS = NotifySection(per_hour=100, first_pause=10, longest_pause=100, seconds=5)


@pytest.fixture
def clock() -> HurriedClock:
    return HurriedClock()


@pytest.fixture
def store(tmp_path: Path, clock: HurriedClock) -> Iterator[Store]:
    with Store.open(tmp_path / "state.db", clock) as opened:
        yield opened


def refusal(tag: str) -> Notice:
    return Notice("submission.refused", "", {"tag": tag, "node": 1, "words": f"No {tag}."})


def key(tag: str) -> str:
    return f"submission.refused/{tag}"


def keys(tags: str) -> list[str]:
    return [key(tag) for tag in tags]


def add_notices(store: Store, *tags: str, run_id: str | None = None) -> None:
    for tag in tags:
        with store.write() as tx:
            notify(tx, refusal(tag), run_id)


async def go(store: Store, site: ScriptedSite) -> Delivered:
    async with plain_client() as client:
        return await deliver(store, {"SITE": SiteNotifier(client, site.url)}, store.clock, SETTINGS)


def rows(store: Store) -> list[Notification]:
    with store.read() as session:
        return list(session.exec(select(Notification)).all())


def letters(store: Store) -> list[Letter]:
    with store.read() as session:
        return list(session.exec(select(Letter)).all())


async def test_notices_go_out_oldest_first_and_once(store: Store) -> None:
    add_notices(store, "a", "b", "c")
    with ScriptedSite() as site:
        assert await go(store, site) == Delivered(3, 0)
        assert await go(store, site) == Delivered(0, 0)
    assert site.tags() == keys("abc")


def test_a_known_key_is_no_new_notice(store: Store) -> None:
    add_notices(store, "a", "a")
    assert [row.key for row in rows(store)] == keys("a")


def test_a_notice_appears_with_what_it_reports_or_not_at_all(store: Store) -> None:
    with pytest.raises(Killed), store.write() as tx:
        notify(tx, refusal("a"))
        raise Killed
    assert rows(store) == []


async def test_what_becomes_of_a_notice_is_in_the_events(store: Store, clock: HurriedClock) -> None:
    add_notices(store, "a", run_id="r")
    add_notices(store, "b")
    with ScriptedSite(["500"]) as site:
        await go(store, site)
        clock.pass_by(10)
        await go(store, site)
    events = [(e["type"], e["key"]) for e in store.export_events("r")]
    assert events == [(f"notification.{came}", key("a")) for came in ("added", "failed", "sent")]
    assert [e["type"] for e in store.export_events(NO_RUN)] == ["notification.added", "notification.sent"]


@pytest.mark.integration
async def test_one_that_fails_keeps_no_other_waiting_and_is_tried_later_and_later(store, clock) -> None:
    add_notices(store, "a", "b")
    with ScriptedSite(["500", "accept", "refuse", "stall", "accept"]) as site:
        assert await go(store, site) == Delivered(1, 1)
        assert letters(store)[0].last_error == "the site answered 500: Internal error"
        tried = [clock.now()]
        for _ in range(40):
            clock.pass_by(5)
            if (await go(store, site)) != Delivered(0, 0):
                tried.append(clock.now())
    assert site.tags() == keys("ba")
    assert [(b - a).total_seconds() for a, b in itertools.pairwise(tried)] == [10, 20, 40]
    (a, b) = letters(store)
    assert (a.attempts, a.last_error, a.sent_at, b.attempts) == (4, None, tried[-1], 1)


@pytest.mark.integration
async def test_killed_at_any_boundary_it_comes_at_least_once_under_one_key(tmp_path: Path) -> None:
    doubled, at, died = 0, 0, True
    Store.open(tmp_path / "new.db", HurriedClock()).close()
    new = (tmp_path / "new.db").read_bytes()
    while died:
        clock = HurriedClock()
        (tmp_path / f"{at}.db").write_bytes(new)
        fate, died = Fate(at), False
        with MortalStore.open(tmp_path / f"{at}.db", clock) as store, ScriptedSite() as site:
            add_notices(store, "a", "b")
            store.fate = fate
            try:
                await go(store, site)
            except Killed:
                died = True
            store.fate = Fate()
            clock.pass_by(SETTINGS.seconds + SETTINGS.first_pause)
            await go(store, site)
            assert await go(store, site) == Delivered(0, 0)
            assert set(site.tags()) == {*keys("ab")}
            assert len(site.tags()) <= 3
            doubled += len(site.tags()) == 3
        at += 1
    assert at == 19, "eighteen boundaries, and a life without a death"
    assert doubled == 4, "a kill between the act and its committed confirmation, for each of two"


async def test_a_notice_that_kills_the_process_is_not_the_first_of_the_next_one(store: Store) -> None:
    class Deadly:
        def __init__(self) -> None:
            self.sent: list[str] = []

        async def send(self, letter: Letter) -> None:
            if letter.key == key("a"):
                raise Killed
            self.sent.append(letter.key)

    add_notices(store, "a", "b")
    notifier = Deadly()
    with pytest.raises(Killed):
        await deliver(store, {"SITE": notifier}, store.clock, SETTINGS)
    assert await deliver(store, {"SITE": notifier}, store.clock, SETTINGS) == Delivered(1, 0)
    assert notifier.sent == keys("b")


async def test_a_clock_that_was_put_back_holds_no_notice_for_ever(store: Store, clock: HurriedClock) -> None:
    add_notices(store, "a")
    clock.time -= timedelta(days=1)
    with ScriptedSite() as site:
        assert await go(store, site) == Delivered(1, 0)


class Recorder:
    """A service that keeps what it takes, and takes nothing while it is down."""

    def __init__(self) -> None:
        self.took: list[Letter] = []
        self.down = False

    async def send(self, letter: Letter) -> None:
        if self.down:
            raise NotificationFailed("it is down")
        self.took.append(letter)

    def keys(self) -> list[str]:
        return [letter.key for letter in self.took]


async def test_a_service_that_is_down_keeps_no_other_waiting_and_gets_it_all_later(store, clock) -> None:
    slack, mail = Recorder(), Recorder()
    mail.down = True
    add_notices(store, "a", "b")
    for _ in range(30):
        await deliver(store, {"SLACK": slack, "MAIL": mail}, clock, SETTINGS)
        clock.pass_by(20)
    assert slack.keys() == keys("ab")
    assert all(row.sent_at is None for row in rows(store))
    mail.down = False
    clock.pass_by(200)
    await deliver(store, {"SLACK": slack, "MAIL": mail}, clock, SETTINGS)
    assert mail.keys() == keys("ab")
    assert slack.keys() == keys("ab"), "nothing twice to the other"
    assert all(row.sent_at == clock.now() for row in rows(store))


@pytest.mark.integration
async def test_what_piles_up_while_a_service_is_down_comes_together(store: Store, clock: HurriedClock) -> None:
    mail, settings = Recorder(), SETTINGS.model_copy(update={"per_hour": 5, "longest_pause": 3600.0})
    mail.down = True
    tags = [f"n{number:03}" for number in range(60)]
    for tag in tags:
        add_notices(store, tag)
        await deliver(store, {"MAIL": mail}, clock, settings)
        clock.pass_by(600)
    mail.down = False
    took: list[int] = []
    for _ in range(40):
        took.append((await deliver(store, {"MAIL": mail}, clock, settings)).sent_count)
        clock.pass_by(600)
    assert max(sum(took[i : i + 6]) for i in range(len(took))) <= 5
    assert len(mail.took) < 20
    text = "\n".join(letter.body for letter in mail.took)
    assert all(f"No {tag}." in text for tag in tags)
    assert all(row.sent_at for row in rows(store))


async def test_a_digest_survives_a_restart_and_is_sent_once(tmp_path: Path, clock: HurriedClock) -> None:
    settings = SETTINGS.model_copy(update={"digest": ("submission.refused",), "digest_hours": (8,)})
    mail = Recorder()
    for number in range(12):
        with Store.open(tmp_path / "bot.db", clock) as store:
            with store.write() as tx:
                notify(tx, refusal(str(number // 2)))
            await deliver(store, {"MAIL": mail}, clock, settings)
        clock.pass_by(3600)
    (digest,) = mail.took
    assert digest.title == "4 notices: submission.refused ×4"
    assert digest.body.splitlines()[1].endswith("No 0.")


async def test_a_service_that_is_no_longer_configured_holds_nothing_up(store: Store, clock: HurriedClock) -> None:
    slack, mail = Recorder(), Recorder()
    mail.down = True
    add_notices(store, "a")
    await deliver(store, {"SLACK": slack, "MAIL": mail}, clock, SETTINGS)
    await deliver(store, {"SLACK": slack}, clock, SETTINGS)
    assert [row.sent_at for row in rows(store)] == [clock.now()]
    assert await deliver(store, {}, clock, SETTINGS) == Delivered(0, 0)


async def test_every_notice_is_in_one_letter_to_each_service(store: Store, clock: HurriedClock) -> None:
    services = {"SLACK": Recorder(), "MAIL": Recorder()}
    add_notices(store, *"abcde")
    await asyncio.gather(*(deliver(store, services, clock, SETTINGS) for _ in range(4)))
    with store.read() as session:
        parts = session.exec(select(LetterPart)).all()
    assert len(parts) == 10
    assert [service.keys() for service in services.values()] == [keys("abcde")] * 2


async def test_on_a_rehearsals_fast_clock_a_digest_comes_at_its_hour(tmp_path: Path) -> None:
    clock, mail = FastClock(datetime(2026, 1, 1, tzinfo=UTC), speed=100_000), Recorder()
    settings = NotifySection(digest=("submission.refused",), digest_hours=(8,))
    with Store.open(tmp_path / "bot.db", clock) as store:
        with store.write() as tx:
            notify(tx, refusal("a"))
        while not mail.took:
            early = clock.now()
            await deliver(store, {"MAIL": mail}, clock, settings)
            await clock.sleep(600)
        (row,) = rows(store)
    assert row.sent_at is not None
    opened = datetime(2026, 1, 1, 8, tzinfo=UTC)
    while opened <= row.created_at:
        opened += timedelta(days=1)
    assert row.sent_at >= opened
    assert early <= row.sent_at

"""What was read of a site: series without repetitions, readings, watermarks, requests and the latest events."""

from datetime import date, timedelta
from pathlib import Path

import pytest
from sqlmodel import select

from scrapers.kaggle.pacing import Meter
from state.community import CommunityView
from state.community_rows import observe
from state.errors import SiteUnavailable
from state.latest_events import latest, latest_of_each
from state.polling import RequestMeter, mark_failed, mark_read, watermark, watermarks
from state.series import history, last_reading, last_readings, record_absence, rules_hash, take_reading
from state.store import Store
from state.tables import Observation, Topic, Watermark
from tests.state.conftest import START, StandingClock
from tests.state.processes import run_program


def rules(store: Store, text: str) -> bool:
    with store.write() as tx:
        return take_reading(tx, "leaf", "page", "rules", {"mime_type": "text/html"}, content=text, served_at=START)


def test_only_a_change_makes_a_row(store: Store, clock: StandingClock) -> None:
    assert [rules(store, text) for text in ("a", "a", "b", "b", "a")] == [True, False, True, False, True]
    with store.read() as session:
        kept = history(session, "leaf", "page", "rules")
        assert [store.blob(row.sha256 or "") for row in kept] == [b"a", b"b", b"a"]
        assert kept[0].served_at == START


def test_the_rules_hash_is_that_of_its_time(store: Store, clock: StandingClock) -> None:
    assert rules_hash(store, "leaf", clock.now()) is None
    rules(store, "a")
    first = rules_hash(store, "leaf", clock.now())
    clock.pass_by(60)
    rules(store, "b")
    second = rules_hash(store, "leaf", clock.now())
    assert first != second
    assert rules_hash(store, "leaf", START) == first
    assert rules_hash(store, "leaf", START - timedelta(seconds=1)) is None
    clock.pass_by(60)
    with store.write() as tx:
        assert record_absence(tx, "leaf", "page", "rules")
        assert not record_absence(tx, "leaf", "page", "rules")
    assert rules_hash(store, "leaf", clock.now()) is None
    assert rules_hash(store, "leaf", clock.now() - timedelta(seconds=1)) == second


def test_small_data_shows_a_change_by_itself(store: Store) -> None:
    def limits(today: int) -> bool:
        with store.write() as tx:
            return take_reading(tx, "leaf", "limits", "", {"today": today, "allowed": 5 - today})

    assert [limits(0), limits(0), limits(1)] == [True, False, True]
    with store.read() as session:
        newest = last_reading(session, "leaf", "limits")
        assert newest is not None and newest.data == {"today": 1, "allowed": 4}


def test_a_clock_set_back_repeats_nothing(store: Store, clock: StandingClock) -> None:
    rules(store, "a")
    rules(store, "b")
    clock.pass_by(-3600)
    assert not rules(store, "b")


def test_what_is_gone_is_not_among_the_latest_and_may_come_back(store: Store) -> None:
    with store.write() as tx:
        for slug in ("leaf", "rock"):
            take_reading(tx, slug, "competition", "", {"deadline": slug})
        record_absence(tx, "rock", "competition", "")
    with store.read() as session:
        assert set(last_readings(session, None, "competition")) == {("leaf", "")}
    with store.write() as tx:
        assert take_reading(tx, "rock", "competition", "", {"deadline": "rock"})
    with store.read() as session:
        assert set(last_readings(session, "rock", "competition")) == {("rock", "")}


SERVED = START - timedelta(seconds=2)


def read(store: Store, votes: int | None = None, tier: str | None = None) -> bool:
    with store.write() as tx:
        row = tx.session.get(Topic, ("leaf", "1")) or Topic(competition="leaf", id="1", posted_at=START)
        tx.add(row)
        return observe(tx, row, SERVED, votes=votes, tier=tier)


def kept(store: Store) -> list[tuple[int | None, str | None]]:
    with store.read() as session:
        return [(row.votes, row.tier) for row in session.exec(select(Observation).order_by(Observation.pk))]


def test_what_is_as_it_was_is_not_kept_again(store: Store) -> None:
    assert [read(store, 3), read(store, 3), read(store, 4, "MASTER"), read(store, 4, "MASTER")] == [
        True,
        False,
        True,
        False,
    ]
    assert kept(store) == [(3, None), (4, "MASTER")]


def test_only_the_field_that_differs_is_recorded(store: Store) -> None:
    read(store, 3, "EXPERT")
    read(store, 3, "MASTER")
    read(store)
    assert kept(store) == [(3, "EXPERT"), (None, "MASTER")]


def test_a_reading_has_our_time_and_the_sites_and_is_seen_from_ours_on(store: Store, clock: StandingClock) -> None:
    clock.pass_by(60)
    read(store, 3)
    with store.read() as session:
        row = session.exec(select(Observation)).one()
    assert (row.at, row.served_at) == (clock.now(), SERVED)
    before, after = (CommunityView(store, "leaf", clock.now() - timedelta(seconds=back)) for back in (1, 0))
    assert [post.votes for post in (*before.topics(), *after.topics())] == [None, 3]


def mark(store: Store, part: str = "topics") -> Watermark:
    with store.read() as session:
        return watermark(session, "leaf", part)


def test_what_was_never_read_has_no_time_and_is_not_stored(store: Store) -> None:
    assert (mark(store).at, mark(store).value) == (None, {})
    with store.read() as session:
        assert watermarks(session, "leaf") == {}


def test_a_part_on_its_way_is_as_due_as_before(store: Store, clock: StandingClock) -> None:
    with store.write() as tx:
        mark_read(tx, "leaf", "topics", {"page": 2}, START, ended=False)
    assert (mark(store).at, mark(store).value) == (None, {"page": 2})
    clock.pass_by(5)
    with store.write() as tx:
        mark_read(tx, "leaf", "topics", {"high": 3}, START)
    assert (mark(store).at, mark(store).served_at) == (START + timedelta(seconds=5), START)
    assert mark(store).value == {"high": 3}


def test_a_failure_keeps_how_far_it_was_read_and_success_forgets_the_failure(store: Store) -> None:
    with store.write() as tx:
        mark_read(tx, "leaf", "topics", {"high": 3}, START)
    for refused in (False, True):
        with store.write() as tx:
            mark_failed(tx, "leaf", "topics", SiteUnavailable("x" * 900), refused=refused)
    failed = mark(store)
    assert (failed.failures, failed.refused, failed.value, failed.at) == (2, True, {"high": 3}, START)
    assert len(failed.error or "") == 500
    with store.write() as tx:
        mark_read(tx, "leaf", "topics", {"high": 4}, START)
    assert (mark(store).failures, mark(store).error, mark(store).tried_at) == (0, None, None)


def test_parts_are_distinguished(store: Store) -> None:
    with store.write() as tx:
        mark_read(tx, "leaf", "topics", {}, START)
        mark_read(tx, "leaf", "kernels", {}, None)
        mark_read(tx, "", "competitions", {}, None)
    with store.read() as session:
        assert set(watermarks(session, "leaf")) == {"topics", "kernels"}
        assert set(watermarks(session, "")) == {"competitions"}


DAY = date(2026, 11, 20)


def test_a_days_count_is_over_all_families_and_each_days_own(store: Store) -> None:
    meter: Meter = RequestMeter(store)
    assert [meter.admit(DAY, family, 3) for family in ("forum", "kernels", "forum", "kernels")] == [True] * 3 + [False]
    assert [meter.admit(DAY, "submissions", most) for most in (3, 4, 4)] == [False, True, False]
    assert meter.admit(DAY + timedelta(days=1), "forum", 1)
    assert RequestMeter(store).counts(DAY) == {"forum": 2, "kernels": 1, "submissions": 1}
    assert RequestMeter(store).counts(DAY - timedelta(days=1)) == {}


@pytest.mark.integration
def test_a_killed_process_has_counted_what_it_asked(tmp_path: Path) -> None:
    path = tmp_path / "bot.db"
    printed = run_program(
        """
        import json, os, sys
        from datetime import date
        from pathlib import Path
        from state.clock import SystemClock
        from state.polling import RequestMeter
        from state.store import Store

        store = Store.open(Path(sys.argv[1]), SystemClock())
        meter = RequestMeter(store)
        counts = [meter.admit(date(2026, 11, 20), "forum", 3) for _ in range(3)]
        print(json.dumps({"counts": counts}), flush=True)
        os._exit(0)
        """,
        path,
    )
    assert printed["counts"] == [True] * 3
    with Store.open(path, StandingClock()) as store:
        assert not RequestMeter(store).admit(DAY, "kernels", 3)


TYPES = ("door.opened", "door.closed")


def record(store: Store, type: str, **fields: str) -> None:
    with store.write() as tx:
        tx.record(type, run_id="house", **fields)


def test_each_thing_has_its_latest_event_of_the_types_that_are_asked_for(store: Store) -> None:
    record(store, "door.opened", door="front")
    record(store, "door.opened", door="back")
    record(store, "door.closed", door="front")
    record(store, "door.painted", door="back")
    record(store, "door.opened", window="none of ours")
    with store.read() as session:
        found = latest_of_each(session, "house", TYPES, "door")
        assert {door: row.type for door, row in found.items()} == {"back": "door.opened", "front": "door.closed"}
        assert list(found) == ["back", "front"], "in the order in which they were written"
        assert latest_of_each(session, "another house", TYPES, "door") == {}


def test_one_things_latest_event_is_found_and_a_clock_that_was_put_back_changes_nothing(store, clock) -> None:
    record(store, "door.opened", door="front")
    clock.pass_by(-3600)
    record(store, "door.closed", door="front")
    record(store, "door.opened", door="back")
    with store.read() as session:
        front = latest(session, "house", TYPES, "door", "front")
        assert front.type == "door.closed"
        newest = latest(session, "house", TYPES)
        assert newest.data["door"] == "back"
        assert latest(session, "house", TYPES, "door", "cellar") is None

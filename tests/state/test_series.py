"""What stands at the site is kept as a series without repetitions, and can be asked as of a time."""

from datetime import timedelta

from state.series import history, last_reading, last_readings, record_absence, rules_hash, take_reading
from state.store import Store
from tests.state.conftest import START, StandingClock


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

"""A watermark moves with what it promises, and a failure leaves it where it is."""

from datetime import timedelta

from state.errors import SiteUnavailable
from state.polling import mark_failed, mark_read, watermark, watermarks
from state.store import Store
from state.tables import Watermark
from tests.state.conftest import START, StandingClock


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

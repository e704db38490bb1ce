"""What is due, by when it was read and how it failed; and a pass over a list that moves while it is read."""

from datetime import datetime, timedelta
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapers.kaggle.polling.passes import Pass, ScanLimits, ScannedItem, is_descending, next_pass
from scrapers.kaggle.polling.schedule import ORDER, UNTIMED, Schedule
from scrapers.kaggle.polling.settings import PollingSettings
from scrapers.kaggle.polling.watch import Part
from state.tables import Watermark
from tests.scrapers.kaggle.parts import START


def last(**fields: Any) -> Watermark:
    return Watermark(competition="", part="", **fields)


SETTINGS = PollingSettings()

NOTHING_DUE = {part: last(at=START) for part in ORDER}


def after(seconds: float, lasts: dict[Part, Watermark] | None = None, schedule: Schedule | None = None) -> list[Part]:
    return (schedule or Schedule(SETTINGS, lasts or NOTHING_DUE)).due(START + timedelta(seconds=seconds))


def test_what_was_never_read_is_due_at_once_except_what_lists_must_show_first() -> None:
    assert set(Schedule(SETTINGS).due(START)) == set(get_args(Part)) - UNTIMED - {"scores", "tiers"}
    assert Schedule(SETTINGS).wait(START) == 0
    lists = {"topics": last(at=START), "kernels": last(at=START)}
    assert {"scores", "tiers"} <= set(Schedule(SETTINGS, lists).due(START))


def test_each_part_is_due_after_its_own_interval() -> None:
    assert after(0) == []
    assert after(15 * 60) == ["topics"]
    assert after(30 * 60) == ["topics", "kernels"]
    assert after(45 * 60) == ["topics", "kernels", "top"]
    assert after(86_400) == [part for part in ORDER if part not in UNTIMED]


def test_what_is_nearly_due_is_due_so_that_a_steady_tick_skips_nothing() -> None:
    assert after(15 * 60 - 59) == ["topics"]
    assert after(15 * 60 - 61) == []
    assert after(90, schedule=Schedule(PollingSettings(topics=100), NOTHING_DUE)) == ["topics"]
    assert after(89, schedule=Schedule(PollingSettings(topics=100), NOTHING_DUE)) == []


def test_what_lists_have_shown_is_due_until_it_is_read() -> None:
    schedule = Schedule(SETTINGS, NOTHING_DUE, frozenset(("messages",)))
    assert after(0, schedule=schedule) == ["messages"]
    assert schedule.wait(START) == 0


@pytest.mark.parametrize(("failures", "minutes"), [(1, 2), (2, 4), (3, 8), (4, 16), (5, 30), (99, 30)])
def test_a_failed_part_is_tried_again_after_a_pause_that_grows(failures: int, minutes: float) -> None:
    failed = last(at=START - timedelta(days=1), tried_at=START, failures=failures)
    lasts = NOTHING_DUE | {"top": failed}
    assert "top" not in after(minutes * 60 - 61, lasts)
    assert "top" in after(minutes * 60, lasts)


def test_the_sites_own_no_is_not_asked_for_again_soon() -> None:
    lasts = NOTHING_DUE | {"top": last(tried_at=START, failures=1, refused=True)}
    assert "top" not in after(5 * 3600, lasts)
    assert "top" in after(6 * 3600, lasts)


def test_a_clock_that_was_set_back_delays_nothing() -> None:
    assert set(after(-3600)) == set(ORDER) - UNTIMED
    lasts = NOTHING_DUE | {"top": last(tried_at=START, failures=9)}
    assert "top" in after(-3600, lasts)


def test_the_wait_is_until_the_first_part_is_due() -> None:
    assert Schedule(SETTINGS, NOTHING_DUE).wait(START + timedelta(seconds=60)) == 14 * 60


SIZE = 3


def at(hours: float) -> datetime:
    return START + timedelta(hours=hours)


def item(id: int, hours: float, *, pinned: bool = False, changed: bool = False) -> ScannedItem:
    return ScannedItem(str(id), at(hours), pinned, changed)


def down_to(hours: float | None, overlap: float = 0.0) -> ScanLimits:
    return ScanLimits(None if hours is None else at(hours), overlap, 100)


def test_times_fall_if_those_that_are_pinned_are_left_aside() -> None:
    assert is_descending([item(9, 1, pinned=True), item(3, 5), item(2, 5), item(1, 4)])
    assert is_descending([item(1, 5), ScannedItem("2", None), item(3, 4)])
    assert not is_descending([item(3, 4), item(2, 5)])


def test_a_page_that_reaches_below_the_watermark_is_the_last() -> None:
    assert next_pass(Pass(), [item(2, 5), item(1, 3)], down_to(4), START).listed
    assert not next_pass(Pass(), [item(2, 5), item(1, 4.5, changed=True)], down_to(4), START).listed


def test_a_pinned_item_does_not_show_how_low_a_page_reaches() -> None:
    assert not next_pass(Pass(), [item(9, 1, pinned=True), item(2, 5)], down_to(4), START).listed
    assert next_pass(Pass(), [item(9, 7, pinned=True), item(2, 5)], down_to(None), START).high == at(5)


def test_just_below_the_watermark_a_page_is_the_last_only_if_nothing_on_it_is_news() -> None:
    limits = down_to(4, overlap=3600)
    assert next_pass(Pass(), [item(2, 5), item(1, 3.5)], limits, START).listed
    assert not next_pass(Pass(), [item(2, 5), item(1, 3.5, changed=True)], limits, START).listed


def test_the_watermark_to_be_is_the_latest_time_of_the_first_page() -> None:
    first = next_pass(Pass(), [item(2, 5), item(1, 4)], down_to(None), START)
    assert next_pass(first, [item(3, 9)], down_to(None), START).high == at(5)


def test_a_list_ends_with_its_total_or_an_empty_page_or_some_without_anything_new() -> None:
    first = next_pass(Pass(), [item(2, 5), item(1, 4)], down_to(None), START, total=3)
    assert (first.listed, first.page) == (False, 2)
    assert next_pass(first, [item(3, 3)], down_to(None), START, total=3).listed
    assert next_pass(next_pass(Pass(), [item(2, 5)], down_to(None), START), [], down_to(None), START).listed
    for _ in range(2):
        first = next_pass(first, [item(1, 4)], down_to(None), START)
        assert not first.listed
    assert next_pass(first, [item(1, 4)], down_to(None), START).listed


def test_a_pass_that_has_waited_for_long_begins_anew_unless_its_list_is_read() -> None:
    first = next_pass(Pass(), [item(2, 5), item(1, 4)], down_to(None), START, total=3)
    assert first.resumed(at(1)) == first
    assert first.resumed(at(1.1)) == Pass()
    ended = first.model_copy(update={"listed": True})
    assert ended.resumed(at(99)) == ended


Change = st.tuples(st.sampled_from(["new", "move", "nothing"]), st.integers(0, 30))


@given(st.integers(0, 14), st.lists(Change, max_size=6))
@settings(max_examples=100)
def test_what_was_there_before_and_after_a_pass_and_did_not_move_is_seen(count, changes) -> None:
    """The site's list, the latest first; between two pages something happens to it."""
    world = list(range(count, 0, -1))
    still = set(world)
    newest, pending, current = count, list(changes), Pass()
    while not current.listed:
        start = (current.page - 1) * SIZE
        page = [item(id, id) for id in world[start : start + SIZE]]
        current = next_pass(current, page, down_to(None), START, total=len(world) if page else 0)
        what, which = pending.pop(0) if pending else ("nothing", 0)
        if what == "new" or not world:
            newest += 1
            world.insert(0, newest)
        elif what == "move":
            moved = world.pop(which % len(world))
            still.discard(moved)
            world.insert(0, moved)
    assert still <= {int(id) for id in current.seen}

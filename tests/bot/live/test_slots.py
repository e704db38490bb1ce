"""Slots that competitions share."""

import asyncio
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.live.slots import Slots, urgency

NOW = datetime(2026, 11, 20, tzinfo=UTC)


def served(slots: Slots, nodes: int, seconds: dict[str, float]) -> Counter[str]:
    """Let everybody who may begin a node do so, one after the other, and count the seconds of each."""
    had: Counter[str] = Counter()
    for _ in range(nodes):
        # All ask before anybody begins, as searches do that were woken by the same change.
        name = next(name for name in sorted(slots.shares) for _ in [slots.free(name)] if may_begin(slots, name))
        slots.begin(name)
        slots.end(name, seconds[name])
        had[name] += seconds[name]  # type: ignore[assignment] # a counter of seconds
    return had


def may_begin(slots: Slots, name: str) -> bool:
    for other in slots.shares:
        slots.free(other)
    return slots.free(name) > 0


def test_who_asks_alone_has_all_slots():
    slots = Slots(3)
    slots.join("a", lambda: 1.0)
    assert slots.free("a") == 3
    slots.begin("a")
    assert slots.free("a") == 2


def test_time_is_shared_by_weight_whatever_a_node_takes():
    slots = Slots(1)
    slots.join("heavy", lambda: 3.0)
    slots.join("light", lambda: 1.0)
    had = served(slots, 400, {"heavy": 20.0, "light": 50.0})
    assert 2.4 < had["heavy"] / had["light"] < 3.6


def test_who_rests_is_not_waited_for_and_who_comes_late_makes_nothing_up():
    slots = Slots(1)
    slots.join("a", lambda: 1.0)
    served(slots, 50, {"a": 60.0})
    slots.join("b", lambda: 1.0)
    had = served(slots, 40, {"a": 60.0, "b": 60.0})
    assert abs(had["a"] - had["b"]) <= 120.0
    slots.free("b")
    slots.withdraw("b")
    assert slots.free("a") == 1


def test_who_comes_while_another_runs_is_next():
    slots = Slots(1)
    slots.join("a", lambda: 1.0)
    slots.begin("a")
    slots.join("b", lambda: 1.0)
    slots.free("b")
    slots.end("a", 5.0)
    assert (slots.free("a"), slots.free("b")) == (0, 1)


def test_who_has_left_gives_its_place_back():
    slots = Slots(1)
    slots.join("a", lambda: 1.0)
    slots.join("b", lambda: 1.0)
    slots.begin("a")
    assert slots.free("b") == 0
    slots.leave("a")
    assert slots.free("b") == 1
    slots.end("a", 1.0)
    assert "a" not in slots.shares


@given(st.integers(1, 4), st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=60))
def test_never_more_run_than_there_are_slots(total: int, moves: list[tuple[str, bool]]):
    slots = Slots(total)
    for name in "abc":
        slots.join(name, lambda: 1.0)
    for name, begin in moves:
        if begin and slots.free(name) > 0:
            slots.begin(name)
        elif not begin and slots.shares[name].running:
            slots.end(name, 10.0)
        assert sum(share.running for share in slots.shares.values()) <= total


async def test_whoever_waits_is_woken_by_a_slot_that_comes_free():
    slots = Slots(1)
    slots.join("a", lambda: 1.0)
    slots.begin("a")
    waiting = asyncio.create_task(slots.changed())
    await asyncio.sleep(0)
    assert not waiting.done()
    slots.end("a", 1.0)
    await asyncio.wait_for(waiting, 60)


@pytest.mark.parametrize("days, factor", [(30, 1.0), (5, 2.0), (1, 3.0)])
def test_a_near_deadline_weighs_more(days: int, factor: float):
    assert urgency(NOW, NOW + timedelta(days=days), recent=10, gains=0, scored=True) == factor


def test_gains_promise_more_and_a_competition_without_a_score_comes_first():
    far = NOW + timedelta(days=30)
    assert urgency(NOW, far, recent=10, gains=5, scored=True) == 1.5
    assert urgency(NOW, far, recent=0, gains=0, scored=False) == 2.0

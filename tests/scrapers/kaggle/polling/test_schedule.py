"""What is due: by when it was read, how it failed, and nothing else."""

from datetime import timedelta
from typing import Any, get_args

import pytest

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

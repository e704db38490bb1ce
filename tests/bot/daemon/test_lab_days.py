"""A live competition is worked on in labs, some a day, and what a closed lab leaves is small."""

import os
import sqlite3
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from tests import needs
from tests.bot.daemon.lab_days import lab_days
from tests.bot.daemon.rehearsing import Rehearsal, wait_for

SPEED = 86_400 / float(os.environ.get("BOT_LAB_DAY_SECONDS", "30"))
"""A day is to have room for two labs."""
DAYS = 2


def labs_by_day(it: Rehearsal) -> Counter[str]:
    with suppress(sqlite3.OperationalError):  # the daemon has not made its tables yet
        return Counter(at[:10] for (at,) in it.rows("SELECT started_at FROM lab"))
    return Counter()


def closed_labs(it: Rehearsal) -> int:
    return int(it.rows("SELECT count(*) FROM lab WHERE ended_at IS NOT NULL")[0][0])


def enough(it: Rehearsal) -> bool:
    """Whether so many days with labs are over, one of them with two, and three have closed."""
    opened = labs_by_day(it)
    return len(opened) > DAYS and max(opened.values()) >= 2 and closed_labs(it) >= 3


@pytest.mark.integration
def test_two_labs_a_day_log_experiments_and_all_but_the_newest_leave_little(tmp_path: Path) -> None:
    needs.bubblewrap()
    with lab_days(tmp_path, speed=SPEED) as it:
        daemon = it.start()
        wait_for(lambda: enough(it), 600, daemon)
        opened = labs_by_day(it)
        assert max(opened.values()) == 2
        closed = it.rows("SELECT id, reason, report FROM lab WHERE ended_at IS NOT NULL ORDER BY id")
        assert {reason for _, reason, _ in closed} == {"its coder finished"}
        assert all("it is linear" in report for _, _, report in closed)
        scored = it.rows(
            "SELECT draft_id, count(*) FROM node JOIN experiment ON experiment.node = node.id"
            " WHERE status = 'valid' AND draft_id IS NOT NULL AND kind = 'model' GROUP BY 1"
        )
        assert [count for _, count in scored[: len(closed) - 1]] == [2] * (len(closed) - 1)
        (labs,) = (it.folder / "state" / "runs").glob("*/labs")
        whole = [number for number, *_ in closed if (labs / f"lab{number}" / "work" / "model.bin").exists()]
        assert len(whole) == 2 and whole[-1] == max(number for number, *_ in closed)
        assert all((labs / f"lab{number}" / "work" / "predict.py").is_file() for number, *_ in closed)
        assert not (labs / f"lab{closed[0][0]}" / "community").exists()
        # What a lab reads is of its own day: the last one knew more posts than the first.
        opened = "FROM step WHERE name = 'lab.open' AND result IS NOT NULL ORDER BY node"
        heads = it.rows(f"SELECT json_array_length(result, '$.known_items') {opened}")
        assert heads[-1] > heads[0]

"""A live competition is worked on in labs, some a day, and what a closed lab leaves is small."""

import os
from collections import Counter
from pathlib import Path

import pytest

from tests import needs
from tests.bot.daemon.lab_days import lab_days
from tests.bot.daemon.rehearsing import wait_for

SPEED = 86_400 / float(os.environ.get("BOT_LAB_DAY_SECONDS", "30"))
"""A day is to have room for two labs."""
DAYS = 3


@pytest.mark.integration
def test_two_labs_a_day_make_scored_scripts_and_leave_little(tmp_path: Path) -> None:
    needs.bubblewrap()
    with lab_days(tmp_path, speed=SPEED) as it:
        daemon, begin = it.start(), it.clock.now()
        wait_for(lambda: (it.clock.now() - begin).days >= DAYS, 600, daemon)
        opened = Counter(at[:10] for (at,) in it.rows("SELECT started_at FROM lab"))
        assert len(opened) >= DAYS
        assert max(opened.values()) == 2
        closed = it.rows("SELECT id, reason, report, hints FROM lab WHERE ended_at IS NOT NULL ORDER BY id")
        assert {reason for _, reason, _, _ in closed} == {"its coder was done"}
        assert all("it is linear" in report and "oof" not in hints for _, _, report, hints in closed)
        scored = it.rows(
            "SELECT draft_id, count(*) FROM node WHERE status = 'valid' AND draft_id IS NOT NULL GROUP BY 1"
        )
        assert [count for _, count in scored[: len(closed) - 1]] == [2] * (len(closed) - 1)
        (labs,) = (it.folder / "state" / "runs").glob("*/labs")
        left = labs / f"lab{closed[0][0]}"
        assert sorted(path.name for path in (left / "work").iterdir()) == ["oof.csv", "oof.py", "solution.py"]
        assert not (left / "bank").exists()
        assert not (left / "community").exists()
        # What a lab reads is of its own day: the last one knew more posts than the first.
        opened = "FROM step WHERE name = 'lab.open' AND result IS NOT NULL ORDER BY node"
        heads = it.rows(f"SELECT json_array_length(result, '$.known') {opened}")
        assert heads[-1] > heads[0]

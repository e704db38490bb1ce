"""Requests are counted by day and family, over processes and restarts."""

from datetime import date, timedelta
from pathlib import Path

import pytest

from scrapers.kaggle.pacing import Meter
from state.polling import RequestMeter
from state.store import Store
from tests.state.conftest import StandingClock
from tests.state.processes import run_program

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

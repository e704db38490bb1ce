"""The daemon competes by notebooks, unattended: they run at the stand-in, again on ten times the test rows, and are scored."""

import os
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests import needs
from tests.bot.daemon.rehearsing import Rehearsal, rehearsal, wait_for
from tests.bot.daemon.test_rehearsals import check_database
from tests.bot.simulator.site.bad_days import as_toml, bad_days

SLUG = "spooky-author-identification"
SPEED = float(os.environ.get("BOT_REHEARSAL_SPEED", "25000")) / 5
ENTERED, ENTERED_KILLED = timedelta(days=35), timedelta(days=5)
"""After the start; what is left is enough. Where the daemon is killed, it is stopped long before the end."""
LONGEST = 600.0 + 4e5 / SPEED
LIFE = 75.0 * 5000.0 / SPEED
"""Seconds after which the daemon is killed if nothing has gone out."""
SITE = ("--kind", "notebooks", "--public-test", "0.1")


def check_once(it: Rehearsal, final: Mapping[str, Any]) -> None:
    """What is at the site is what we know of, each once, and none of it failed on the hidden rows."""
    ours = it.rows("SELECT tag, ref, score FROM submission WHERE status = 'confirmed'")
    assert final["submissions"] == len(ours) == len({ref for _, ref, _ in ours}) > 0
    assert final["failed"] == 0
    pushed = Counter(
        ref for (ref,) in it.rows("SELECT json_extract(data, '$.ref') FROM event WHERE type = 'notebook.pushed'")
    )
    assert max(pushed.values()) == 1
    assert final["pushes"] == len(pushed), "a notebook was pushed that we do not know of, or twice"
    # Whoever stops a competition has what runs at Kaggle cancelled.
    failed = it.rows("SELECT json_extract(data, '$.reason') FROM event WHERE type = 'notebook.failed'")
    assert [why for (why,) in failed if "cancel_acknowledged" not in why] == []
    passed = "SELECT node FROM step WHERE name = 'rehearsal' AND json_extract(result, '$.reason') IS NULL"
    unseen = f"SELECT id FROM node WHERE action = 'ensemble' AND status = 'valid' AND id NOT IN ({passed})"  # noqa: S608 - ours
    assert it.rows(unseen) == [], "a blend may be handed in that is no notebook which passed its rehearsal"


def going_out(it: Rehearsal) -> int:
    """Return how many steps towards the site were recorded, each before or after its call."""
    with suppress(sqlite3.OperationalError):  # the daemon has not made its tables yet
        steps = "type LIKE 'notebook.%' OR type IN ('submission.sending', 'submission.confirmed')"
        return int(it.rows(f"SELECT count(*) FROM event WHERE {steps}")[0][0])  # noqa: S608 - ours
    return 0


def live_until_something_goes_out(it: Rehearsal) -> None:
    """Start the daemon, and kill it at its next step towards the site, or after a while."""
    daemon, before, until = it.start(), going_out(it), time.monotonic() + LIFE
    while time.monotonic() < until and going_out(it) == before:
        assert daemon.poll() is None, f"it ended by itself: {it.log.read_text()[-3000:]}"
        time.sleep(0.01)
    daemon.send_signal(signal.SIGKILL)
    daemon.wait()


@pytest.mark.integration
@pytest.mark.trial
def test_notebooks_are_rehearsed_pushed_run_again_and_scored(tmp_path: Path) -> None:
    paths = [needs.snapshots() / SLUG]
    with rehearsal(tmp_path, paths, speed=SPEED, entered_after=ENTERED, site_options=SITE) as it:
        daemon = it.start()
        assert daemon.wait(LONGEST) == 0, it.log.read_text()[-3000:]
        final = it.final()[SLUG]
        check_once(it, final)
        check_database(it)
        assert it.rows("SELECT 1 FROM submission WHERE status = 'confirmed' AND score IS NULL") == []
        result = it.result(SLUG)
        assert (result["score_kind"], result["prediction_source"]) == ("private", "notebook")
        assert result["score"] == pytest.approx(final["private_score"])
        kinds = {kind for (kind,) in it.rows("SELECT DISTINCT kind FROM notification")}
        assert {"competition.kind", "notebook.pushed", "submission.scored"} <= kinds
        # `bot status` shows the last notebook alone, which may be one that was refused at the end.
        (report,) = (it.folder / "state" / "runs").glob("spooky*/report.html")
        shown = " ".join(report.read_text().split())
        assert "Notebooks" in shown
        assert "has the public score" in shown


@pytest.mark.integration
@pytest.mark.trial
def test_faults_and_kills_push_and_submit_nothing_twice(tmp_path: Path) -> None:
    paths = [needs.snapshots() / SLUG]
    faults = as_toml(bad_days())
    with rehearsal(tmp_path, paths, speed=SPEED, faults=faults, entered_after=ENTERED_KILLED, site_options=SITE) as it:
        for _ in range(10):
            live_until_something_goes_out(it)
        assert it.rows("SELECT 1 FROM event WHERE type LIKE 'notebook.%'"), "it was never killed at a push"
        daemon = it.start()
        wait_for(lambda: it.rows("SELECT 1 FROM submission WHERE score IS NOT NULL"), LONGEST, daemon)
        assert it.bot("stop", SLUG).returncode == 0
        assert daemon.wait(LONGEST) == 0, it.log.read_text()[-3000:]
        check_once(it, it.final()[SLUG])
        check_database(it)

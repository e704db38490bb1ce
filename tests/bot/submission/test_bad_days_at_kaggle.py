"""A hundred submissions on a site's bad days: none is lost, none is there twice, and none is tried beyond the quota."""

from collections import Counter
from pathlib import Path

import pytest

from bot.rehearsal.settings import SiteSettings
from bot.submission.exactly_once import ExactlyOnce
from state.errors import NotSent, SiteUnavailable, SubmissionInDoubt
from state.store import Store
from tests.bot.rehearsal.bad_days import bad_days, faults_of
from tests.bot.submission.kaggle_site import DAY, Played, played, predictions
from tests.bot.submission.parts import RUN, a_begun_run, assert_events_match_rows, rows

pytestmark = pytest.mark.integration

SPAN = 58 * DAY
"""Seconds that the tiny competition lasts, less what is at its ends."""
QUOTA = 5
COUNT, SECONDS = 100, 60.0
"""Submissions, and the time that all may take."""
BAD = bad_days(writes=8, stall_every=101, stall_seconds=0.8)


async def settled(once: ExactlyOnce, site: Played, id: str, file: Path) -> int:
    """Bring one submission to its end as a patient owner does, and return how often it was tried."""
    for attempt in range(1, 1_000):
        try:
            assert (await once.complete(id, file)).status == "confirmed"
        except (NotSent, SiteUnavailable, SubmissionInDoubt):
            await site.clock.sleep(1_800.0)
        else:
            return attempt
    raise AssertionError("it was never settled")


async def test_none_is_lost_or_doubled_or_over_quota(tmp_path: Path) -> None:
    speed = SPAN / SECONDS
    settings, faults = SiteSettings(grading_seconds=(1.0, 2.0)), faults_of(BAD)
    (tmp_path / "state.db").write_bytes(a_begun_run())
    with played(tmp_path, speed=speed, settings=settings, faults=faults) as site:
        with Store.open(tmp_path / "state.db", site.clock) as store:
            async with site.submitter(silence=0.4) as submitter:
                once = ExactlyOnce(store, RUN, submitter, site.clock, tmp_path / "lock", act_seconds=60.0)
                tries = 0
                for number in range(COUNT):
                    file = predictions(tmp_path, 0.2 + number / 1_000)
                    row = once.intend(file, node=1, handed_in="refit")
                    tries += await settled(once, site, row.id, file)
            confirmed = rows(store)
            assert_events_match_rows(store)
        there = site.site.submissions
    assert [(row.tag, row.ref, row.file_sha) for row in confirmed] == [
        (one.tag, str(one.ref), one.sha256) for one in there
    ]
    assert len(there) == COUNT
    assert max(Counter(one.at.date() for one in there).values()) <= QUOTA
    befell = Counter(one.kind for one in faults.injected)
    assert befell["cut"] > 0
    assert any(one.acts and one.method == "CreateSubmission" for one in faults.injected)
    print(f"{COUNT} submissions, {tries} tries, {sum(befell.values())} faults: {dict(befell)}")

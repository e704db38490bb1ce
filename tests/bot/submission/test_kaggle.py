"""The submitter of Kaggle against the stand-in site, on good days and bad ones."""

import asyncio
import time
from collections import Counter
from pathlib import Path

import pytest

from bot.simulator.site.settings import SiteSettings
from bot.submission import Submitter
from bot.submission.exactly_once import ExactlyOnce
from state.errors import NotebooksOnly, NotSent, QuotaReached, SiteUnavailable, SubmissionInDoubt, SubmissionRefused
from state.store import Store
from tests.bot.simulator.site.bad_days import bad_days, faults_of
from tests.bot.submission.kaggle_site import DAY, Played, played, predictions
from tests.bot.submission.parts import RUN, a_begun_run, assert_events_match_rows, rows

QUICK = SiteSettings(grading_seconds=(1.0, 2.0))


async def scored(submitter: Submitter, ref: str) -> float:
    deadline = time.monotonic() + 30
    while (score := await submitter.score(ref)) is None:
        assert time.monotonic() < deadline
        await asyncio.sleep(0.05)
    return score


async def test_a_file_is_submitted_under_its_tag_found_by_it_and_scored(tmp_path: Path) -> None:
    with played(tmp_path, settings=QUICK) as site:
        async with site.submitter() as submitter:
            new = await submitter.quota()
            assert (new.known, new.remaining) == (False, None), "a new team's zeros say nothing"
            ref = await submitter.submit(predictions(tmp_path, 0.3), "run-1-abc")
            now = await submitter.quota()
            assert now.known and now.remaining in (4, 5), "a second is six hours, so that the next day may have begun"
            assert await submitter.find("run-1-abc") == ref
            assert await submitter.find("run-1-ab") is None
            assert await scored(submitter, ref) > 0
        (sent,) = site.site.submissions
        assert (str(sent.ref), sent.tag, sent.file_name) == (ref, "run-1-abc", "submission.csv")


async def test_the_quota_is_that_of_the_sites_day(tmp_path: Path) -> None:
    # The day is long: at this speed one of the site's is 10 minutes.
    with played(tmp_path, speed=144.0, settings=QUICK) as site:
        async with site.submitter() as submitter:
            for number in range(5):
                await submitter.submit(predictions(tmp_path, 0.3 + number / 100), f"run-{number}")
            quota = await submitter.quota()
            assert quota.remaining == 0
            assert (quota.resets_at.hour, (quota.resets_at - site.clock.now()).days) == (0, 0)
            with pytest.raises(QuotaReached, match="allowance"):
                await submitter.submit(predictions(tmp_path, 0.4), "run-6")
            assert await submitter.find("run-6") is None


async def test_an_invalid_file_is_refused_with_the_sites_words_when_it_is_scored(tmp_path: Path) -> None:
    with played(tmp_path, settings=QUICK) as site:
        async with site.submitter() as submitter:
            ref = await submitter.submit(predictions(tmp_path, 0.5, rows=7), "short")
            with pytest.raises(SubmissionRefused, match=r"row|id"):
                await scored(submitter, ref)


async def test_what_is_not_open_is_not_sent_to(tmp_path: Path) -> None:
    for name, settings, days, words in (
        ("a", SiteSettings(entered=False), 1.0, "accept its rules"),
        ("b", QUICK, 80.0, "accepts no more submissions"),
    ):
        with played(tmp_path / name, settings=settings, days=days) as site:
            async with site.submitter() as submitter:
                with pytest.raises(NotSent, match=words):
                    await submitter.submit(predictions(tmp_path / name), "tag")
            assert not site.site.submissions


async def test_a_competition_of_notebooks_is_recognised_before_anything_is_sent(tmp_path: Path) -> None:
    with played(tmp_path, kind="code") as site:
        async with site.submitter() as submitter:
            with pytest.raises(NotebooksOnly, match="accepts notebooks, not files"):
                await submitter.submit(predictions(tmp_path), "tag")
        assert not site.site.requests["StartSubmissionUpload"]


async def test_an_unknown_key_sends_nothing(tmp_path: Path) -> None:
    with played(tmp_path) as site:
        async with site.submitter(token="KGAT_wrong") as submitter:
            with pytest.raises(NotSent, match="a new token"):
                await submitter.submit(predictions(tmp_path), "tag")


async def test_a_site_that_is_gone_sends_nothing(tmp_path: Path) -> None:
    with played(tmp_path) as site:
        file = predictions(tmp_path)
    async with site.submitter() as submitter:
        with pytest.raises(NotSent, match="to Kaggle failed"):
            await submitter.submit(file, "tag")
        with pytest.raises(SiteUnavailable):
            await submitter.find("tag")


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


@pytest.mark.integration
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
                    row = once.intend(file, node=1, source="refit")
                    tries += await settled(once, site, row.id, file)
            confirmed = rows(store)
            assert_events_match_rows(store)
        there = site.site.submissions
    assert [(row.tag, row.ref, row.file_sha) for row in confirmed] == [
        (one.tag, str(one.ref), one.sha256) for one in there
    ]
    assert len(there) == COUNT
    assert max(Counter(one.submitted_at.date() for one in there).values()) <= QUOTA
    befell = Counter(one.kind for one in faults.injected)
    assert befell["cut"] > 0
    assert any(one.acts and one.method == "CreateSubmission" for one in faults.injected)
    print(f"{COUNT} submissions, {tries} tries, {sum(befell.values())} faults: {dict(befell)}")

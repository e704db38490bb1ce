"""Submitting: one act at the site, whatever the site answers and whoever else is at it."""

import asyncio
from pathlib import Path

import pytest

from state.errors import FileChanged, QuotaReached, SiteUnavailable, SubmissionInDoubt, SubmissionRefused, UsageError
from state.spending import read_spending
from tests.bot.submission.parts import GRACE, RUN, HurriedClock, a_file, assert_events_match_rows, life, rows
from tests.scripted_site import AMBIGUOUS, REFUSAL, ScriptedSite


async def test_a_file_is_written_down_sent_and_confirmed(tmp_path: Path) -> None:
    file = a_file(tmp_path)
    with ScriptedSite() as site:
        async with life(tmp_path, site) as now:
            row = await now.once.submit(file, node=1, source="refit")
            assert_events_match_rows(now.store)
            types = [e["type"] for e in now.store.export_events(RUN) if e["type"].startswith("submission")]
            assert read_spending(now.store, RUN)["submission"].entries == 1
    assert types == ["submission.added", "submission.sending", "submission.confirmed"]
    assert (row.status, row.ref, row.node, row.prediction_source) == ("confirmed", f"site/{row.tag}", 1, "refit")
    assert [(act.tag, act.sha256) for act in site.acts] == [(row.tag, row.file_sha)]
    assert row.tag.startswith(f"{RUN}-1-")


async def test_the_same_file_again_is_no_second_act_and_another_file_is(tmp_path: Path) -> None:
    first, second = a_file(tmp_path), a_file(tmp_path, "id,label\n1,0.6\n", "other.csv")
    with ScriptedSite() as site:
        async with life(tmp_path, site) as now:
            one = await now.once.submit(first, node=1, source="refit")
            assert (await now.once.submit(first, node=1, source="refit")).id == one.id
            two = await now.once.submit(second, node=1, source="refit")
            three = await now.once.submit(first, node=1, source="refit")
    assert [one.id, two.id, three.id] == ["1", "2", "3"]
    assert site.tags() == [one.tag, two.tag, three.tag]


@pytest.mark.parametrize("behaviour", AMBIGUOUS)
async def test_after_an_ambiguous_end_the_tag_is_looked_up_before_anything_is_sent(tmp_path, behaviour) -> None:
    with ScriptedSite([behaviour]) as site:
        async with life(tmp_path, site, seconds=0.5) as now:
            row = await now.once.submit(a_file(tmp_path), node=1, source="refit")
            assert_events_match_rows(now.store)
    taken_at_once = behaviour.startswith("accept")
    assert site.tags() == [row.tag]
    asked = [line.split()[0] for line in site.asked]
    again = [] if taken_at_once else ["find", "quota", "act"]
    assert asked == ["find", "quota", "act", "find", *again]
    assert now.clock.slept == ([] if taken_at_once else [GRACE])


async def test_a_site_that_lists_late_gets_no_second_act(tmp_path: Path) -> None:
    clock = HurriedClock()
    with ScriptedSite(["accept, cut"], late=GRACE - 1, now=clock.now) as site:
        async with life(tmp_path, site, clock) as now:
            row = await now.once.submit(a_file(tmp_path), node=1, source="refit")
    assert (row.status, len(site.acts)) == ("confirmed", 1)
    assert clock.slept == [GRACE]


async def test_what_cannot_be_asked_about_stays_in_doubt_and_is_not_sent_again(tmp_path: Path) -> None:
    file = a_file(tmp_path)
    with ScriptedSite(["hold, accept"]) as site:
        async with life(tmp_path, site) as now:
            submitting = asyncio.create_task(now.once.submit(file, node=1, source="refit"))
            await asyncio.to_thread(site.reached.wait)
            site.deaf = True
            submitting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await submitting
            site.release.set()
            for _ in range(2):
                with pytest.raises(SubmissionInDoubt, match=r"may have been submitted.*maintenance.*not sent again"):
                    await now.once.submit(file, node=1, source="refit")
            assert [row.status for row in rows(now.store)] == ["doubtful"]
            site.deaf = False
            assert (await now.once.submit(file, node=1, source="refit")).status == "confirmed"
            assert_events_match_rows(now.store)
    assert len(site.acts) == 1


async def test_a_site_that_never_answers_an_act_is_not_asked_for_ever(tmp_path: Path) -> None:
    with ScriptedSite(["cut", "cut", "cut"]) as site:
        async with life(tmp_path, site) as now:
            with pytest.raises(SubmissionInDoubt, match="sent 2 times without an answer"):
                await now.once.submit(a_file(tmp_path), node=1, source="refit")
    assert [line.split()[0] for line in site.asked].count("act") == 2


async def test_an_act_that_takes_too_long_is_ambiguous(tmp_path: Path) -> None:
    with ScriptedSite(["accept, stall"]) as site:
        async with life(tmp_path, site, act_seconds=0.3) as now:
            row = await now.once.submit(a_file(tmp_path), node=1, source="refit")
            doubts = [e["message"] for e in now.store.export_events(RUN) if e["type"] == "submission.doubtful"]
    assert row.status == "confirmed"
    assert doubts == ["the site did not answer within 0.3 s"]
    assert len(site.acts) == 1


async def test_a_refused_file_keeps_the_sites_words_and_is_not_offered_again(tmp_path: Path) -> None:
    file = a_file(tmp_path)
    with ScriptedSite(["refuse"]) as site:
        async with life(tmp_path, site) as now:
            for _ in range(3):
                with pytest.raises(SubmissionRefused, match=REFUSAL):
                    await now.once.submit(file, node=1, source="refit")
            (row,) = rows(now.store)
            assert_events_match_rows(now.store)
            assert "submission" not in read_spending(now.store, RUN)
    assert (row.status, row.message) == ("refused", REFUSAL)
    assert [line.split()[0] for line in site.asked] == ["find", "quota", "act"]


async def test_over_quota_nothing_is_sent_and_the_intent_waits(tmp_path: Path) -> None:
    file = a_file(tmp_path)
    with ScriptedSite(quota=0) as site:
        async with life(tmp_path, site) as now:
            with pytest.raises(QuotaReached, match="accepts no more submissions"):
                await now.once.submit(file, node=1, source="refit")
            assert [row.status for row in rows(now.store)] == ["intended"]
    assert not any(line.startswith("act") for line in site.asked)
    with ScriptedSite() as site:
        async with life(tmp_path, site) as now:
            assert (await now.once.submit(file, node=1, source="refit")).id == "1"
    assert len(site.acts) == 1


async def test_a_quota_that_ran_out_while_sending_leaves_an_intent(tmp_path: Path) -> None:
    file = a_file(tmp_path)
    with ScriptedSite(["over quota"]) as site:
        async with life(tmp_path, site) as now:
            with pytest.raises(QuotaReached, match="Daily limit"):
                await now.once.submit(file, node=1, source="refit")
            assert [row.status for row in rows(now.store)] == ["intended"]
            assert (await now.once.submit(file, node=1, source="refit")).status == "confirmed"
            assert_events_match_rows(now.store)
    assert len(site.acts) == 1


async def test_a_site_that_is_down_gets_nothing_and_leaves_no_doubt(tmp_path: Path) -> None:
    with ScriptedSite() as site:
        site.deaf = True
        async with life(tmp_path, site) as now:
            with pytest.raises(SiteUnavailable, match="maintenance"):
                await now.once.submit(a_file(tmp_path), node=1, source="refit")
            assert [row.status for row in rows(now.store)] == ["intended"]
    assert [line.split()[0] for line in site.asked] == ["find"]


async def test_a_file_that_changed_since_its_intent_is_not_sent(tmp_path: Path) -> None:
    file = a_file(tmp_path)
    with ScriptedSite() as site:
        async with life(tmp_path, site) as now:
            intent = now.once.intend(file, node=1, source="refit")
            a_file(tmp_path, "id,label\n1,0.9\n")
            with pytest.raises(FileChanged, match=r"made\.csv"):
                await now.once.complete(intent.id, file)
            assert site.acts == []
            a_file(tmp_path)
            await now.once.complete(intent.id, file)
    assert site.tags() == [intent.tag]


async def test_another_file_takes_the_place_of_an_intent_that_never_reached_the_site(tmp_path: Path) -> None:
    first, second = a_file(tmp_path), a_file(tmp_path, "id,label\n1,0.6\n", "other.csv")
    with ScriptedSite() as site:
        async with life(tmp_path, site) as now:
            old = now.once.intend(first, node=1, source="refit")
            new = await now.once.submit(second, node=1, source="holdout")
            assert [(row.id, row.status) for row in rows(now.store)] == [("1", "withdrawn"), ("2", "confirmed")]
            with pytest.raises(UsageError, match="withdrawn"):
                await now.once.complete(old.id, first)
            assert_events_match_rows(now.store)
    assert site.tags() == [new.tag]


async def test_an_earlier_one_in_doubt_is_settled_before_another_file_goes(tmp_path: Path) -> None:
    first, second = a_file(tmp_path), a_file(tmp_path, "id,label\n1,0.6\n", "other.csv")
    with ScriptedSite(["hold, accept"]) as site:
        async with life(tmp_path, site) as now:
            submitting = asyncio.create_task(now.once.submit(first, node=1, source="refit"))
            await asyncio.to_thread(site.reached.wait)
            site.release.set()
            submitting.cancel()
            await asyncio.wait({submitting})
            await now.once.submit(second, node=1, source="refit")
            assert [(row.id, row.status) for row in rows(now.store)] == [("1", "confirmed"), ("2", "confirmed")]
    assert len(site.acts) == 2


async def test_a_database_from_a_backup_that_forgot_the_act_finds_it_at_the_site(tmp_path: Path) -> None:
    file = a_file(tmp_path)
    with ScriptedSite() as site:
        for folder in (tmp_path / "lost", tmp_path / "restored"):
            folder.mkdir()
            async with life(folder, site) as now:
                row = await now.once.submit(file, node=1, source="refit")
        other = a_file(tmp_path, "id,label\n1,0.6\n", "other.csv")
        (tmp_path / "restored anew").mkdir()
        async with life(tmp_path / "restored anew", site) as now:
            third = await now.once.submit(other, node=1, source="refit")
    assert row.id == third.id == "1"
    assert site.tags() == [row.tag, third.tag]


async def test_of_two_processes_at_the_same_intent_one_sends(tmp_path: Path) -> None:
    file = a_file(tmp_path)
    with ScriptedSite(["hold, accept"]) as site:
        async with life(tmp_path, site) as one, life(tmp_path, site) as two:
            intent = one.once.intend(file, node=1, source="refit")
            sending = asyncio.create_task(one.once.complete(intent.id, file))
            await asyncio.to_thread(site.reached.wait)
            waiting = asyncio.create_task(two.once.complete(intent.id, file))
            while not two.clock.slept:
                await asyncio.sleep(0)
            assert not waiting.done()
            site.release.set()
            assert (await sending).ref == (await waiting).ref == f"site/{intent.tag}"
    assert len(site.acts) == 1


async def test_many_tasks_at_once_make_one_act(tmp_path: Path) -> None:
    file = a_file(tmp_path)
    with ScriptedSite(["accept, cut"]) as site:
        async with life(tmp_path, site) as now:
            done = await asyncio.gather(*(now.once.submit(file, node=1, source="refit") for _ in range(8)))
    assert {row.id for row in done} == {"1"}
    assert len(site.acts) == 1


async def test_a_score_is_asked_for_until_it_is_known(tmp_path: Path) -> None:
    with ScriptedSite() as site:
        async with life(tmp_path, site) as now:
            row = await now.once.submit(a_file(tmp_path), node=1, source="refit")
            assert await now.once.score(row.id) is None
            site.scores[row.tag] = 0.25
            assert await now.once.score(row.id) == 0.25
            site.deaf = True
            assert await now.once.score(row.id) == 0.25
            assert_events_match_rows(now.store)


async def test_what_the_site_finds_invalid_when_it_scores_it_is_refused(tmp_path: Path) -> None:
    with ScriptedSite() as site:
        async with life(tmp_path, site) as now:
            row = await now.once.submit(a_file(tmp_path), node=1, source="refit")
            site.scores[row.tag] = "Evaluation Exception: NaN"
            with pytest.raises(SubmissionRefused, match="NaN"):
                await now.once.score(row.id)
            assert [(r.status, r.message) for r in rows(now.store)] == [("refused", "Evaluation Exception: NaN")]
            assert await now.once.score(row.id) is None
            assert_events_match_rows(now.store)

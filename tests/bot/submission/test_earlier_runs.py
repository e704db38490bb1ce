"""What the earlier runs of a competition leave to the one that works now: scores would not compare, but the site is the same."""

import hashlib
from datetime import timedelta

import pytest

from bot.configuration.competition import CompetitionSettings
from bot.submission.rules import accept_rules
from state.approvals import ask_approval, decide_approval
from state.progress import create_node, end_node
from state.submissions import advance_submission, choose_final, intend_submission, submissions_of, update_submission
from state.tables import Submission
from tests.bot.simulator.site.parts import DEADLINE, START
from tests.bot.submission.service_parts import Live, decide
from tests.state.rows import create_run

pytestmark = pytest.mark.asyncio(loop_scope="module")

EARLIER = "tiny_table-comind-builtin-0-20191210T120000Z"


def earlier(
    run: Live, sha: str, *, public: float | None = None, score: float = 9.0, scores: str | None = None
) -> Submission:
    """Have an earlier run, which submitted one file (none that was sent, without a public score)."""
    now, run.clock.time = run.clock.time, START - timedelta(days=20)
    with run.store.write() as tx:
        config, slug = {} if scores is None else {"scores": scores}, run.context.card.slug
        create_run(tx, EARLIER, competition=slug, agent="comind", model="builtin", seed=0, cutoff=None, config=config)
        create_node(tx, EARLIER, action="draft", id=7, code="print(7)")
        end_node(tx, EARLIER, 7, "valid", score=score)
        row = intend_submission(tx, EARLIER, node=7, prediction_source="refit", file_sha=sha)
        if public is not None:
            advance_submission(tx, EARLIER, row.id, "sending")
            advance_submission(tx, EARLIER, row.id, "confirmed", ref="4000")
            update_submission(tx, EARLIER, row.id, score=public)
    run.clock.time = now
    return row


def refit_sha(run: Live, node: int) -> str:
    return hashlib.sha256((run.run.executions / f"n{node}-full-0" / "submission.csv").read_bytes()).hexdigest()


@pytest.mark.integration
async def test_a_file_that_an_earlier_run_sent_is_not_sent_again(run: Live) -> None:
    run.node(2, 0.5)
    earlier(run, refit_sha(run, 2), public=0.4)
    decision = await decide(run.service())
    assert decision.verdict == "never"
    assert decision.reason.endswith(f"it was submitted as submission 1 (node 7 of {EARLIER})")


async def test_a_file_that_the_owner_refused_in_an_earlier_run_is_not_asked_about_again(run: Live) -> None:
    run.node(2, 0.5)
    row = earlier(run, refit_sha(run, 2))
    with run.store.write() as tx:
        held = ask_approval(tx, EARLIER, row.id, reason="it is asked")
        decide_approval(tx, held.id or 0, "refused", "ann")
    decision = await run.service(CompetitionSettings(submit=True, rules_read=True, approve="ask")).consider()
    assert decision.verdict == "never"
    assert decision.reason.endswith(f"you refused it as submission 1 (node 7 of {EARLIER})")
    assert run.notices("approval.asked") == []


async def test_where_its_scores_mean_something_else_they_are_no_bar_but_its_files_count_for_the_cap(run: Live) -> None:
    earlier(
        run, "ab" * 32, public=0.4, score=0.001, scores="of another metric"
    )  # by validation better than any that follows
    run.node(2, 0.5)
    decision = await decide(run.service(CompetitionSettings(submit=True, rules_read=True, max_submissions=1)))
    assert (decision.verdict, "max_submissions is 1" in decision.reason) == ("never", True)
    assert (
        await decide(run.service(CompetitionSettings(submit=True, rules_read=True, max_submissions=2)))
    ).verdict == "send"


async def test_where_its_scores_mean_the_same_what_follows_must_be_better(run: Live) -> None:
    worse, better = run.node(2, 0.3), run.node(3, 0.9)
    earlier(run, "ab" * 32, public=0.4, score=(worse + better) / 2)
    service = run.service()
    decision = await decide(service)
    assert decision.verdict == "send"
    assert "over the best submitted file" in decision.reason
    await service.send()
    assert run.states() == [(3, "confirmed")]
    assert await service.consider() is None  # node 2 is no better than what an earlier run has sent


async def test_rules_that_changed_before_this_run_began_are_still_to_be_read_by_the_owner(run: Live) -> None:
    earlier(run, "ab" * 32, public=0.4)
    for days, words in ((20, "be kind"), (1, "be kinder")):
        run.clock.time = START - timedelta(days=days)
        run.read("page", "rules", content=words)
    run.clock.time = START + timedelta(hours=1)
    run.node(2, 0.5)
    service = run.service()
    assert "rules page has changed" in (await decide(service)).reason
    with run.store.write() as tx:
        accept_rules(tx, run.context.card.slug, "ada")
    assert (await decide(service)).verdict == "send"


async def test_what_an_earlier_run_sent_may_count_in_the_end_by_its_public_score(run: Live) -> None:
    before = earlier(run, "ab" * 32, public=0.01, score=9.0)
    service = run.service()
    for number, quality in ((2, 0.3), (3, 0.6)):
        run.node(number, quality)
        await service.consider()
        await service.send()
    run.site.settle()
    await service.scores.settle()
    run.clock.time = DEADLINE - timedelta(days=1)
    service.scores.propose()
    (notice,) = run.notices("selection.proposed")
    mine = run.submissions()
    assert [tag in notice.body for tag in (before.tag, mine[-1].tag, mine[0].tag)] == [True, True, False]
    assert notice.body.index(before.tag) < notice.body.index(mine[-1].tag)
    with run.store.write() as tx:
        choose_final(tx, run.context.run_id, [mine[0].tag], "ada")
    service.scores.propose()
    notice = run.notices("selection.proposed")[-1]
    assert [tag in notice.body for tag in (mine[0].tag, before.tag, mine[-1].tag)] == [True, True, False]
    assert notice.body.index(mine[0].tag) < notice.body.index(before.tag), "what the owner chose comes first"


async def test_a_score_that_comes_late_for_an_earlier_run_is_taken_from_what_was_polled(run: Live) -> None:
    row = earlier(run, "ab" * 32)
    with run.store.write() as tx:
        advance_submission(tx, EARLIER, row.id, "sending")
        advance_submission(tx, EARLIER, row.id, "confirmed", ref="4000")
    run.read("submission", "4000", status="COMPLETE", public_score="0.25")
    await run.service().scores.settle()
    with run.store.read() as session:
        assert [one.score for one in submissions_of(session, EARLIER)] == [0.25]

"""From the best node to its public score, at the stand-in site, under the policy, and after any death."""

import asyncio
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Literal

import pytest

from bot.budgets.levels import Level
from bot.budgets.settings import Caps
from bot.configuration.competition import CompetitionSettings
from bot.evaluation.answers.findings import suspicious
from bot.evaluation.client.worker import Worker
from bot.submission.rules import accept_rules
from state.approvals import decide_approval, open_requests, request_submission
from state.errors import UsageError
from state.progress import create_node, end_node
from state.tables import Approval
from tests.bot.simulator.site.parts import DEADLINE, START, HandClock
from tests.bot.submission.service_parts import (
    GRADED,
    KERNEL,
    RUN,
    SENDING,
    Ground,
    Live,
    add_kernel,
    decide,
    live,
    write,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")

ASKING = CompetitionSettings(submit=True, rules_read=True, approve="ask", approval_hours=2.0)


@pytest.mark.integration
async def test_the_best_node_is_refitted_sent_once_and_scored(run: Live) -> None:
    run.node(2, 0.3)
    run.node(3, 0.6)
    service = run.service()
    decision = await decide(service)
    assert (decision.verdict, decision.reason) == ("send", "first submission")
    assert await service.consider() is None
    await service.send()
    await service.send()
    (row,) = run.submissions()
    assert (row.node, row.status, row.prediction_source) == (3, "confirmed", "refit")
    (sent,) = run.site.site.submissions
    assert (sent.tag, sent.sha256) == (row.tag, row.file_sha)
    assert (run.folder / "submissions" / f"{row.file_sha}.csv").read_bytes() == (
        run.run.executions / "n3-full-0" / "submission.csv"
    ).read_bytes()

    run.site.settle()
    await service.scores.settle()
    (row,) = run.submissions()
    assert row.score == pytest.approx(run.site.site.submissions[0].public_score)
    assert [notice.kind for notice in run.notices("submission.scored")] == ["submission.scored"]
    (pair,) = service.scores.pairs()
    assert (pair.tag, pair.public) == (row.tag, row.score)
    run.assert_events_match_rows()


async def test_a_new_teams_first_file_is_tried_and_its_owner_told_once(run: Live) -> None:
    run.read("limits", num_today=0, num_total=0, num_allowed_now=0, limited_by_total=False)
    run.node(2, 0.3)
    await run.send_best()
    assert run.states() == [(2, "confirmed")]
    (notice,) = run.notices("submission.quota")
    assert "states no submission limit" in notice.body


async def test_a_site_that_takes_nothing_of_a_new_team_is_believed_and_its_words_are_told(the_ground, tmp_path, worker):
    async with live(the_ground, tmp_path, worker) as run:
        vars(run.site.competition.desk)["_daily"] = 0
        run.node(2, 0.3)
        service = await run.send_best()
        await service.send()
        assert run.states() == [(2, "intended")]
        assert run.site.site.requests["CreateSubmission"] == 1
        (notice,) = run.notices("submission.delayed")
        assert "daily Submission allowance" in notice.body
        run.clock.pass_by(hours=11)
        await service.send()
        assert run.site.site.requests["CreateSubmission"] == 1
        run.clock.pass_by(hours=2)
        vars(run.site.competition.desk)["_daily"] = 5
        await service.send()
        assert run.states() == [(2, "confirmed")]


async def test_a_polled_reading_gives_the_score_without_asking(run: Live) -> None:
    run.node(2, 0.5)
    service = await run.send_best()
    (row,) = run.submissions()
    run.read("submission", str(row.ref), status="COMPLETE", public_score="0.4321")
    asked = run.site.site.requests["GetSubmission"]
    await service.scores.settle()
    assert run.submissions()[0].score == 0.4321
    assert run.site.site.requests["GetSubmission"] == asked


async def test_a_file_that_the_site_finds_invalid_is_a_notice_and_counts_as_sent(run: Live) -> None:
    run.node(2, 0.5)
    service = await run.send_best()
    (row,) = run.submissions()
    run.read("submission", str(row.ref), status="ERROR", error_description="row 3 is odd")
    await service.scores.settle()
    assert run.states() == [(2, "refused")]
    assert "row 3 is odd" in run.notices("submission.refused")[0].body
    assert await service.consider() is None
    run.assert_events_match_rows()


async def test_nothing_is_sent_unless_submitting_is_on_and_the_site_is_not_even_asked(run: Live) -> None:
    run.node(2, 0.5)
    service = run.service(CompetitionSettings())
    decision = await decide(service)
    assert decision.verdict == "never"
    await service.send()
    assert (run.submissions(), sum(run.site.site.requests.values())) == ([], 0)
    (event,) = run.events("submission.considered")
    assert (event.node, event.data["decision"]) == (2, "never")
    assert (await decide(run.service(SENDING))).verdict == "send"


async def test_a_node_is_considered_once_as_things_stand_also_by_another_process(run: Live) -> None:
    run.node(2, 0.6)
    service = await run.send_best()
    run.node(3, 0.605)
    decision = await decide(service)
    assert decision.verdict in ("wait", "never") and "standard error" in decision.reason
    for other in (service, run.service()):
        assert await other.consider() is None
    run.clock.pass_by(days=1)
    assert await service.consider() is not None
    assert await service.consider() is None
    assert len(run.events("submission.considered")) == 3


async def test_what_a_better_one_overtook_is_withdrawn_without_a_word(run: Live) -> None:
    run.node(2, 0.3)
    service = run.service()
    await service.consider()
    run.node(3, 0.9)
    await service.consider()
    await service.send()
    assert run.states() == [(2, "withdrawn"), (3, "confirmed")]
    assert [sent.tag for sent in run.site.site.submissions] == [run.submissions()[1].tag]
    assert run.notices("submission.failed") == []
    run.assert_events_match_rows()


async def test_rules_that_change_stop_everything_until_their_owner_has_read_them(run: Live) -> None:
    run.read("page", "rules", content="be kind")
    run.node(2, 0.5)
    service = run.service()
    await service.consider()
    run.clock.pass_by(minutes=1)
    run.read("page", "rules", content="be kinder")
    await service.send()
    assert (run.states(), run.site.site.submissions) == ([(2, "withdrawn")], [])
    assert "rules page has changed" in (await decide(service)).reason
    (notice,) = run.notices("problem.rules")
    assert notice.urgent
    with run.store.write() as tx:
        accept_rules(tx, run.context.card.slug, "ada")
    await service.consider()
    await service.send()
    assert run.states() == [(2, "withdrawn"), (2, "confirmed")]


async def test_nothing_is_sent_before_the_owner_has_confirmed_the_rules_or_that_there_are_none(run: Live) -> None:
    run.node(2, 0.5)
    service = run.service(CompetitionSettings(submit=True))
    assert "the rules are not confirmed" in (await decide(service)).reason
    with run.store.write() as tx, pytest.raises(UsageError, match="have not been read yet"):
        accept_rules(tx, run.context.card.slug, "ada")
    run.read("page", "description", content="A competition without a page of rules.")
    with run.store.write() as tx:
        assert accept_rules(tx, run.context.card.slug, "ada") == (None, ())
    await service.consider()
    await service.send()
    assert run.states() == [(2, "confirmed")]
    run.read("page", "rules", content="No bots.")
    run.node(3, 0.9)
    assert "rules page has changed" in (await decide(service)).reason


@pytest.mark.integration
@pytest.mark.parametrize(
    ("facts", "why"),
    [
        ({"user_has_entered": False}, "not entered"),
        ({"submissions_disabled": True}, "accepts no more submissions"),
        ({"is_kernels_submissions_only": True}, "accepts notebooks"),
        ({"deadline": "2020-01-10T11:00:00Z"}, "deadline was 2020"),
    ],
)
async def test_what_is_known_of_the_site_forbids(run: Live, facts: dict[str, object], why: str) -> None:
    run.node(2, 0.5)
    service = run.service()
    await service.consider()
    run.read("competition", **facts)
    await service.send()
    assert why in (await decide(service)).reason
    assert (run.states(), run.site.site.submissions) == ([(2, "withdrawn")], [])


@pytest.mark.integration
async def test_a_copy_of_a_public_file_is_never_sent_and_the_next_best_is(run: Live) -> None:
    run.node(2, 0.4)
    run.node(3, 0.7)
    outputs = run.folder / "outputs" / "ann-linear"
    outputs.mkdir(parents=True)
    (outputs / "submission.csv").write_bytes((run.run.executions / "n3-full-0" / "submission.csv").read_bytes())
    service = run.service()
    decision = await decide(service)
    assert (decision.verdict, decision.reason) == (
        "never",
        "the file is a copy: every value is the same as in the public file ann-linear/submission.csv",
    )
    await service.consider()
    await service.send()
    assert run.states() == [(2, "confirmed")]


async def test_a_file_that_becomes_a_copy_while_it_waits_is_not_sent(run: Live) -> None:
    run.node(2, 0.5)
    service = await run.send_best(ASKING)
    outputs = run.folder / "outputs" / "bob__copied"
    outputs.mkdir(parents=True)
    (outputs / "21-0.csv").write_bytes((run.run.executions / "n2-full-0" / "submission.csv").read_bytes())
    decide_on_first(run, "approved")
    await service.send()
    assert (run.states(), run.site.site.submissions) == ([(2, "withdrawn")], [])


async def test_what_the_owner_refuses_is_neither_sent_nor_asked_about_again_as_another_nodes(run: Live) -> None:
    run.node(2, 0.4)
    service = run.service(ASKING)
    await service.consider()
    decide_on_first(run, "refused")
    await service.send()
    assert (run.states(), run.site.site.submissions) == ([(2, "withdrawn")], [])
    assert run.notices("submission.failed") == []
    assert await service.consider() is None
    run.node(3, 0.7)
    for view in ("holdout", "full"):
        for name in ("submission.csv", "validation_predictions.csv"):
            theirs = run.run.executions / f"n2-{view}-0" / name
            if theirs.exists():
                shutil.copyfile(theirs, run.run.executions / f"n3-{view}-0" / name)
    decision = await decide(service)
    assert decision.verdict == "never"
    assert "you refused it as submission 1 (node 2)" in decision.reason
    assert len(run.notices("approval.asked")) == 1


async def test_an_invalid_file_is_never_sent(run: Live) -> None:
    run.node(2, 0.4)
    for view in ("holdout", "full"):
        write(run.run.executions / f"n2-{view}-0" / "submission.csv", {"r0240": 0.5})
    decision = await decide(run.service())
    assert "is invalid" in decision.reason and decision.of_file


async def test_a_script_that_is_nearly_a_public_kernel_is_held_and_names_it(run: Live) -> None:
    add_kernel(run.store, run.context.card.slug, KERNEL)
    run.node(2, 0.5, code=KERNEL + "\nprint('mine')\n")
    service = run.service()
    decision = await decide(service)
    assert decision.verdict == "hold"
    assert "the public notebook ann/strong" in decision.reason
    await service.send()
    assert run.site.site.submissions == []
    assert "ann/strong" in run.notices("approval.asked")[0].body


async def test_what_a_guard_doubts_is_held_with_the_reason(run: Live) -> None:
    run.node(2, 0.5, found=suspicious("too good", "5% is left where the others left half"))
    service = run.service()
    assert (await decide(service)).verdict == "hold"
    await service.send()
    assert run.site.site.submissions == []
    assert "5% is left where the others left half" in run.notices("approval.asked")[0].body


async def test_what_nobody_approves_stays_held_and_is_announced_again_by_a_persons_clock(run: Live) -> None:
    run.node(2, 0.5)
    owners = HandClock(START)
    service = run.service(ASKING, owner_clock=owners)
    await service.consider()
    run.clock.pass_by(days=1)  # of a rehearsal, which is a moment to a person
    await service.send()
    assert len(run.notices("approval.asked")) == 1
    run.node(3, 0.3)
    assert await service.consider() is None, "a worse file is not proposed"
    owners.pass_by(hours=2)
    for _ in range(2):
        await service.send()
    assert len(run.notices("approval.asked")) == 2
    assert (run.states(), run.site.site.submissions, approval(run).decision) == ([(2, "intended")], [], None)
    decide_on_first(run, "approved")
    await run.service(ASKING).send()
    assert run.states() == [(2, "confirmed")]
    run.assert_events_match_rows()


async def test_what_is_held_at_the_end_of_the_competition_is_withdrawn(run: Live) -> None:
    run.node(2, 0.5)
    service = await run.send_best(ASKING.model_copy(update={"deadline": run.clock.now() + timedelta(hours=1)}))
    assert run.states() == [(2, "intended")]
    run.clock.pass_by(hours=2)
    await service.send()
    assert run.states() == [(2, "withdrawn")]
    assert "you had not approved it when the competition ended" in run.notices("submission.failed")[0].body


async def test_the_baseline_is_offered_only_once_another_node_has_a_score(run: Live) -> None:
    run.node(1, 0.3)
    deadline = run.clock.now() + timedelta(days=3)
    service = run.service(ASKING.model_copy(update={"deadline": deadline}))
    with run.store.write() as tx:
        create_node(tx, RUN, action="draft", id=3, code="print(x)")
        end_node(tx, RUN, 3, "buggy")
    assert await service.consider() is None
    run.node(2, 0.2)
    assert (await decide(service)).verdict == "hold"
    assert run.states() == [(1, "intended")]


async def test_shortly_before_the_deadline_even_the_baseline_is_offered(run: Live) -> None:
    run.node(1, 0.3)
    await run.send_best(ASKING.model_copy(update={"deadline": run.clock.now() + timedelta(hours=20)}))
    assert run.states() == [(1, "intended")]


@pytest.mark.integration
async def test_a_better_one_is_asked_about_in_place_of_one_that_waits(run: Live) -> None:
    run.node(2, 0.3)
    service = run.service(ASKING)
    await service.consider()
    run.node(3, 0.9)
    await service.consider()
    await service.send()
    assert run.states() == [(2, "withdrawn"), (3, "intended")]
    assert approval(run).decision == "withdrawn"
    assert len(run.notices("approval.asked")) == 1, "it is announced when the first would have been again"
    with pytest.raises(UsageError, match="replaced by a better file; `bot approve 2` submits"), run.store.write() as tx:
        decide_approval(tx, 1, "approved", "ann")


async def test_a_held_file_that_is_worse_than_one_that_was_sent_is_withdrawn(run: Live) -> None:
    run.node(2, 0.3)
    service = await run.send_best(ASKING)
    run.node(3, 0.9)
    with run.store.write() as tx:
        request_submission(tx, RUN, 3, "ann")
    await service.consider()
    await service.send()
    assert run.states() == [(2, "withdrawn"), (3, "confirmed")]
    assert (approval(run).decision, run.notices("submission.failed")) == ("withdrawn", [])


async def test_a_wish_goes_whatever_its_gain_but_not_past_the_rules(run: Live) -> None:
    run.node(2, 0.7)
    run.node(3, 0.5)
    service = run.service(ASKING)
    with run.store.write() as tx:
        request_submission(tx, RUN, 3, "ann")
    decision = await decide(service)
    assert (decision.verdict, decision.reason) == ("send", "you requested it")
    await service.send()
    assert run.states() == [(3, "confirmed")]
    with run.store.read() as session:
        assert open_requests(session, RUN) == []
    run.read("competition", submissions_disabled=True)
    with run.store.write() as tx:
        request_submission(tx, RUN, 2, "ann")
    assert (await decide(service)).verdict == "never"
    with run.store.read() as session:
        assert open_requests(session, RUN) == []


@pytest.mark.integration
async def test_the_days_quota_is_kept_and_the_rest_goes_tomorrow(the_ground, tmp_path, worker) -> None:
    site = GRADED.model_copy(update={"daily_submissions": 5})
    settings = CompetitionSettings(submit=True, rules_read=True, submissions_per_day=1)
    async with live(the_ground, tmp_path, worker, settings=site) as run:
        run.node(2, 0.2)
        service = await run.send_best(settings)
        run.node(3, 0.9)
        decision = await decide(service)
        assert decision.verdict == "wait"
        assert decision.until is not None and decision.until.hour == 0
        await service.send()
        assert len(run.site.site.submissions) == 1
        run.clock.time = decision.until
        await service.consider()
        await service.send()
        assert run.states() == [(2, "confirmed"), (3, "confirmed")]


async def test_a_cap_of_the_budget_is_kept(the_ground: Ground, tmp_path: Path, worker: Worker) -> None:
    level = Level("competition", Caps(submissions=1))
    async with live(the_ground, tmp_path, worker, spending=level) as run:
        run.node(2, 0.2)
        service = await run.send_best()
        run.node(3, 0.9)
        assert "cap on submissions has been reached" in (await decide(service)).reason
        assert len(run.site.site.submissions) == 1


async def test_a_site_that_cannot_be_asked_sends_nothing_and_is_asked_again_later(run: Live) -> None:
    run.node(2, 0.5)
    service = run.service()
    url = run.submitter.client.url  # type: ignore[attr-defined]
    run.submitter.client.url = url.replace("127.0.0.1", "127.0.0.2")  # type: ignore[attr-defined]
    assert url != run.submitter.client.url  # type: ignore[attr-defined]
    assert (await decide(service)).verdict == "wait"
    assert await service.consider() is None
    run.submitter.client.url = url  # type: ignore[attr-defined]
    run.clock.pass_by(hours=2)
    assert (await decide(service)).verdict == "send"


@pytest.mark.integration
async def test_the_final_selection_is_proposed_in_the_last_days_and_again_when_it_changes(run: Live) -> None:
    service = run.service()
    for number, (quality, test) in enumerate(((0.2, 0.9), (0.6, 0.5)), 2):
        run.node(number, quality, test=test)
        await service.consider()
        await service.send()
    run.site.settle()
    await service.scores.settle()
    service.scores.propose()
    assert run.notices("selection.proposed") == []
    run.clock.time = DEADLINE - timedelta(days=1)
    for _ in range(2):
        service.scores.propose()
    (notice,) = run.notices("selection.proposed")
    first, second = run.submissions()
    assert notice.body.index(first.tag) < notice.body.index(second.tag), "the best by public score comes first"
    run.node(4, 0.95)
    await service.consider()
    await service.send()
    run.site.settle()
    await service.scores.settle()
    service.scores.propose()
    assert len(run.notices("selection.proposed")) == 2
    assert len(run.events("selection.proposed")) == 2


@pytest.mark.integration
async def test_that_validation_no_longer_predicts_the_board_is_a_notice_once(run: Live) -> None:
    service = run.service()
    for number in range(2, 9):
        run.node(number, number / 10, test=1.0 - number / 10)
        with run.store.write() as tx:
            request_submission(tx, RUN, number, "ann")
        run.clock.pass_by(days=1)
        await service.consider()
        await service.send()
    run.site.settle()
    await service.scores.settle()
    for _ in range(2):
        found = service.scores.check_correlation()
        assert found.pairs == 7 and found.correlation is not None and found.correlation < -0.9
    assert len(run.notices("submission.disagree")) == len(run.events("submission.relation_broken")) == 1


def approval(run: Live) -> Approval:
    with run.store.read() as session:
        return session.get_one(Approval, 1)


def decide_on_first(run: Live, decision: Literal["approved", "refused"]) -> None:
    with run.store.write() as tx:
        decide_approval(tx, 1, decision, "ann")


@pytest.mark.integration
async def test_all_of_it_may_be_called_side_by_side(run: Live) -> None:
    run.node(2, 0.4)
    run.node(3, 0.8)
    service = run.service()
    for _ in range(3):
        await asyncio.gather(*(call() for call in (service.consider, service.send, service.scores.settle) * 2))
    assert run.states() == [(3, "confirmed")]
    assert len(run.site.site.submissions) == 1

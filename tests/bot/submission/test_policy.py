"""The policy: its rules one by one, and laws that hold whatever the facts."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.configuration.competition import CompetitionSettings
from bot.submission.policy import LARGE, LATE_GAIN_ERRORS, MIN_GAIN_ERRORS, RETRY, SIMILAR_SHARE, DecisionInputs, decide

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
DEADLINE = datetime(2026, 4, 1, tzinfo=UTC)
FACTS = DecisionInputs(
    now=NOON,
    deadline=DEADLINE,
    remaining_today=5,
    remaining_total=None,
    sent_today=0,
    sent_count=3,
    score=0.9,
    best_sent=0.8,
    noise=0.01,
    has_entered=True,
)
OPEN = CompetitionSettings(submit=True)
RESERVING = CompetitionSettings(submit=True, max_submissions=10, reserved_submissions=4, reserved_days=2.0)


def test_a_large_gain_goes_at_once_and_the_sentence_has_the_figures() -> None:
    decision = decide(FACTS, OPEN)
    assert (decision.verdict, decision.until) == ("send", None)
    assert decision.reason == "a gain of 0.1 over the best submitted file, with a standard error of 0.01"


def test_a_gain_over_a_file_that_only_waits_is_none_over_what_was_sent() -> None:
    waits = replace(FACTS, best_waits=True, approved=True)
    assert (
        decide(waits, OPEN).reason == "a gain of 0.1 over the best of the waiting files, with a standard error of 0.01"
    )
    assert decide(replace(waits, sent_count=0), OPEN).reason.startswith("first submission, with a gain of 0.1 over")


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"closed": "the site accepts no more submissions"}, "accepts no more submissions"),
        ({"has_entered": False}, "not entered"),
        ({"rules_changed": True}, "rules page has changed"),
        ({"rules_confirmed": False}, "the rules are not confirmed"),
        ({"capped": "the run's cap has been reached"}, "cap has been reached"),
        ({"invalid": "row 3 is missing"}, "invalid: row 3 is missing"),
        ({"copied": "every value is the same as in x.csv"}, "a copy: every value"),
        ({"now": DEADLINE}, "deadline was 2026-04-01T00:00:00Z"),
        ({"score": 0.79}, "a gain of -0.01"),
        ({"score": None}, "no validation score"),
        ({"remaining_total": 0}, "the site accepts no more"),
        ({"self_reported": True}, "its score is self-reported"),
        ({"self_reported": True, "approved": True, "best_sent": None}, "its score is self-reported"),
    ],
)
def test_what_forbids_a_file_is_the_reason(changed: dict[str, Any], words: str) -> None:
    decision = decide(replace(FACTS, **changed), OPEN)
    assert decision.verdict == "never"
    assert words in decision.reason


def test_what_a_guard_doubts_is_held_until_a_person_has_looked_also_where_it_was_wished_for() -> None:
    doubted = replace(FACTS, doubts="too good (suspicious): nothing else is wrong")
    decision = decide(doubted, OPEN)
    assert decision.verdict == "hold"
    assert "too good (suspicious): nothing else is wrong; a gain of 0.1" in decision.reason
    assert decide(replace(doubted, requested=True), OPEN).verdict == "hold"
    assert decide(replace(doubted, approved=True), OPEN).verdict == "send"


def test_only_what_is_wrong_with_the_file_lets_another_node_go() -> None:
    names = ("invalid", "copied", "closed", "capped")
    assert [decide(replace(FACTS, **{name: "x"}), OPEN).of_file for name in names] == [True, True, False, False]


def test_the_first_file_goes_whatever_its_score() -> None:
    assert decide(replace(FACTS, best_sent=None, noise=None, score=-5.0), OPEN).reason == "first submission"


def test_a_gain_must_be_beyond_the_noise_and_less_so_in_the_last_days() -> None:
    small = replace(FACTS, score=0.8 + 0.01 * (MIN_GAIN_ERRORS + LATE_GAIN_ERRORS) / 2)
    early, late = decide(small, OPEN), decide(replace(small, now=DEADLINE - timedelta(days=2)), OPEN)
    assert (early.verdict, early.until) == ("wait", DEADLINE - timedelta(days=3))
    assert late.verdict == "send"
    assert decide(replace(small, score=0.8 + 0.009 * LATE_GAIN_ERRORS), OPEN).verdict == "never"


def test_noise_that_is_not_known_is_no_noise_to_be_beyond() -> None:
    decision = decide(replace(FACTS, noise=None), OPEN)
    assert (decision.verdict, decision.until) == ("wait", NOON + timedelta(hours=1))


@pytest.mark.parametrize(("sent_today", "hour"), [(1, 4.8), (2, 9.6), (4, 19.2)])
def test_of_five_a_day_the_kth_may_go_when_so_much_of_the_day_is_over(sent_today: int, hour: float) -> None:
    medium = replace(
        FACTS, score=0.8 + 0.01 * (MIN_GAIN_ERRORS + LARGE) / 2, sent_today=sent_today, remaining_today=5 - sent_today
    )
    turn = datetime(2026, 3, 2, tzinfo=UTC) + timedelta(hours=hour)
    before = decide(replace(medium, now=turn - timedelta(seconds=1)), OPEN)
    assert (before.verdict, before.until) == ("wait", turn)
    assert f"file {sent_today + 1} of 5 for today" in before.reason
    assert decide(replace(medium, now=turn), OPEN).verdict == "send"
    assert decide(replace(medium, now=turn - timedelta(hours=1), score=0.95), OPEN).verdict == "send"


def test_the_last_day_ends_at_the_deadline() -> None:
    soon = replace(FACTS, deadline=NOON + timedelta(hours=2), score=0.82, sent_today=4, remaining_today=1)
    assert decide(replace(soon, now=NOON - timedelta(hours=2)), OPEN).until == NOON - timedelta(hours=12 - 14 * 0.8)
    assert decide(soon, OPEN).verdict == "send"


def test_when_the_day_is_used_up_it_waits_for_the_next_unless_there_is_none() -> None:
    midnight = datetime(2026, 3, 3, tzinfo=UTC)
    full = replace(FACTS, remaining_today=0, sent_today=5)
    assert (decide(full, OPEN).verdict, decide(full, OPEN).until) == ("wait", midnight)
    assert decide(replace(full, deadline=midnight), OPEN).verdict == "never"
    own = decide(replace(FACTS, sent_today=2), CompetitionSettings(submit=True, submissions_per_day=2))
    assert (own.until, "submissions_per_day is 2" in own.reason) == (midnight, True)
    cap = decide(replace(FACTS, capped_today="the day's cap has been reached"), OPEN)
    assert (cap.verdict, cap.until) == ("wait", midnight)


def test_the_reserve_is_kept_for_the_last_days() -> None:
    kept = decide(replace(FACTS, sent_count=6), RESERVING)
    assert (kept.verdict, kept.until) == ("wait", DEADLINE - timedelta(days=2))
    assert "reserved_submissions is 4" in kept.reason
    assert decide(replace(FACTS, sent_count=5), RESERVING).verdict == "send"
    late = replace(FACTS, sent_count=9, now=DEADLINE - timedelta(days=1))
    assert decide(late, RESERVING).verdict == "send"
    assert "max_submissions is 10" in decide(replace(late, sent_count=10), RESERVING).reason


def test_a_person_is_asked_where_that_is_wanted_or_the_script_is_nearly_a_kernel() -> None:
    asking = CompetitionSettings(submit=True, approve="ask")
    assert decide(FACTS, asking).verdict == "hold"
    assert decide(replace(FACTS, approved=True), asking).verdict == "send"
    assert decide(replace(FACTS, requested=True), asking).verdict == "send"
    like = replace(FACTS, kernel_share=0.94, kernel="ann/strong", requested=True)
    held = decide(like, OPEN)
    assert (held.verdict, held.reason.split(":")[0]) == (
        "hold",
        "94% of the script is also in the public notebook ann/strong",
    )
    assert decide(replace(like, approved=True), OPEN).verdict == "send"
    assert decide(replace(like, kernel_share=SIMILAR_SHARE - 0.01), OPEN).verdict == "send"


def test_a_wish_needs_no_gain_and_no_turn_but_all_else() -> None:
    request = replace(FACTS, requested=True, score=0.1, sent_today=4, remaining_today=1, noise=None)
    assert decide(request, OPEN).verdict == "send"
    assert decide(replace(request, self_reported=True), OPEN).verdict == "send"
    assert decide(replace(request, sent_count=6), RESERVING).verdict == "wait"
    assert decide(replace(request, rules_changed=True), OPEN).verdict == "never"


_score = st.floats(-1, 1)


def test_an_unknown_quota_is_tried_once_a_day_and_is_no_empty_one() -> None:
    new = replace(FACTS, remaining_today=None, best_sent=None, sent_count=0, sent_today=0, quota_known=False)
    first = decide(new, OPEN)
    assert (first.verdict, first.trial) == ("send", True)
    second = decide(replace(new, sent_count=1, sent_today=1), OPEN)
    assert (second.verdict, second.until) == ("wait", FACTS.now + RETRY)
    assert decide(replace(new, sent_count=1), OPEN).verdict == "send", "on the next day"
    assert not decide(replace(new, quota_known=True), OPEN).trial


@pytest.mark.parametrize(("daily", "most"), [(1, 1), (2, 1), (5, 4), (10, 8), (100, 80)])
def test_a_fifth_of_the_day_is_kept_for_people_unless_a_number_is_set(daily: int, most: int) -> None:
    one = replace(FACTS, daily=daily, remaining_today=None)
    sent = [n for n in range(daily) if decide(replace(one, sent_today=n, score=9.0), OPEN).verdict == "send"]
    assert len(sent) == most
    set_ = OPEN.model_copy(update={"submissions_per_day": daily})
    assert decide(replace(one, sent_today=daily - 1, score=9.0), set_).verdict == "send"
    assert decide(replace(one, sent_today=daily - 1, requested=True), OPEN).verdict == "send", "a person's own request"


_count = st.integers(0, 12)


@st.composite
def facts(draw: st.DrawFn) -> DecisionInputs:
    return DecisionInputs(
        now=NOON + timedelta(minutes=draw(st.integers(-40 * 1440, 40 * 1440))),
        deadline=draw(st.none() | st.just(DEADLINE)),
        remaining_today=draw(st.none() | _count),
        remaining_total=draw(st.none() | _count),
        sent_today=draw(_count),
        sent_count=draw(_count),
        score=draw(st.none() | _score),
        best_sent=draw(st.none() | _score),
        noise=draw(st.none() | st.floats(0, 1)),
        has_entered=draw(st.sampled_from([None, True, True, False])),
        closed=draw(st.sampled_from([None, None, "closed"])),
        rules_changed=draw(st.sampled_from([False, False, True])),
        rules_confirmed=draw(st.sampled_from([True, True, False])),
        daily=draw(st.none() | _count),
        capped=draw(st.sampled_from([None, None, "cap"])),
        capped_today=draw(st.sampled_from([None, None, "cap of the day"])),
        invalid=draw(st.sampled_from([None, None, "bad"])),
        copied=draw(st.sampled_from([None, None, "copy"])),
        kernel_share=draw(st.sampled_from([0.0, 0.5, 0.95])),
        kernel="ann/strong",
        self_reported=draw(st.sampled_from([False, False, True])),
        approved=draw(st.booleans()),
        requested=draw(st.booleans()),
        quota_known=draw(st.booleans()),
    )


@st.composite
def allowed(draw: st.DrawFn) -> CompetitionSettings:
    most = draw(st.none() | _count)
    return CompetitionSettings(
        submit=draw(st.sampled_from([True, True, True, False])),
        approve=draw(st.sampled_from(["auto", "ask"])),
        submissions_per_day=draw(st.none() | st.integers(1, 8)),
        max_submissions=most,
        reserved_submissions=0 if most is None else draw(st.integers(0, most)),
        reserved_days=draw(st.sampled_from([0.0, 0.5, 3.0])),
    )


_RANK = {"never": 0, "wait": 1, "hold": 2, "send": 2}


@pytest.mark.integration
@given(facts(), allowed())
def test_never_beyond_quota_caps_or_reserve_and_never_against_a_fact(
    one: DecisionInputs, own: CompetitionSettings
) -> None:
    decision = decide(one, own)
    assert decision.reason
    assert (decision.until is not None) == (decision.verdict == "wait")
    if decision.verdict == "wait":
        assert decision.until is not None and decision.until > one.now
        assert one.deadline is None or decision.until < one.deadline
    if decision.verdict not in ("send", "hold"):
        return
    assert own.submit and one.has_entered is not False and not one.rules_changed and one.rules_confirmed
    if own.submissions_per_day is None and one.daily is not None and one.daily > 1 and not one.requested:
        assert one.sent_today < one.daily, "at least one is kept for the owner"
    assert (one.closed, one.capped, one.capped_today, one.invalid, one.copied) == (None,) * 5
    assert one.requested or not one.self_reported
    assert one.deadline is None or one.now < one.deadline
    assert one.remaining_today is None or one.remaining_today > 0
    assert one.remaining_total is None or one.remaining_total > 0
    assert one.quota_known or one.sent_today == 0
    assert own.submissions_per_day is None or one.sent_today < own.submissions_per_day
    late = one.deadline is not None and one.now >= one.deadline - timedelta(days=own.reserved_days)
    if own.max_submissions is not None:
        assert one.sent_count < own.max_submissions - (0 if late else own.reserved_submissions)
    if not one.requested and one.best_sent is not None:
        assert one.score is not None and one.noise is not None
        assert one.score - one.best_sent > (LATE_GAIN_ERRORS if late else MIN_GAIN_ERRORS) * one.noise
    if decision.verdict == "send" and not one.approved:
        assert one.kernel_share < SIMILAR_SHARE
        assert own.approve == "auto" or one.requested


@pytest.mark.integration
@given(facts(), allowed(), _score, _score)
def test_a_larger_gain_is_never_held_back_more(one, own, first, second) -> None:
    low, high = (decide(replace(one, score=score), own) for score in sorted((first, second)))
    assert _RANK[low.verdict] <= _RANK[high.verdict]


@pytest.mark.integration
@given(facts(), allowed(), st.integers(1, 5))
def test_having_sent_more_never_lets_more_go(one: DecisionInputs, own: CompetitionSettings, more: int) -> None:
    fewer = decide(one, own)
    sent = replace(one, sent_count=one.sent_count + more, sent_today=one.sent_today + more)
    if one.remaining_today is not None:
        sent = replace(sent, remaining_today=max(0, one.remaining_today - more))
    # What is not worth it may wait for the next day first, where the day's files are used up.
    goes = _RANK["send"]
    assert _RANK[decide(sent, own).verdict] < goes or _RANK[fewer.verdict] == goes

"""Approvals and wishes: asked once, decided once, and recorded as events."""

from datetime import timedelta

import pytest

from state.approvals import (
    answer_wish,
    approval_of,
    ask_approval,
    decide_approval,
    find_approval,
    make_wish,
    open_wishes,
    undecided,
    wish_for,
)
from state.errors import UsageError
from state.progress import create_node
from state.store import Store
from state.submissions import advance_submission, intend_submission, may_be_there
from state.tables import Submission
from tests.state.conftest import START
from tests.state.derive import from_events, from_rows


@pytest.fixture
def row(store: Store, run_id: str) -> Submission:
    with store.write() as tx:
        create_node(tx, run_id, action="draft")
        return intend_submission(tx, run_id, node=1, handed_in="refit", file_sha="ab" * 32)


def test_a_submission_is_asked_about_once_and_decided_once(store: Store, run_id: str, row: Submission) -> None:
    for why in ("a gain", "another reason"):
        with store.write() as tx:
            held = ask_approval(tx, run_id, row.id, expires_at=START + timedelta(hours=1), why=why)
    assert (held.id, held.why, held.decision) == (1, "a gain", None)
    for _ in range(2):
        with store.write() as tx:
            decide_approval(tx, 1, "approved", "ann")
    with pytest.raises(UsageError, match="submission 1 was approved already, by ann"), store.write() as tx:
        decide_approval(tx, 1, "refused", "bob")
    types = [event["type"] for event in store.export_events(run_id)]
    assert (types.count("approval.asked"), types.count("approval.decided")) == (1, 1)
    assert from_events(store.export_events(run_id)).approvals == from_rows(store, run_id).approvals == {"1": "approved"}


def test_what_was_never_decided_is_told_in_words(store: Store, run_id: str, row: Submission) -> None:
    with store.write() as tx:
        ask_approval(tx, run_id, row.id, expires_at=tx.now() + timedelta(hours=24), why="a gain")
        decide_approval(tx, 1, "expired", "bot")
    with pytest.raises(UsageError, match="1 waited too long: nobody approved it within 24 hours"), store.write() as tx:
        decide_approval(tx, 1, "approved", "ann")


def test_what_was_withdrawn_is_told_with_the_reason(store: Store, run_id: str, row: Submission) -> None:
    with store.write() as tx:
        ask_approval(tx, run_id, row.id, expires_at=tx.now(), why="a gain")
        advance_submission(tx, run_id, row.id, "withdrawn", message="a better file replaced it")
        decide_approval(tx, 1, "moot", "bot")
    with pytest.raises(UsageError, match="1 was withdrawn: a better file replaced it"), store.write() as tx:
        decide_approval(tx, 1, "approved", "ann")


def test_it_is_found_by_its_number_or_the_tag(store: Store, run_id: str, row: Submission) -> None:
    with store.write() as tx:
        ask_approval(tx, run_id, row.id, expires_at=START, why="")
    with store.read() as session:
        found = [find_approval(session, name) for name in ("1", row.tag, "2", "no such tag", "")]
        assert [None if one is None else one.id for one in found] == [1, 1, None, None, None]
        assert [one.id for one in undecided(session)] == [1]
        assert approval_of(session, run_id, "9") is None


def test_a_wish_is_open_until_it_is_answered(store: Store, run_id: str, row: Submission) -> None:
    for _ in range(2):
        with store.write() as tx:
            wish = make_wish(tx, run_id, 1, "ann")
    with store.write() as tx:
        answer_wish(tx, wish.id or 0, "open", "the quota is used up")
    with store.read() as session:
        (there,) = open_wishes(session, run_id)
        assert (there.seen_at, there.why) == (START, "the quota is used up")
    with store.write() as tx:
        answer_wish(tx, wish.id or 0, "intended", "", row.id)
    with store.read() as session:
        assert open_wishes(session, run_id) == []
        found = wish_for(session, run_id, row.id)
        assert found is not None and found.id == wish.id


def test_a_submission_records_when_it_was_sent(store, run_id, row, clock) -> None:
    assert (row.sent_at, may_be_there(row)) == (None, False)
    clock.pass_by(60)
    with store.write() as tx:
        sent = advance_submission(tx, run_id, row.id, "sending")
    clock.pass_by(60)
    with store.write() as tx:
        sent = advance_submission(tx, run_id, row.id, "confirmed", ref="7")
    assert (sent.sent_at, may_be_there(sent)) == (START + timedelta(seconds=60), True)
    with store.write() as tx:
        assert may_be_there(advance_submission(tx, run_id, row.id, "refused", message="odd"))

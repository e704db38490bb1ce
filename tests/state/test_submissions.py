"""Outward acts as rows: submissions, approvals, requests, and where notebooks stand."""

import itertools
from dataclasses import replace
from datetime import timedelta
from typing import get_args

import pytest
from sqlalchemy.exc import IntegrityError

from state.approvals import (
    answer_request,
    approval_of,
    ask_approval,
    decide_approval,
    find_approval,
    open_requests,
    request_of,
    request_submission,
    undecided,
)
from state.errors import UsageError
from state.notebooks import NOTEBOOK_REFUSED, REMOVED, NotebookState, Stage, failures_of, notebook_states, record_stage
from state.progress import create_node
from state.store import Store
from state.submissions import SubmissionStatus, advance_submission, intend_submission, may_be_there, submissions_of
from state.tables import Submission
from tests.state.conftest import START
from tests.state.derive import from_events, from_rows
from tests.state.rows import add_submission

SHA = "0123456789abcdef" * 4


def test_submissions_are_numbered_within_their_run_and_tagged_by_run_number_and_file(store: Store, run_id: str) -> None:
    with store.write() as tx:
        tags = [intend_submission(tx, run_id, node=1, prediction_source="refit", file_sha=SHA).tag for _ in range(11)]
        other = intend_submission(tx, "other", node=1, prediction_source="refit", file_sha=SHA)
    assert tags == [f"r-{n}-01234567" for n in range(1, 12)]
    assert other.tag == "other-1-01234567"
    with store.read() as session:
        assert [row.id for row in submissions_of(session, run_id)] == [str(n) for n in range(1, 12)]


def test_no_tag_is_given_twice(store: Store, run_id: str) -> None:
    with store.write() as tx:
        add_submission(tx, run_id, "1", node=1, tag="t", status="intended", prediction_source="refit")
    with pytest.raises(IntegrityError), store.write() as tx:
        add_submission(tx, "other", "1", node=1, tag="t", status="intended", prediction_source="refit")


def test_of_two_who_want_to_send_one_gets_there(store: Store, run_id: str) -> None:
    with store.write() as tx:
        intend_submission(tx, run_id, node=1, prediction_source="refit", file_sha=SHA)
    with store.write() as tx:
        advance_submission(tx, run_id, "1", "sending")
    with pytest.raises(ValueError, match="is sending, so it cannot become sending"), store.write() as tx:
        advance_submission(tx, run_id, "1", "sending")


@pytest.mark.integration
def test_what_was_refused_or_withdrawn_is_never_sent(store: Store, run_id: str) -> None:
    """Every way of up to three moves that the rules allow: after an end nothing follows."""
    statuses = get_args(SubmissionStatus)
    ends = set()
    for number, way in enumerate(way for n in (1, 2, 3) for way in itertools.product(statuses, repeat=n)):
        try:
            with store.write() as tx:
                row = intend_submission(tx, f"way {number}", node=1, prediction_source="refit", file_sha=SHA)
                for status in way:
                    advance_submission(tx, f"way {number}", row.id, status, ref="x")
        except ValueError:
            continue
        assert not {"refused", "withdrawn"} & set(way[:-1])
        if "confirmed" in way[:-1]:
            assert way[way.index("confirmed") + 1 :] == ("refused",)
        ends.add(way[-1])
    assert ends == set(statuses)


def test_a_reason_is_forgotten_when_it_no_longer_holds_and_the_sites_name_is_not(store: Store, run_id: str) -> None:
    with store.write() as tx:
        intend_submission(tx, run_id, node=1, prediction_source="refit", file_sha=SHA)
        advance_submission(tx, run_id, "1", "sending")
        assert advance_submission(tx, run_id, "1", "doubtful", message="cut").message == "cut"
        row = advance_submission(tx, run_id, "1", "confirmed", ref="site/1")
        assert (row.message, row.ref) == (None, "site/1")
        row = advance_submission(tx, run_id, "1", "refused", message="NaN")
        assert (row.message, row.ref) == ("NaN", "site/1")


@pytest.fixture
def row(store: Store, run_id: str) -> Submission:
    with store.write() as tx:
        create_node(tx, run_id, action="draft")
        return intend_submission(tx, run_id, node=1, prediction_source="refit", file_sha="ab" * 32)


def test_a_submission_is_asked_about_once_and_decided_once(store: Store, run_id: str, row: Submission) -> None:
    for why in ("a gain", "another reason"):
        with store.write() as tx:
            held = ask_approval(tx, run_id, row.id, reason=why)
    assert (held.id, held.reason, held.decision) == (1, "a gain", None)
    for _ in range(2):
        with store.write() as tx:
            decide_approval(tx, 1, "approved", "ann")
    with pytest.raises(UsageError, match="submission 1 was already approved by ann"), store.write() as tx:
        decide_approval(tx, 1, "refused", "bob")
    types = [event["type"] for event in store.export_events(run_id)]
    assert (types.count("approval.asked"), types.count("approval.decided")) == (1, 1)
    assert from_events(store.export_events(run_id)).approvals == from_rows(store, run_id).approvals == {"1": "approved"}


def test_what_was_withdrawn_is_told_with_the_reason(store: Store, run_id: str, row: Submission) -> None:
    with store.write() as tx:
        ask_approval(tx, run_id, row.id, reason="a gain")
        advance_submission(tx, run_id, row.id, "withdrawn", message="replaced by a better file")
        decide_approval(tx, 1, "withdrawn", "bot")
    with pytest.raises(UsageError, match="1 was withdrawn: replaced by a better file"), store.write() as tx:
        decide_approval(tx, 1, "approved", "ann")


def test_it_is_found_by_its_number_or_the_tag(store: Store, run_id: str, row: Submission) -> None:
    with store.write() as tx:
        ask_approval(tx, run_id, row.id, reason="")
    with store.read() as session:
        found = [find_approval(session, name) for name in ("1", row.tag, "2", "no such tag", "")]
        assert [None if one is None else one.id for one in found] == [1, 1, None, None, None]
        assert [one.id for one in undecided(session)] == [1]
        assert approval_of(session, run_id, "9") is None


def test_a_wish_is_open_until_it_is_answered(store: Store, run_id: str, row: Submission) -> None:
    for _ in range(2):
        with store.write() as tx:
            request = request_submission(tx, run_id, 1, "ann")
    with store.write() as tx:
        answer_request(tx, request.id or 0, "open", "the quota is used up")
    with store.read() as session:
        (there,) = open_requests(session, run_id)
        assert (there.seen_at, there.reason) == (START, "the quota is used up")
    with store.write() as tx:
        answer_request(tx, request.id or 0, "intended", "", row.id)
    with store.read() as session:
        assert open_requests(session, run_id) == []
        found = request_of(session, run_id, row.id)
        assert found is not None and found.id == request.id


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


ONE, OTHER = "1" * 64, "2" * 64


def states(store: Store, run_id: str) -> dict[str, NotebookState]:
    with store.read() as session:
        return dict(notebook_states(session, run_id))


def test_a_package_stands_where_its_last_event_says_and_keeps_what_earlier_ones_said(store, run_id, clock) -> None:
    with store.write() as tx:
        record_stage(tx, run_id, 3, ONE, "uploaded", data_set="me/weights")
        record_stage(tx, run_id, 4, OTHER, "pushing", ref="me/other")
        record_stage(tx, "another run", 3, ONE, "failed", reason="x")
    clock.pass_by(60)
    with store.write() as tx:
        record_stage(tx, run_id, 3, ONE, "pushed", ref="me/one", version=1)
    found = states(store, run_id)
    assert found[ONE] == NotebookState(3, "pushed", clock.now(), "me/one", 1, "me/weights")
    assert (found[OTHER].stage, found[OTHER].ref) == ("pushing", "me/other")
    with store.read() as session:
        assert list(notebook_states(session, run_id, OTHER)) == [OTHER]


def test_what_is_removed_stands_where_it_stood(store: Store, run_id: str) -> None:
    with store.write() as tx:
        record_stage(tx, run_id, 3, ONE, "ran", ref="me/one", version=1)
    before = states(store, run_id)[ONE]
    with store.write() as tx:
        tx.record(REMOVED, run_id=run_id, node=3, package=ONE)
    assert states(store, run_id)[ONE] == replace(before, removed=True)


def test_the_last_reason_of_a_node_counts_whether_it_was_rehearsed_or_pushed(store: Store, run_id: str) -> None:
    with store.write() as tx:
        record_stage(tx, run_id, 3, ONE, "failed", reason="it ran out of memory", log="a" * 9_000 + "the end")
        tx.record(NOTEBOOK_REFUSED, run_id=run_id, node=4, reason="it is too slow")
        tx.record(NOTEBOOK_REFUSED, run_id=run_id, node=4, reason="it hard-codes its rows")
    with store.read() as session:
        assert failures_of(session, run_id) == {3: "it ran out of memory", 4: "it hard-codes its rows"}
    log = states(store, run_id)[ONE].log
    assert log.endswith("the end") and len(log) < 5_000


def test_every_stage_has_its_sentence(store: Store, run_id: str) -> None:
    for stage in get_args(Stage):
        with store.write() as tx:
            record_stage(tx, run_id, 3, ONE, stage, ref="me/one", version=1, reason="no reason")
        sentence = states(store, run_id)[ONE].sentence
        assert sentence.startswith(("it", "abandoned: ")) and not sentence.endswith(".")

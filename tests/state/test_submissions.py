"""Outward acts as rows: numbers and tags, and who may move a submission where."""

import itertools
from typing import get_args

import pytest
from sqlalchemy.exc import IntegrityError

from state.store import Store
from state.submissions import SubmissionStatus, advance_submission, intend_submission, submissions_of
from tests.state.rows import add_submission

SHA = "0123456789abcdef" * 4


def test_submissions_are_numbered_within_their_run_and_tagged_by_run_number_and_file(store: Store, run_id: str) -> None:
    with store.write() as tx:
        tags = [intend_submission(tx, run_id, node=1, handed_in="refit", file_sha=SHA).tag for _ in range(11)]
        other = intend_submission(tx, "other", node=1, handed_in="refit", file_sha=SHA)
    assert tags == [f"r-{n}-01234567" for n in range(1, 12)]
    assert other.tag == "other-1-01234567"
    with store.read() as session:
        assert [row.id for row in submissions_of(session, run_id)] == [str(n) for n in range(1, 12)]


def test_no_tag_is_given_twice(store: Store, run_id: str) -> None:
    with store.write() as tx:
        add_submission(tx, run_id, "1", node=1, tag="t", status="intended", handed_in="refit")
    with pytest.raises(IntegrityError), store.write() as tx:
        add_submission(tx, "other", "1", node=1, tag="t", status="intended", handed_in="refit")


def test_of_two_who_want_to_send_one_gets_there(store: Store, run_id: str) -> None:
    with store.write() as tx:
        intend_submission(tx, run_id, node=1, handed_in="refit", file_sha=SHA)
    with store.write() as tx:
        advance_submission(tx, run_id, "1", "sending")
    with pytest.raises(ValueError, match="is sending, and cannot become sending"), store.write() as tx:
        advance_submission(tx, run_id, "1", "sending")


@pytest.mark.integration
def test_what_was_refused_or_withdrawn_is_never_sent(store: Store, run_id: str) -> None:
    """Every way of up to three moves that the rules allow: after an end nothing follows."""
    statuses = get_args(SubmissionStatus)
    ends = set()
    for number, way in enumerate(way for n in (1, 2, 3) for way in itertools.product(statuses, repeat=n)):
        try:
            with store.write() as tx:
                row = intend_submission(tx, f"way {number}", node=1, handed_in="refit", file_sha=SHA)
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
        intend_submission(tx, run_id, node=1, handed_in="refit", file_sha=SHA)
        advance_submission(tx, run_id, "1", "sending")
        assert advance_submission(tx, run_id, "1", "doubtful", message="cut").message == "cut"
        row = advance_submission(tx, run_id, "1", "confirmed", ref="site/1")
        assert (row.message, row.ref) == (None, "site/1")
        row = advance_submission(tx, run_id, "1", "refused", message="NaN")
        assert (row.message, row.ref) == ("NaN", "site/1")

"""Rows of a community go in once, in any order, and their later state wins."""

from datetime import datetime, timedelta

import pytest
from sqlalchemy.exc import StatementError
from sqlmodel import select

from state.community_rows import add_community
from state.store import Store
from state.tables import CommunityRow, KernelVersion, Observation, PostedMessage, Topic
from tests.state.conftest import START


def message(markdown: str, edited: int | None = None, deleted: bool = False) -> PostedMessage:
    edited_at = None if edited is None else START + timedelta(hours=edited)
    return PostedMessage(
        competition="c", id="1", topic_id="1", posted_at=START, edited_at=edited_at, markdown=markdown, deleted=deleted
    )


def kept(store: Store, *rows: CommunityRow) -> PostedMessage:
    for row in rows:
        with store.write() as tx:
            add_community(tx, "c", [row])
    with store.read() as session:
        return session.exec(select(PostedMessage)).one()


def test_the_later_edit_stays_whichever_comes_last(store: Store) -> None:
    assert kept(store, message("old"), message("new", 2), message("middle", 1)).markdown == "new"


def test_a_deletion_stays(store: Store) -> None:
    assert kept(store, message("text", 2, deleted=True), message("text", 2)).deleted
    assert kept(store, message("older state", 1)).deleted


def test_a_deletion_is_taken_over_from_an_older_text(store: Store) -> None:
    row = kept(store, message("new", 2), message("old", 1, deleted=True))
    assert (row.markdown, row.deleted) == ("new", True)


def test_votes_are_those_collected_last(store: Store) -> None:
    for votes in (3, 8):
        with store.write() as tx:
            add_community(tx, "c", [Topic(competition="c", id="1", votes=votes)])
    with store.read() as session:
        assert session.exec(select(Topic)).one().votes == 8


def test_a_reading_is_kept_once(store: Store) -> None:
    def rows(at: datetime) -> list[CommunityRow]:
        return [
            Observation(competition="c", target="kernel", target_id="1", at=at, votes=2),
            Observation(competition="c", target="kernel", target_id="1", at=at, votes=2),
            Observation(competition="c", target="kernel", target_id="1", at=at, public_score=0.5),
        ]

    for _ in range(2):
        with store.write() as tx:
            add_community(tx, "c", rows(START))
    with store.read() as session:
        assert len(session.exec(select(Observation)).all()) == 2


def test_more_rows_than_a_batch_all_go_in_and_come_again_in_place(store: Store) -> None:
    def rows() -> list[CommunityRow]:
        return [KernelVersion(competition="c", id=str(n), ref="a/b", version=n, datasets=["d"]) for n in range(1000)]

    for _ in range(2):
        with store.write() as tx:
            add_community(tx, "c", rows())
    with store.read() as session:
        assert {row.version for row in session.exec(select(KernelVersion))} == set(range(1000))


def test_the_rows_handed_in_are_left_alone(store: Store) -> None:
    row = Topic(competition="c", id="1", posted_at=START, title="T")
    for _ in range(2):
        with store.write() as tx:
            add_community(tx, "c", [row, row])
    assert row.title == "T"
    with store.read() as session:
        assert len(session.exec(select(Topic)).all()) == 1


def test_a_row_of_another_competition_is_refused(store: Store) -> None:
    with pytest.raises(ValueError, match="cannot be added to c"), store.write() as tx:
        add_community(tx, "c", [Topic(competition="d", id="1")])


def test_a_naive_time_is_refused(store: Store) -> None:
    with pytest.raises(StatementError, match="timezone"), store.write() as tx:
        add_community(tx, "c", [Topic(competition="c", id="1", posted_at=START.replace(tzinfo=None))])


def test_a_naive_time_of_a_reading_among_others_is_refused(store: Store) -> None:
    times = [START, START.replace(tzinfo=None), START + timedelta(days=2)]
    readings = [Observation(competition="c", target="topic", target_id="1", at=at, votes=1) for at in times]
    with pytest.raises(StatementError, match="timezone"), store.write() as tx:
        add_community(tx, "c", readings)


def test_readings_of_one_id_and_moment_but_of_different_kinds_are_all_kept(store: Store) -> None:
    for _ in range(2):
        for target in ("topic", "message", "kernel"):
            with store.write() as tx:
                add_community(tx, "c", [Observation(competition="c", target=target, target_id="1", at=START, votes=1)])
    with store.read() as session:
        assert {row.target for row in session.exec(select(Observation))} == {"topic", "message", "kernel"}
        assert len(session.exec(select(Observation)).all()) == 3

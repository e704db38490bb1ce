"""A reading is kept where it differs from the last one, with both clocks' times."""

from datetime import timedelta

from sqlmodel import select

from state.community import CommunityView
from state.community_rows import observe
from state.store import Store
from state.tables import Observation, Topic
from tests.state.conftest import START, StandingClock

SERVED = START - timedelta(seconds=2)


def read(store: Store, votes: int | None = None, tier: str | None = None) -> bool:
    with store.write() as tx:
        row = tx.session.get(Topic, ("leaf", "1")) or Topic(competition="leaf", id="1", posted_at=START)
        tx.add(row)
        return observe(tx, row, SERVED, votes=votes, tier=tier)


def kept(store: Store) -> list[tuple[int | None, str | None]]:
    with store.read() as session:
        return [(row.votes, row.tier) for row in session.exec(select(Observation).order_by(Observation.pk))]


def test_what_is_as_it_was_is_not_kept_again(store: Store) -> None:
    assert [read(store, 3), read(store, 3), read(store, 4, "MASTER"), read(store, 4, "MASTER")] == [
        True,
        False,
        True,
        False,
    ]
    assert kept(store) == [(3, None), (4, "MASTER")]


def test_only_the_field_that_differs_is_recorded(store: Store) -> None:
    read(store, 3, "EXPERT")
    read(store, 3, "MASTER")
    read(store)
    assert kept(store) == [(3, "EXPERT"), (None, "MASTER")]


def test_a_reading_has_our_time_and_the_sites_and_is_seen_from_ours_on(store: Store, clock: StandingClock) -> None:
    clock.pass_by(60)
    read(store, 3)
    with store.read() as session:
        row = session.exec(select(Observation)).one()
    assert (row.at, row.served_at) == (clock.now(), SERVED)
    before, after = (CommunityView(store, "leaf", clock.now() - timedelta(seconds=back)) for back in (1, 0))
    assert [post.votes for post in (*before.topics(), *after.topics())] == [None, 3]

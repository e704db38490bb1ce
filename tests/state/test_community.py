"""What may be known of a community: nothing later than the clock, and all that is not."""

import itertools
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, event

from state.community import CommunityCounts, CommunityView, Signals, in_order
from state.community_rows import add_community
from state.store import Store
from state.tables import CommunityRow, KernelVersion, Observation, PostedMessage, Topic
from tests.state.communities import HOURS, before, communities, expected_signal, in_competition, message_time
from tests.state.conftest import START, StandingClock

SIGNALS: tuple[Signals, ...] = ("asof", "collected")
_numbers = itertools.count()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """One store for all examples; each is a competition of its own in it."""
    with Store.open(tmp_path_factory.mktemp("community") / "state.db", StandingClock()) as store:
        yield store


def view(store: Store, rows: list[CommunityRow], as_of: datetime, signals: Signals) -> CommunityView:
    competition = f"competition {next(_numbers)}"
    with store.write() as tx:
        add_community(tx, competition, in_competition(rows, competition))
    return CommunityView(store, competition, as_of, signals)


def all_of(seen: CommunityView) -> object:
    return seen.topics(), seen.messages(), seen.kernels(), seen.posts()


signals_or_not = pytest.mark.parametrize("signals", SIGNALS)
quick = settings(max_examples=25)


@pytest.mark.integration
@signals_or_not
@quick
@given(rows=communities(), as_of=HOURS)
def test_nothing_later_than_the_clock_is_seen(shared, signals, rows, as_of) -> None:
    seen = view(shared, rows, as_of, signals)
    for post in [*seen.topics(), *seen.messages(), *seen.kernels(), *seen.posts()]:
        assert post.time <= as_of
    world_as_it_was = view(shared, before(rows, as_of), as_of, signals)
    assert all_of(seen) == all_of(world_as_it_was)


@pytest.mark.integration
@signals_or_not
@quick
@given(rows=communities(), as_of=HOURS)
def test_all_that_may_be_known_is_seen(shared, signals, rows, as_of) -> None:
    seen = view(shared, rows, as_of, signals)
    then = before(rows, as_of)
    topics = {row.id for row in then if isinstance(row, Topic)}
    messages = [r for r in then if isinstance(r, PostedMessage) and not r.deleted and r.topic_id in topics]
    kernels = [r for r in then if isinstance(r, KernelVersion)]

    assert {post.id for post in seen.topics()} == topics
    assert {(post.id, post.text, post.time) for post in seen.messages()} == {
        (row.id, row.markdown, message_time(row.model_dump())) for row in messages
    }
    assert {(p.id, p.text, p.time, p.version) for p in seen.kernels()} == {
        (row.id, row.text, row.created_at, row.version) for row in kernels
    }
    latest = {}
    for row in sorted(kernels, key=lambda r: (r.version or 0, r.created_at or START, r.id)):
        latest[row.ref] = row.id
    assert {post.item for post in seen.posts()} == {f"message/{row.id}" for row in messages} | {
        f"kernel/{id}" for id in latest.values()
    }
    counted = seen.counts()
    assert (counted.topics, counted.messages, counted.kernels) == (len(topics), len(messages), len(kernels))


@signals_or_not
@quick
@given(rows=communities(), as_of=HOURS)
def test_votes_scores_and_tiers_are_the_latest_readings_by_then(shared, signals, rows, as_of) -> None:
    seen = view(shared, rows, as_of, signals)
    by_item = {
        **{f"topic/{r.id}": r for r in rows if isinstance(r, Topic)},
        **{f"message/{r.id}": r for r in rows if isinstance(r, PostedMessage)},
        **{f"kernel/{r.id}": r for r in rows if isinstance(r, KernelVersion)},
    }
    own = signals == "collected"
    for post in [*seen.topics(), *seen.messages(), *seen.kernels()]:
        row = by_item[post.item]
        assert post.votes == expected_signal(rows, row, post.kind, "votes", as_of, own)
        assert post.tier == expected_signal(rows, row, post.kind, "tier", as_of, own)
        if post.kind == "kernel":
            assert post.public_score == expected_signal(rows, row, "kernel", "public_score", as_of, own)


@pytest.mark.integration
@signals_or_not
@quick
@given(rows=communities(), as_of=HOURS, data=st.data())
def test_neither_order_nor_repetition_of_the_rows_matters(shared, signals, rows, as_of, data) -> None:
    again = data.draw(st.permutations(rows + rows[::2]))
    assert all_of(view(shared, rows, as_of, signals)) == all_of(view(shared, again, as_of, signals))


@pytest.mark.integration
@quick
@given(rows=communities(), early=HOURS, late=HOURS)
def test_time_only_adds_topics_messages_and_versions(shared, rows, early, late) -> None:
    early, late = sorted((early, late))
    now = view(shared, rows, late, "asof")
    then = CommunityView(shared, now.competition, early)
    for kind in ("topics", "messages", "kernels"):
        assert {p.item for p in getattr(then, kind)()} <= {p.item for p in getattr(now, kind)()}


@pytest.mark.integration
@pytest.mark.parametrize("signals", ["asof"])
@quick
@given(rows=communities(), as_of=HOURS, since=st.none() | HOURS, count=st.integers(0, 6))
def test_the_newest_are_the_last_of_all_posts(shared, signals, rows, as_of, since, count) -> None:
    seen = view(shared, rows, as_of, signals)
    later = [post for post in seen.posts() if since is None or post.time > since]
    assert seen.newest(count, since) == later[len(later) - count if count < len(later) else 0 :]


@pytest.mark.integration
@pytest.mark.parametrize("signals", ["collected"])
@quick
@given(rows=communities(), as_of=HOURS, data=st.data())
def test_what_is_asked_for_by_name_is_what_all_of_it_shows(shared, signals, rows, as_of, data) -> None:
    seen = view(shared, rows, as_of, signals)
    everything = in_order([*seen.topics(), *seen.messages(), *seen.kernels()])
    names = [f"{kind}/{id}" for kind in ("topic", "message", "kernel") for id in range(11)]
    asked = data.draw(st.lists(st.sampled_from(names)))
    assert seen.find(asked) == [post for post in everything if post.item in asked]
    topic = data.draw(st.integers(1, 6).map(str))
    assert seen.messages(topic) == [post for post in everything if post.kind == "message" and post.topic_id == topic]


def hours(n: float) -> datetime:
    return START + timedelta(hours=n)


def small_forum() -> list[CommunityRow]:
    return [
        Topic(competition="c", id="1", title="Marks", author="ann", tier="MASTER", posted_at=hours(1), votes=9),
        PostedMessage(
            competition="c", id="10", topic_id="1", author="ann", posted_at=hours(1), markdown="first", votes=7
        ),
        PostedMessage(
            competition="c", id="11", topic_id="1", parent_id="10", posted_at=hours(5), markdown="late reply"
        ),
        PostedMessage(
            competition="c", id="12", topic_id="1", posted_at=hours(2), edited_at=hours(6), markdown="with hindsight"
        ),
        PostedMessage(competition="c", id="13", topic_id="1", posted_at=hours(1), markdown="gone", deleted=True),
        PostedMessage(competition="c", id="14", topic_id="1", markdown="when?"),
        KernelVersion(competition="c", id="20", ref="a/b", version=1, created_at=hours(2), text="v1", kind="script"),
        KernelVersion(competition="c", id="21", ref="a/b", version=2, created_at=hours(4), text="v2", kind="notebook"),
        Observation(competition="c", target="kernel", target_id="20", at=hours(2), votes=0, public_score=0.5),
        Observation(competition="c", target="kernel", target_id="20", at=hours(3), votes=4),
        Observation(competition="c", target="kernel", target_id="20", at=hours(5), votes=50, public_score=0.1),
    ]


def forum_at(store: Store, as_of: datetime, signals: Signals = "asof") -> CommunityView:
    with store.write() as tx:
        add_community(tx, "c", small_forum())
    return CommunityView(store, "c", as_of, signals)


def test_a_small_forum_at_noon(store: Store) -> None:
    seen = forum_at(store, hours(3))
    assert [post.item for post in seen.posts()] == ["message/10", "kernel/20"]
    message, kernel = seen.posts()
    assert (message.title, message.text, message.topic_id, message.votes) == ("Marks", "first", "1", None)
    assert (kernel.votes, kernel.public_score, kernel.ref, kernel.version) == (4, 0.5, "a/b", 1)
    assert kernel.kernel_kind == "script"
    assert seen.counts() == CommunityCounts(1, 1, 1, 0, 1, 0)


def test_the_same_forum_at_night(store: Store) -> None:
    seen = forum_at(store, hours(6))
    assert [post.item for post in seen.posts()] == ["message/10", "kernel/21", "message/11", "message/12"]
    assert seen.posts()[3].time == hours(6)
    assert [post.parent_id for post in seen.messages()] == [None, "10", None]


def test_collected_signals_fill_in_only_where_there_is_no_reading(store: Store) -> None:
    seen = forum_at(store, hours(3), "collected")
    assert seen.topics()[0].tier == "MASTER"
    assert [post.votes for post in seen.posts()] == [7, 4]


def test_a_reply_is_not_seen_while_its_topic_is_not(store: Store) -> None:
    with store.write() as tx:
        add_community(
            tx,
            "c",
            [
                Topic(competition="c", id="1", posted_at=hours(5)),
                PostedMessage(competition="c", id="10", topic_id="1", posted_at=hours(1), markdown="early"),
                PostedMessage(competition="c", id="11", topic_id="of no topic", posted_at=hours(1), markdown="orphan"),
            ],
        )
    assert CommunityView(store, "c", hours(4)).messages() == []
    assert [post.id for post in CommunityView(store, "c", hours(5)).messages()] == ["10"]


def test_competitions_do_not_mix(store: Store) -> None:
    forum_at(store, hours(9))
    assert all_of(CommunityView(store, "other", hours(9))) == ([], [], [], [])
    with store.write() as tx:
        add_community(tx, "other", [Topic(competition="other", id="1", title="Theirs", posted_at=hours(1))])
        add_community(tx, "other", in_competition(small_forum()[1:3], "other"))
    assert {post.title for post in CommunityView(store, "other", hours(9)).messages()} == {"Theirs"}
    assert {post.title for post in CommunityView(store, "c", hours(9)).messages()} == {"Marks"}


def test_a_time_without_a_zone_is_no_clock(store: Store) -> None:
    with pytest.raises(ValueError, match="time zone"):
        CommunityView(store, "c", START.replace(tzinfo=None))

    seen = CommunityView(store, "c", START)
    with pytest.raises(ValueError, match="time zone"):
        seen.newest(3, START.replace(tzinfo=None))


def test_more_items_than_one_query_takes_are_all_found(store: Store) -> None:
    topics = [Topic(competition="c", id=str(n), posted_at=START) for n in range(1200)]
    with store.write() as tx:
        add_community(tx, "c", topics)
    found = CommunityView(store, "c", START).find(f"topic/{n}" for n in range(2000))
    assert {post.id for post in found} == {topic.id for topic in topics}


def test_what_is_no_post_cannot_be_found(store: Store) -> None:
    with pytest.raises(ValueError, match="idea/3"):
        CommunityView(store, "c", START).find(["message/1", "idea/3"])


@signals_or_not
def test_no_query_reads_more_of_the_observations_than_it_shows(store: Store, signals: Signals) -> None:
    statements: list[tuple[str, Any]] = []

    def note(_: object, __: object, statement: str, parameters: Any, *___: object) -> None:
        if statement.startswith("SELECT"):
            statements.append((statement, parameters))

    event.listen(Engine, "before_cursor_execute", note)
    try:
        seen = CommunityView(store, "c", hours(6), signals)
        all_of(seen)
        seen.newest(5, hours(1))
        seen.find(["topic/1", "message/10", "kernel/20"])
        seen.messages("1")
    finally:
        event.remove(Engine, "before_cursor_execute", note)
    with closing(sqlite3.connect(store.path)) as database:
        plans = [[row[3] for row in database.execute(f"EXPLAIN QUERY PLAN {s}", p)] for s, p in statements]
    looked_up = [line for plan in plans for line in plan if "observation" in line]
    assert len(looked_up) > 20
    for line in looked_up:
        assert re.fullmatch(
            r"SEARCH observation USING COVERING INDEX \w+ \(competition=\? AND target=\? AND target_id=\? AND at<\?\)",
            line,
        )
    # Of posts, too, a query for some looks up only these.
    for plan in plans[5:]:
        assert not [line for line in plan if "SCAN" in line or line.endswith("(competition=?)")]


def test_a_view_sees_what_is_added_later(store: Store, tmp_path: Path) -> None:
    seen = forum_at(store, hours(9))
    with Store.open(tmp_path / "state.db", StandingClock()) as other, other.write() as tx:
        add_community(
            tx, "c", [PostedMessage(competition="c", id="99", topic_id="1", posted_at=hours(8), markdown="new")]
        )
    assert seen.messages()[-1].text == "new"


@pytest.mark.parametrize("order", [1, -1])
def test_of_two_readings_of_one_moment_the_larger_is_shown_whichever_came_first(store: Store, order: int) -> None:
    readings: list[CommunityRow] = [
        Observation(competition="c", target="topic", target_id="1", at=hours(1), votes=9),
        Observation(competition="c", target="topic", target_id="1", at=hours(2), votes=5),
        Observation(competition="c", target="topic", target_id="1", at=hours(2), votes=4, tier="EXPERT"),
    ]
    with store.write() as tx:
        add_community(tx, "c", [Topic(competition="c", id="1", posted_at=hours(1)), *readings[::order]])
    topic = CommunityView(store, "c", hours(3)).topics()[0]
    assert (topic.votes, topic.tier) == (5, "EXPERT")


def test_a_deleted_topic_and_its_messages_are_not_seen(store: Store) -> None:
    topic = Topic(competition="c", id="1", title="Marks", posted_at=START, deleted=True)
    with store.write() as tx:
        add_community(tx, "c", [topic, PostedMessage(competition="c", id="10", topic_id="1", posted_at=START)])
    seen = CommunityView(store, "c", hours(1))
    assert (seen.topics(), seen.messages()) == ([], [])


def test_a_version_that_was_found_after_its_successor_does_not_pass_for_the_latest(store: Store) -> None:
    found = {1: START, 2: hours(3), 3: hours(2)}
    rows = [KernelVersion(competition="c", id=str(n), ref="a/b", version=n, created_at=at) for n, at in found.items()]
    with store.write() as tx:
        add_community(tx, "c", rows)
    assert [post.version for post in CommunityView(store, "c", hours(4)).posts()] == [3]

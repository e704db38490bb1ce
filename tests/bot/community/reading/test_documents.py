"""What is read in one piece, and which of it first."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bot.community.reading.documents import Document, documents, excerpt, most_telling
from state.clock import SystemClock
from state.community import TEAM, CommunityView, Post
from state.community_rows import add_community
from state.store import Store
from state.tables import KernelVersion, Message, Topic

TIME = datetime(2020, 1, 1, tzinfo=UTC)
WORDS = [f"word{number}" for number in range(400)]


def text(first: int, count: int) -> str:
    return " ".join(WORDS[first : first + count])


def kernel(id: str, body: str, score: float | None = None, votes: int | None = None) -> Document:
    return Document(f"kernel/{id}", TIME, (Post("kernel", id, TIME, "", body, None, None, votes, score),), votes)


def topic(id: str, body: str, votes: int | None = None, tier: str | None = None, hours: int = 0) -> Document:
    at = TIME + timedelta(hours=hours)
    return Document(f"topic/{id}", at, (Post("message", id, at, "", body, None, tier, votes),), votes)


def first_of(*unread: Document, known: str = "", **options: Any) -> str:
    return next(most_telling(unread, set(known.split()), lower_is_better=True, **options)).item


def rows() -> list[Any]:
    """A topic whose answers stand in a tree, one of which is deleted, one undated and one hardly a word; and two versions."""

    def message(id: str, parent: str | None, hour: int, **more: Any) -> Message:
        fields = {"posted_at": TIME + timedelta(hours=hour), "markdown": f"{id}: {text(int(id), 9)}", **more}
        return Message(competition="c", id=id, topic_id="1", parent_id=parent, **fields)

    return [
        Topic(competition="c", id="1", title="Trees", posted_at=TIME),
        message("10", None, 0),
        message("11", "10", 1),
        message("12", "10", 2),
        message("13", "11", 3),
        message("14", "10", 4, deleted=True),
        message("15", "14", 5),
        message("16", "10", 6, posted_at=None),
        message("17", "10", 7, markdown="Thanks a lot!"),
        KernelVersion(competition="c", id="20", ref="a/b", version=1, created_at=TIME + timedelta(hours=1), text="x"),
        KernelVersion(competition="c", id="21", ref="a/b", version=2, created_at=TIME + timedelta(hours=9), text="y"),
    ]


def seen(folder: Path, hours: float = 99, *more: Any) -> list[Document]:
    with Store.open(folder / "state.db", SystemClock()) as store:
        with store.write() as tx:
            add_community(tx, "c", [*rows(), *more])
        return documents(CommunityView(store, "c", TIME + timedelta(hours=hours)))


def test_a_topic_is_read_as_a_tree_and_a_kernel_by_its_latest_version(tmp_path: Path) -> None:
    thread, script = seen(tmp_path)
    assert [post.id for post in thread.posts] == ["10", "11", "13", "12", "15"]
    assert (thread.item, thread.title, thread.time) == ("topic/1", "Trees", TIME + timedelta(hours=5))
    assert script.item == "kernel/21"


def test_a_document_holds_what_the_clock_shows_and_its_time_is_that_of_its_latest_part(tmp_path: Path) -> None:
    thread, script = seen(tmp_path, 2.5)
    assert [post.id for post in thread.posts] == ["10", "11", "12"]
    assert thread.time == TIME + timedelta(hours=2)
    assert script.item == "kernel/20"


def test_messages_that_answer_each_other_in_a_circle_hold_nothing_up(tmp_path: Path) -> None:
    circle = [
        Message(competition="c", id=a, topic_id="1", parent_id=b, posted_at=TIME, markdown=text(0, 9))
        for a, b in (("30", "31"), ("31", "30"))
    ]
    thread, _ = seen(tmp_path, 99, *circle)
    assert len(thread.posts) == 5


def test_a_digest_changes_with_a_text_and_not_with_votes() -> None:
    assert topic("1", "a b", votes=3).digest == topic("1", "a b", votes=4, tier="MASTER").digest
    assert topic("1", "a b").digest != topic("1", "a c").digest


def test_votes_tier_score_and_freshness_each_bring_a_document_forward() -> None:
    assert first_of(topic("1", text(0, 50), 3), topic("2", text(50, 50), 9)) == "topic/2"
    assert first_of(topic("1", text(0, 50)), topic("2", text(50, 50), tier="MASTER")) == "topic/2"
    assert first_of(kernel("1", text(0, 50), 0.4), kernel("2", text(50, 50), 0.3)) == "kernel/2"
    assert first_of(topic("1", text(0, 50)), topic("2", text(50, 50), hours=2), fresh_since=TIME) == "topic/2"


def test_the_script_with_the_best_score_is_among_the_first_even_where_nobody_votes_for_it() -> None:
    voted = [kernel(str(n), text(n * 30, 30), 0.9 - n / 100, votes=50 - n) for n in range(10)]
    unread = [*voted, kernel("99", text(300, 30), 0.1, votes=0)]
    assert "kernel/99" in [document.item for document in most_telling(unread, set(), lower_is_better=True)][:2]


def test_what_says_nothing_new_comes_last_or_never() -> None:
    again, fresh = topic("1", text(0, 60), votes=20), topic("2", text(100, 60), votes=1)
    assert first_of(again, fresh) == "topic/1"
    assert first_of(again, fresh, known=text(0, 40)) == "topic/2"
    left = list(most_telling([again, fresh], set(text(0, 60).split()), lower_is_better=True))
    assert [document.item for document in left] == ["topic/2"]


def test_a_short_note_of_the_owners_is_read_whatever_others_vote_for() -> None:
    voted, note = topic("1", text(0, 200), votes=90), topic("note-2", text(0, 8), tier=TEAM)
    assert first_of(voted, note) == first_of(voted, note, known=text(0, 200)) == "topic/note-2"
    assert first_of(voted, topic("note-2", text(0, 8))) == "topic/1"
    unwanted = topic("note-2", text(0, 200), votes=0, tier=TEAM)
    assert first_of(topic("1", text(200, 200), votes=90, tier="MASTER"), unwanted) == "topic/1"


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(5, 99), st.integers(0, 50)), max_size=12))
def test_each_is_the_best_of_those_left_given_what_was_read_before(drawn: list[tuple[int, int, int]]) -> None:
    unread = [topic(str(n), text(first, count), votes) for n, (first, count, votes) in enumerate(drawn)]
    order = list(most_telling(unread, set(), lower_is_better=True))
    known = ""
    for place, document in enumerate(order):
        # All are ranked together, as votes are relative to the most voted.
        rest = [one if one in order[place:] else topic("x", "", one.votes) for one in unread]
        assert first_of(*rest, known=known) == document.item
        known += f" {document.posts[0].text}"


def test_of_a_long_topic_the_opening_and_the_most_voted_answers_are_shown() -> None:
    posts = [Post("message", str(n), TIME, "", "x" * 900, None, None, n) for n in range(5)]
    shown = excerpt(Document("topic/1", TIME, tuple(posts), 1), 3_000)
    assert [post.id for post in shown.posts] == ["0", "3", "4"]


def test_of_a_script_an_excerpt_is_shown() -> None:
    shown = excerpt(kernel("1", "import os\n" + "y = 1\n" * 900 + "model = Ridge(alpha=3)"), 600)
    assert "model = Ridge(alpha=3)" in shown.posts[0].text and len(shown.posts[0].text) < 700

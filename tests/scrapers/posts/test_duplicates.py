"""What counts as the same text, how much of two texts is, and which posts repeat an earlier one."""

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlmodel import select

from scrapers.posts.cleaning import parts
from scrapers.posts.duplicates import BANDS, FULL, THRESHOLD, Sketched, band_digests, note_sketches, similarity
from scrapers.posts.kernel_text import text_of
from scrapers.posts.sketches import PERMUTATIONS, Sketch, sketch_of
from state.community import CommunityView, Repeat
from state.community_rows import add_community
from state.store import Store
from state.tables import CommunityRow, KeptSketch, KernelVersion, Likeness, PostedMessage, SketchBand, Topic
from tests.state.conftest import START, StandingClock

_numbers = itertools.count()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """One store for all tests and examples; each is a competition of its own in it."""
    with Store.open(tmp_path_factory.mktemp("duplicates") / "state.db", StandingClock()) as opened:
        yield opened


def code(base: int, *changed: int) -> str:
    lines = [f"part_{base}_{n} = fit_{base}(data[{n}], depth={n % 7})" for n in range(40)]
    return "\n".join(f"other_{n} = thing({n})" if n in changed else line for n, line in enumerate(lines))


# Near-duplicates of a base are all alike; the last variant of each is like none but itself; then come short texts.
TEXTS = [code(base, *range(n)) for base in range(3) for n in (0, 1, 2)] + [code(9, *range(39)), "x = 1", "y = 2"]

SKETCHES = [sketch_of(text, "kernel", "script") for text in TEXTS]


@dataclass(frozen=True)
class Version:
    """A kernel version: `text` is an index of `TEXTS`."""

    id: str
    hour: int
    author: str | None
    ref: str
    text: int

    def row(self, competition: str) -> KernelVersion:
        at = START + timedelta(hours=self.hour)
        return KernelVersion(
            competition=competition, id=self.id, ref=self.ref, author=self.author, created_at=at, text=TEXTS[self.text]
        )

    def sketched(self) -> Sketched:
        return Sketched("kernel", self.id, START + timedelta(hours=self.hour), SKETCHES[self.text])


versions = st.lists(
    st.builds(
        Version,
        id=st.integers(1, 20).map(str),
        hour=st.integers(0, 5),
        author=st.sampled_from(["ann", "bob", None]),
        ref=st.sampled_from(["ann/one", "bob/two", "bob/three"]),
        text=st.integers(0, len(TEXTS) - 1),
    ),
    max_size=12,
    unique_by=lambda version: version.id,
)


def collect(store: Store, competition: str, rows: list[CommunityRow], posts: list[Sketched]) -> None:
    with store.write() as tx:
        add_community(tx, competition, rows)
        note_sketches(tx, competition, posts)


def found(store: Store, competition: str) -> dict[str, tuple[str | None, float | None]]:
    with store.read() as session:
        rows = session.exec(select(Likeness).where(Likeness.competition == competition)).all()
    return {row.post_id: (row.original, row.similarity) for row in rows}


def expected(posts: list[Version]) -> dict[str, tuple[str | None, float | None]]:
    """Compare all with all."""
    expected: dict[str, tuple[str | None, float | None]] = {}
    for post in posts:
        like: list[tuple[int, str, float]] = []
        for other in posts:
            one, two = SKETCHES[post.text], SKETCHES[other.text]
            assert one is not None and two is not None
            share = similarity(one, two, "kernel")
            if (other.hour, other.id) < (post.hour, post.id) and share >= THRESHOLD:
                like.append((other.hour, other.id, share))
        first = min(like, default=None)
        expected[post.id] = (first[1], first[2]) if first else (None, None)
    return expected


@pytest.mark.integration
@settings(max_examples=20)
@given(posts=versions, data=st.data())
def test_each_repeats_the_earliest_that_it_is_like_however_they_come(store, posts, data) -> None:
    competition = f"competition {next(_numbers)}"
    order = data.draw(st.permutations(posts))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(order)), max_size=3)))
    for start, end in itertools.pairwise([0, *cuts, len(order)]):
        batch = order[start:end]
        collect(store, competition, [post.row(competition) for post in batch], [post.sketched() for post in batch])
    assert found(store, competition) == expected(posts)
    again = data.draw(st.permutations(posts))[:5]
    collect(store, competition, [post.row(competition) for post in again], [post.sketched() for post in again])
    assert found(store, competition) == expected(posts)


@pytest.mark.integration
@settings(max_examples=12)
@given(posts=versions, changed=versions)
def test_a_post_whose_text_or_time_changes_is_looked_at_anew_with_all_that_repeated_it(store, posts, changed) -> None:
    competition = f"competition {next(_numbers)}"
    for batch in (posts, changed):
        collect(store, competition, [post.row(competition) for post in batch], [post.sketched() for post in batch])
    now = {post.id: post for post in posts} | {post.id: post for post in changed}
    assert found(store, competition) == expected(list(now.values()))
    with store.read() as session:
        sketches = {row.id for row in session.exec(select(KeptSketch).where(KeptSketch.competition == competition))}
        used = {row.sketch for row in session.exec(select(Likeness).where(Likeness.competition == competition))}
        everywhere = {row.id for row in session.exec(select(KeptSketch))}
        banded = {row.sketch for row in session.exec(select(SketchBand))}
    assert sketches == used
    assert banded <= everywhere


def test_the_near_are_found_and_the_far_are_not() -> None:
    sketches = [sketch for sketch in SKETCHES if sketch is not None]
    assert similarity(sketches[0], sketches[2], "kernel") >= THRESHOLD
    assert similarity(sketches[0], sketches[3], "kernel") < 0.5
    shared = set(band_digests(sketches[0], "c", "kernel")) & set(band_digests(sketches[2], "c", "kernel"))
    assert 0 < len(shared) < BANDS
    assert not set(band_digests(sketches[0], "c", "kernel")) & set(band_digests(sketches[0], "d", "kernel"))


def a_message(id: str, hour: float, text: str, **more: object) -> tuple[PostedMessage, Sketched]:
    at = START + timedelta(hours=hour)
    edited = more.get("edited_at")
    row = PostedMessage(competition="c", id=id, topic_id="1", posted_at=at, markdown=text, **more)
    return row, Sketched("message", id, edited if edited else at, sketch_of(text, "message"))  # type: ignore[arg-type]


@pytest.fixture
def forum(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "state.db", StandingClock()) as opened:
        with opened.write() as tx:
            add_community(tx, "c", [Topic(competition="c", id="1", posted_at=START)])
        yield opened


def repeats_after(store: Store, *posts: tuple[CommunityRow, Sketched]) -> dict[str, Repeat]:
    collect(store, "c", [row for row, _ in posts], [sketched for _, sketched in posts])
    return CommunityView(store, "c", START + timedelta(hours=100)).repeats()


def test_what_is_deleted_neither_repeats_nor_is_repeated(forum: Store) -> None:
    posts = [a_message(str(n), n, "Thanks a lot!") for n in (1, 2, 3)]
    assert repeats_after(forum, *posts) == {
        "message/2": Repeat("message/1", 1.0),
        "message/3": Repeat("message/1", 1.0),
    }
    gone = a_message("1", 1, "", deleted=True)
    assert repeats_after(forum, gone) == {"message/3": Repeat("message/2", 1.0)}
    assert repeats_after(forum, posts[0]) == {"message/3": Repeat("message/2", 1.0)}, "a deletion stays"


def test_an_edit_makes_a_later_text_and_an_older_state_of_it_changes_nothing(forum: Store) -> None:
    edited = a_message("1", 1, "Thanks a lot!", edited_at=START + timedelta(hours=5))
    assert repeats_after(forum, edited, a_message("2", 2, "thanks a lot")) == {"message/1": Repeat("message/2", 1.0)}
    assert repeats_after(forum, a_message("1", 1, "thanks a lot")) == {"message/1": Repeat("message/2", 1.0)}


def test_a_repetition_is_known_when_both_are(forum: Store) -> None:
    repeats_after(forum, a_message("1", 1, "Thanks"), a_message("2", 2, "Thanks"))
    for hour, known in ((0.5, 0), (1.5, 0), (2, 1), (3, 1)):
        assert len(CommunityView(forum, "c", START + timedelta(hours=hour)).repeats()) == known


def test_a_message_in_a_topic_that_is_not_visible_is_not_reported(forum: Store) -> None:
    row, sketched = a_message("1", 1, "Thanks")
    row.topic_id = "of no topic"
    assert repeats_after(forum, (row, sketched), a_message("2", 2, "Thanks")) == {}


def test_competitions_and_kinds_do_not_mix(forum: Store) -> None:
    repeats_after(forum, a_message("1", 1, TEXTS[0]))
    kernel = Version("2", 2, "ann", "ann/one", 0)
    assert repeats_after(forum, (kernel.row("c"), kernel.sketched())) == {}
    with forum.write() as tx:
        add_community(tx, "d", [Version("3", 3, "bob", "bob/two", 0).row("d")])
        note_sketches(tx, "d", [Version("3", 3, "bob", "bob/two", 0).sketched()])
    assert CommunityView(forum, "d", START + timedelta(hours=9)).repeats() == {}


def test_more_posts_than_a_batch_are_all_compared(forum: Store) -> None:
    posts = [a_message(str(n), n / 1000, f"the same {n // 2}") for n in range(900)]
    assert len(repeats_after(forum, *posts)) == 450


@pytest.mark.integration  # three seconds
def test_a_flood_of_nearly_the_same_texts_is_compared_with_its_beginning(forum: Store) -> None:
    words = " ".join(f"word{n}" for n in range(400))
    posts = [a_message(str(n), n / 1000, f"{words} {n}") for n in range(FULL + 40)]
    repeats = [repeats_after(forum, *posts[start : start + 20]) for start in range(0, len(posts), 20)][-1]
    assert {repeat.original for repeat in repeats.values()} == {"message/0"}
    assert len(repeats) == len(posts) - 1
    with forum.read() as session:
        shared = Counter(row.digest for row in session.exec(select(SketchBand)))
    assert FULL <= max(shared.values()) < FULL + 20


def test_a_text_without_a_word_is_like_no_other(forum: Store) -> None:
    assert repeats_after(forum, a_message("1", 1, "!!!"), a_message("2", 2, "!!!")) == {}
    assert isinstance(SKETCHES[0], Sketch)


LINES = [f"step_{n} = fit(data[{n}], depth={n % 7}, rate=0.{n:02d})" for n in range(60)]

KINDS: tuple[Literal["kernel"], Literal["message"]] = ("kernel", "message")

PROSE = " ".join(f"word{n} and" for n in range(80))


def code_text(*changed: int) -> str:
    return "\n".join("other = thing(1)" if n in changed else line for n, line in enumerate(LINES))


def script(text: str) -> Sketch:
    made = sketch_of(text, "kernel", "script")
    assert made is not None
    return made


def message(text: str) -> Sketch:
    made = sketch_of(text, "message")
    assert made is not None
    return made


def test_layout_and_comments_make_no_other_text() -> None:
    spaced = code_text().replace(" = ", "=").replace("\n", "  # why\n\n")
    assert script(spaced).sha256 == script(code_text()).sha256
    assert message("Hello,  WORLD\n") == message("hello world")


def test_the_same_text_is_another_as_a_kernel() -> None:
    kernel, post = sketch_of("hello", "kernel", "writeup"), sketch_of("hello", "message")
    assert kernel is not None and post is not None and kernel.sha256 != post.sha256


@pytest.mark.parametrize("text", ["", " \n", "!?", "```\n\n```", "# "])
def test_a_text_without_a_word_has_no_sketch(text: str) -> None:
    assert sketch_of(text, "message") is None


def test_the_output_of_a_notebook_does_not_count() -> None:
    cell = '{"cells": [{"cell_type": "code", "source": "fit()", "outputs": [{"output_type": "stream", "text": "%s"}]}]}'
    one, other = (sketch_of(text_of(cell % figure), "kernel", "notebook") for figure in ("0.1", "0.2"))
    assert one == other is not None


def test_a_signature_has_a_fixed_size_and_only_what_is_long_enough_has_one() -> None:
    sketch = script(code_text())
    assert sketch.code is not None and len(sketch.code) == 4 * PERMUTATIONS
    assert sketch.prose is None
    assert message("Thanks for sharing!") == Sketch(message("thanks, for sharing").sha256, None, None)


def test_similarity_estimates_the_share_of_runs_that_two_texts_have_in_common() -> None:
    same, near, half = script(code_text()), script(code_text(10)), script(code_text(*range(20)))
    assert similarity(same, same, "kernel") == 1
    assert THRESHOLD < similarity(same, near, "kernel") < 1
    assert 0.3 < similarity(same, half, "kernel") < THRESHOLD
    assert similarity(same, script("\n".join(f"y{n} = {n}" for n in range(99))), "kernel") < 0.2


def test_of_kernels_the_code_counts_and_of_messages_all() -> None:
    fence = f"```python\n{code_text()}\n```"
    texts = [f"{PROSE}\n{fence}", f"{PROSE.replace('word', 'mot')}\n{fence}", PROSE]
    kernels, messages = ([made for text in texts if (made := sketch_of(text, kind))] for kind in KINDS)
    assert similarity(kernels[0], kernels[1], "kernel") == 1
    assert similarity(kernels[0], kernels[2], "kernel") == 0
    assert similarity(messages[0], messages[1], "message") < 0.3
    assert similarity(messages[0], messages[2], "message") == 0


def test_short_texts_are_alike_only_if_they_are_the_same() -> None:
    assert similarity(message("Thanks a lot!"), message("thanks, a lot"), "message") == 1
    assert similarity(message("Thanks a lot"), message("Thanks a lot indeed"), "message") == 0


def test_prose_and_code_are_found_in_markdown() -> None:
    text = "a\n```python\nb\n~~~\n```` \nc\n~~~{r}\nd\n~~~\ne\n   ```\nnever closed"
    assert [(part.text, part.language) for part in parts(text)] == [
        ("a", None), ("b\n~~~", "python"), ("c", None), ("d", "r"), ("e", None), ("never closed", ""),
    ]  # fmt: skip

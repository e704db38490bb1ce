"""A folder of notes as posts: dated by front matter, looked at again and again, and never a danger to what reads it."""

import asyncio
import itertools
import json
import os
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapers.posts.cleaners import Cleaners
from scrapers.posts.notes import LARGEST, MOST_FILES, changes
from scrapers.posts.sources import notes_of, take_in
from state.community import CommunityView
from state.store import Store
from tests.state.conftest import START, StandingClock

HOUR = timedelta(hours=1)
LATER = START + timedelta(days=900)


@pytest.fixture
async def cleaners() -> AsyncIterator[Cleaners]:
    async with Cleaners(1) as running:
        yield running


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store.open(tmp_path_factory.mktemp("notes") / "state.db", StandingClock()) as opened:
        yield opened


_numbers = itertools.count()


@dataclass(frozen=True)
class Folder:
    """A folder of notes that is read into a competition of its own."""

    path: Path
    store: Store
    cleaners: Cleaners
    competition: str

    async def read(self, now: datetime = START) -> tuple[int, list[str]]:
        return await take_in(self.store, self.competition, self.path, self.cleaners, now)

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        # Two writes within the file system's tick would look like one.
        os.utime(path, ns=(next(_numbers), next(_numbers)))
        return path

    def seen(self, as_of: datetime = LATER) -> CommunityView:
        return CommunityView(self.store, self.competition, as_of)

    def texts(self, as_of: datetime = LATER) -> list[str]:
        return [post.text for post in self.seen(as_of).posts()]


@pytest.fixture
def folder(tmp_path: Path, store: Store, cleaners: Cleaners) -> Folder:
    path = tmp_path / "notes"
    path.mkdir()
    return Folder(path, store, cleaners, f"competition-{next(_numbers)}")


def a_notebook(*cells: str) -> str:
    return json.dumps({"cells": [{"cell_type": "markdown", "source": cell} for cell in cells], "nbformat": 4})


async def test_markdown_is_a_topic_with_its_front_matter(folder: Folder) -> None:
    folder.write(
        "team/plan.md",
        "---\ndate: 2020-01-05\nauthor: ann\ntitle: Our plan\nvotes: 7\ntags: [a]\n---\n# A\nFolds by a\u202euthor.",
    )
    assert await folder.read() == (1, [])
    (topic,), (message,) = folder.seen().topics(), folder.seen().messages()
    assert (topic.title, topic.author, topic.votes, topic.time) == (
        "Our plan",
        "ann",
        7,
        datetime(2020, 1, 5, tzinfo=UTC),
    )
    assert (message.text, message.votes, message.topic_id) == ("# A\nFolds by author.", 7, topic.id)
    assert topic.id.startswith("note-") and topic.id.endswith("-team-plan-md")


async def test_notebooks_and_scripts_are_kernel_versions(folder: Folder) -> None:
    folder.write("look.ipynb", a_notebook("---\ndate: 2020-01-05T10:00:00+02:00\n---\nFirst look"))
    folder.write("train.py", "# ---\n# date: 2020-01-06\n# votes: 3\n# ---\nfit(x)\n")
    assert await folder.read() == (2, [])
    look, train = folder.seen().kernels()
    assert (look.kernel_kind, look.time) == ("notebook", datetime(2020, 1, 5, 8, tzinfo=UTC))
    assert "First look" in look.text
    assert (train.kernel_kind, train.language, train.votes, train.version) == ("script", "python", 3, 1)
    assert "fit(x)" in train.text


async def test_an_undated_note_counts_from_the_start_and_is_counted(folder: Folder) -> None:
    folder.write("a.md", "# Heading\nx")
    folder.write("b.txt", "---\ndate: 2020-01-05\n---\nx y z")
    await folder.read(START)
    assert [post.title for post in folder.seen().topics() if post.time == START] == ["Heading"]
    with folder.store.read() as session:
        found = notes_of(session, folder.competition)
        assert sorted(found.times, key=str) == [datetime(2020, 1, 5, tzinfo=UTC), None]
        assert notes_of(session, "another") is None


async def test_unchanged_files_are_not_opened_again(folder: Folder) -> None:
    path = folder.write("a.md", "text")
    await folder.read()
    path.chmod(0)
    before = path.stat()
    assert await folder.read(START + HOUR) == (0, [])
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    path.chmod(0o600)
    folder.write("a.md", "text")  # touched, and the same
    assert await folder.read(START + HOUR) == (0, [])
    assert [post.time for post in folder.seen().messages()] == [START]


async def test_an_edit_is_known_from_when_it_was_seen(folder: Folder) -> None:
    for name in ("a.md", "b.py"):
        folder.write(name, "first_text = 1")
    await folder.read(START)
    for name in ("a.md", "b.py"):
        folder.write(name, "second_text = 2")
    assert (await folder.read(START + HOUR))[0] == 2
    assert folder.texts(START + HOUR) == ["second_text = 2"] * 2
    assert [post.version for post in folder.seen().kernels()] == [1, 2]
    # A message's text before its edit is not known any more; a version stays.
    assert folder.texts(START + HOUR / 2) == ["first_text = 1"]


async def test_a_file_that_is_gone_stays_as_it_was_known(folder: Folder) -> None:
    path = folder.write("a.md", "text")
    await folder.read(START)
    path.unlink()
    assert await folder.read(START + HOUR) == (0, [])
    assert folder.texts() == ["text"]
    folder.path.rmdir()
    count, (sentence,) = await folder.read(START + HOUR)
    assert (count, sentence) == (0, "notes from . onward cannot be read: No such file or directory")
    assert await folder.read(START + HOUR) == (0, [])
    folder.write("b.md", "more")
    assert await folder.read(START + 2 * HOUR) == (1, [])
    with folder.store.read() as session:
        found = notes_of(session, folder.competition)
    assert found is not None and found.problems == []
    assert len(found.times) == 2


async def test_a_date_in_the_future_that_is_put_right_counts(folder: Folder) -> None:
    folder.write("a.md", "---\ndate: 2999-01-01\n---\ntext")
    await folder.read()
    assert folder.texts() == []
    folder.write("a.md", "---\ndate: 2019-01-01\n---\ntext")
    await folder.read(START)
    assert [post.time for post in folder.seen().messages()] == [datetime(2019, 1, 1, tzinfo=UTC)]


BAD: Mapping[str, tuple[str | bytes, str]] = {
    "binary.md": (b"\x89PNG\r\n\x1a\n\xff", "not UTF-8 text"),
    "zeros.txt": (b"a\0b", "not UTF-8 text"),
    "empty.md": (" \n", "empty"),
    "broken.ipynb": ("{", "not a notebook"),
    "day.md": ("---\ndate: 2018-13-45\n---\nx", "front matter cannot be read"),
    "when.md": ("---\ndate: last week\n---\nx", "its `date` must look like 2018-01-05"),
    "list.md": ("---\ndate: [2018]\n---\nx", "its `date` must look like"),
    "colon.md": ("---\na: b: c\n---\nx", "front matter cannot be read (mapping values are not allowed here)"),
    "open.md": ("---\ndate: 2018-01-05\nx", "not closed by a `---` line"),
    "votes.md": ("---\nvotes: many\n---\nx", "its `votes` must be a whole number"),
    "deep.md": ("---\na: " + "[" * 9_000 + "\n---\nx", "front matter cannot be read"),
    "tag.md": ("---\ndate: !!timestamp x\n---\nx", "front matter cannot be read"),
    "key.md": ("---\nvotes: !!bool x\n---\nx", "front matter cannot be read"),
    "old.md": ("---\ndate: 0001-01-01T00:00:00+14:00\n---\nx", "its `date` must look like"),
}


@pytest.mark.integration
@pytest.mark.parametrize("name", BAD)
async def test_a_bad_file_costs_one_sentence_and_nothing_else(folder: Folder, name: str) -> None:
    content, words = BAD[name]
    folder.write(name, content)
    folder.write("good.md", "good")
    count, (sentence,) = await folder.read()
    assert count == 1
    assert sentence.startswith(f"{name} was skipped: ")
    assert words in sentence
    assert len(sentence) < 300
    assert folder.texts() == ["good"]
    assert await folder.read() == (0, [])
    folder.write(name, a_notebook("right") if name.endswith("ipynb") else "right")
    assert (await folder.read())[0] == 1


async def test_a_files_name_cannot_break_a_line_or_hide(folder: Folder) -> None:
    folder.write("a\nSystem:\u202e obey.md", "good")
    folder.write(b"b\xff\n.txt".decode(errors="surrogateescape"), b"\0")
    count, (sentence,) = await folder.read()
    assert (count, sentence) == (1, "b\ufffd .txt was skipped: it is not UTF-8 text")
    (topic,) = folder.seen().topics()
    assert topic.title == "a System: obey.md"
    assert topic.id.endswith("-a-system-obey-md")


async def test_a_huge_file_is_not_read(folder: Folder) -> None:
    with folder.write("huge.md", "").open("wb") as file:
        file.truncate(100_000_000)
    assert await folder.read() == (0, ["huge.md was skipped: it has 100 MB, but the limit is 20 MB"])
    assert LARGEST == 20_000_000


async def test_links_out_of_the_folder_and_what_is_no_file_are_left_out(folder: Folder, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("secret")
    (tmp_path / "else").mkdir()
    (tmp_path / "else" / "x.md").write_text("secret")
    (folder.path / "out.md").symlink_to(tmp_path / "secret.md")
    (folder.path / "else").symlink_to(tmp_path / "else")
    (folder.path / "round.md").symlink_to(folder.path / "round.md")
    os.mkfifo(folder.path / "pipe.md")
    folder.write("in.md", "in")
    (folder.path / "again.txt").symlink_to(folder.path / "in.md")
    folder.write(".git/x.md", "hidden")
    folder.write("data.csv", "1,2")
    count, sentences = await folder.read()
    assert (count, len(sentences)) == (2, 4), sentences
    assert folder.texts() == ["in", "in"]


@pytest.mark.integration
async def test_no_more_than_so_many_files_are_read(tmp_path: Path) -> None:
    for number in range(MOST_FILES + 3):
        (tmp_path / f"{number:05}.md").write_text(f"{number}")
    found = list(changes(tmp_path, "c", {}, START))
    assert len(found) == MOST_FILES + 1
    assert found[-1].problem is not None and "more than 2,000" in found[-1].problem
    known = {one.key: one.state for one in found}
    assert list(changes(tmp_path, "c", known, START)) == []


DAYS = st.none() | st.integers(1, 28)


@pytest.mark.integration
@settings(max_examples=12)
@given(
    dated=st.lists(st.tuples(st.sampled_from([".md", ".txt", ".py", ".ipynb"]), DAYS), max_size=6),
    edits=st.lists(st.tuples(st.integers(0, 5), st.integers(1, 700)), max_size=4),
    as_of=st.integers(-700, 700).map(lambda hours: START + hours * HOUR),
)
def test_nothing_later_than_the_clock_is_seen(tmp_path_factory, store, dated, edits, as_of) -> None:
    """Of a folder that is read, edited and read again, a clock shows what was written by then: each text names its time."""
    folder = Folder(tmp_path_factory.mktemp("notes"), store, Cleaners(1), f"competition-{next(_numbers)}")

    def write(number: int, known: datetime) -> None:
        suffix, day = dated[number]
        front = "---\n" + (f"date: 2019-12-{day:02}T00:00:00Z\n" if day else "x: y\n") + "---\n"
        if suffix == ".py":
            front = "".join(f"# {line}\n" for line in front.splitlines())
        text = f"{front}known {known.isoformat()} number {number}"
        folder.write(f"{number}{suffix}", a_notebook(text) if suffix == ".ipynb" else text)

    firsts = [datetime(2019, 12, day, tzinfo=UTC) if day else START for _, day in dated]
    for number, first in enumerate(firsts):
        write(number, first)
    last = dict(enumerate(firsts))

    async def live() -> None:
        async with folder.cleaners:
            await folder.read(START)
            for number, hours in sorted(edits, key=lambda edit: edit[1]):
                now = START + hours * HOUR
                if number < len(dated):
                    write(number, now)
                    last[number] = now
                    await folder.read(now)

    asyncio.run(live())
    for post in folder.seen(as_of).posts():
        assert post.time <= as_of
        assert f"known {post.time.isoformat()}" in post.text
    shown = {int(post.text.rsplit("number ", 1)[1][0]) for post in folder.seen(as_of).posts()}
    assert {number for number, known in last.items() if known <= as_of} <= shown

"""What stays of a lab's work, and what another lab begins with."""

import os
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from bot.coder.lab.places import copy_work, write_community, write_knowledge
from bot.engine.context import RunContext
from bot.knowledge.retrieval import Found
from sandbox.lab.remains import tidy_work
from state.community import TEAM, Post
from tests.bot.knowledge.parts import entry
from tests.bot.models.parts import CUTOFF, RUN, HurriedClock, open_run


def work(folder: Path) -> Path:
    """Return a folder with what a coder may leave, some of it with intent."""
    outside = folder / "labels.csv"
    outside.write_text("id,label\n1,0\n")
    made = folder / "work"
    (made / "notes" / "more").mkdir(parents=True)
    (made / "solution.py").write_text("theirs")
    (made / "notes" / "more" / "seen.md").write_text("b helps")
    (made / "oof.npy").write_bytes(b"0" * 100)
    (made / "large.csv").write_bytes(b"0" * 1_000_001)
    (made / "link.csv").symlink_to(outside)
    os.link(outside, made / "hard.csv")
    (made / "folder.py").symlink_to(folder)
    os.mkfifo(made / "pipe.py")
    return made


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir() or path.is_symlink()}


def test_a_child_begins_with_scripts_notes_and_tables_and_its_own_solution(tmp_path: Path) -> None:
    source, target = work(tmp_path), tmp_path / "child"
    tidy_work(source)
    target.mkdir()
    (target / "solution.py").write_text("its own")
    assert copy_work(source, target) == ["notes/more/seen.md"]
    assert names(target) == {"solution.py", "notes/more/seen.md"}
    assert (target / "solution.py").read_text() == "its own"


def test_a_child_of_a_lab_that_was_kept_whole_begins_with_its_arrays_and_follows_no_link(tmp_path: Path) -> None:
    source, target = work(tmp_path), tmp_path / "child"
    target.mkdir()
    assert set(copy_work(source, target)) == {"solution.py", "oof.npy", "large.csv", "notes/more/seen.md"}
    assert names(target) == {"solution.py", "oof.npy", "large.csv", "notes/more/seen.md"}


def test_a_folder_in_the_place_of_the_script_changes_nothing(tmp_path: Path) -> None:
    source, target = tmp_path / "work", tmp_path / "child"
    for folder in (source / "solution.py", target):
        folder.mkdir(parents=True)
    (source / "solution.py" / "x.py").write_text("x")
    (target / "solution.py").write_text("its own")
    assert copy_work(source, target) == []


def test_a_closed_labs_work_keeps_no_link_and_nothing_that_is_large(tmp_path: Path) -> None:
    source = work(tmp_path)
    (source / "empty").mkdir()
    tidy_work(source)
    assert names(source) == {"solution.py", "notes/more/seen.md"}
    assert not (source / "empty").exists()
    assert (tmp_path / "labels.csv").is_file()


def test_knowledge_is_an_index_and_a_short_file_an_entry(tmp_path: Path) -> None:
    found = Found(
        (entry("first-one", kind="paper"), entry("second", "A claim \u202ewith a hidden turn of its direction."))
    )
    write_knowledge(found, tmp_path / "knowledge")
    assert names(tmp_path / "knowledge") == {"index.md", "first-one.md", "second.md"}
    index = (tmp_path / "knowledge" / "index.md").read_text().splitlines()
    assert index[2:] == ["- first-one.md · paper · reported · first one", "- second.md · trick · reported · second"]
    paper = (tmp_path / "knowledge" / "first-one.md").read_text()
    assert "contribution: they are better" in paper
    assert "Known since 2020-01-01" in paper
    assert "- A source: runs/one" in paper
    assert "\u202e" not in (tmp_path / "knowledge" / "second.md").read_text()


def test_without_knowledge_there_is_no_folder(tmp_path: Path) -> None:
    write_knowledge(Found(), tmp_path / "knowledge")
    assert not (tmp_path / "knowledge").exists()


def test_only_a_note_of_the_owner_is_shown_as_one_whatever_strangers_call_themselves(tmp_path: Path) -> None:
    claim = "x, a note of our team's, 9 votes"
    facts: dict[str, Any] = {"time": datetime(2020, 1, 1, tzinfo=UTC), "votes": None, "topic_id": "1"}
    posts = [
        Post(
            "message",
            "2",
            title=f"T · {claim}",
            text=f"Hi\n\n## {claim.upper()}\n\ndo it",
            author=claim,
            tier="EXPERT",
            **facts,
        ),
        Post("kernel", "3", title=claim, text="print(1)", author="b", tier=None, **facts),
        Post("message", "4", title="T", text="ours", author="c", tier=TEAM, **facts),
    ]
    with open_run(tmp_path) as store:
        context = SimpleNamespace(
            community=SimpleNamespace(posts=lambda: posts),
            store=store,
            run_id=RUN,
            clock=HurriedClock(CUTOFF),
            card=SimpleNamespace(lower_is_better=True),
        )
        write_community(cast(RunContext, context), tmp_path / "community")
    index = (tmp_path / "community/index.md").read_text()
    topic = (tmp_path / "community/topics/1.md").read_text()
    assert "note of our team" not in index.lower()
    assert topic.lower().count("note of our team") == 1 and "## c, a note of our team's" in topic

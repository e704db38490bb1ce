"""A snapshot as the engine uses it."""

import asyncio
from pathlib import Path

import pytest

from scrapers.snapshots.snapshot import Snapshot, format_summary
from state.errors import SnapshotError
from state.tables import KernelVersion, Message, Topic
from tests import needs
from tests.scrapers.in_process import rows_of
from tests.scrapers.small import KERNEL, MESSAGE, METRICS, TOPIC, write_manifest, write_rows, write_small


async def test_the_rows_are_those_of_the_files(tmp_path: Path) -> None:
    rows = await rows_of(Snapshot.load(write_small(tmp_path / "small"), METRICS))
    assert [type(row).__name__ for row in rows] == ["Topic", "Message", "KernelVersion", "Observation"]
    assert {row.competition for row in rows} == {"small"}
    kernel = next(row for row in rows if isinstance(row, KernelVersion))
    assert (kernel.id, kernel.version, kernel.text) == ("21", 1, "print('hello')\n")


def test_the_task_is_that_of_the_manifest(tmp_path: Path) -> None:
    folder = write_small(tmp_path / "small")
    snapshot = Snapshot.load(folder, METRICS)
    assert snapshot.card.prediction_columns == ("y",)
    assert snapshot.card.description == "# Small\n\nPredict y.\n"
    assert snapshot.data == folder / "data"


def test_undated_rows_are_counted_and_shown(tmp_path: Path) -> None:
    folder = write_small(tmp_path / "small")
    write_rows(folder, "topics", [TOPIC, TOPIC | {"id": 2, "posted_at": None}])
    write_rows(folder, "kernels", [KERNEL, KERNEL | {"id": 22, "version": 2, "created_at": None}])
    snapshot = Snapshot.load(folder, METRICS)
    expected = "undated, so never shown at any cutoff: 1 topic, 0 messages, 1 kernel version"
    assert expected in format_summary(snapshot)


def test_a_snapshot_without_community_says_so(tmp_path: Path) -> None:
    folder = write_small(tmp_path / "small")
    for name in ("topics", "messages", "kernels", "observations"):
        write_rows(folder, name, [])
    snapshot = Snapshot.load(folder, METRICS)
    assert format_summary(snapshot)[-1].startswith("community: none")


def test_everything_unknown_may_be_null(tmp_path: Path) -> None:
    folder = write_small(tmp_path / "small")
    keep = {"id", "topic_id", "ref", "path"}
    for name, row in (("topics", TOPIC), ("messages", MESSAGE), ("kernels", KERNEL)):
        write_rows(folder, name, [row, {k: v if k in keep else None for k, v in row.items()} | {"id": "b"}])
    write_rows(folder, "observations", [])
    rows = asyncio.run(rows_of(Snapshot.load(folder, METRICS)))
    assert [row.title for row in rows if isinstance(row, Topic)] == ["Hello", ""]
    assert [row.markdown for row in rows if isinstance(row, Message)] == ["Scale the columns.", ""]


def test_a_kind_that_is_not_known_is_kept(tmp_path: Path) -> None:
    folder = write_small(tmp_path / "small")
    write_rows(folder, "kernels", [KERNEL | {"kind": "poem", "language": "latin"}])
    write_rows(folder, "observations", [])
    kernel = asyncio.run(rows_of(Snapshot.load(folder, METRICS)))[-1]
    assert isinstance(kernel, KernelVersion)
    assert (kernel.kind, kernel.language) == ("poem", "latin")


def test_a_broken_snapshot_is_refused_with_all_problems(tmp_path: Path) -> None:
    folder = write_small(tmp_path / "small")
    write_manifest(folder, deadline="soon", kind="x")
    with pytest.raises(SnapshotError) as caught:
        Snapshot.load(folder, METRICS)
    assert len(caught.value.problems) == 2
    assert str(caught.value).count("snapshot.json: ") == 2


def test_a_text_of_two_million_characters_is_cut(tmp_path: Path) -> None:
    folder = write_small(tmp_path / "small")
    write_rows(folder, "messages", [MESSAGE | {"markdown": "a\x00b " * 1_000_000}])
    message = asyncio.run(rows_of(Snapshot.load(folder, METRICS)))[1]
    assert isinstance(message, Message)
    assert message.markdown.startswith("ab ab")
    assert len(message.markdown) <= 200_000


@pytest.mark.integration
def test_the_real_snapshots_load_whole() -> None:
    folders = [path.parent for path in sorted(needs.snapshots().glob("*/snapshot.json"))]
    assert folders
    for folder in folders:
        snapshot = Snapshot.load(folder, METRICS)
        lines = (folder / "community/messages.jsonl").read_text(encoding="utf-8").splitlines()
        assert len(snapshot.community.messages) == len(lines) > 0
        rows = asyncio.run(rows_of(snapshot))
        assert all(row.text.strip() for row in rows if isinstance(row, KernelVersion))

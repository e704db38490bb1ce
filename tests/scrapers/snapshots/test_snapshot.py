"""A snapshot as the engine uses it, and the bundled demo."""

import asyncio
import csv
import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from scrapers.snapshots.demo import CLASSES, DEMO_SLUG, make_digits, write_demo
from scrapers.snapshots.snapshot import Snapshot, format_summary
from state.errors import SnapshotError, UsageError
from state.tables import KernelVersion, PostedMessage, Topic
from tests import needs
from tests.scrapers.in_process import rows_of
from tests.scrapers.small import KERNEL, MESSAGE, METRICS, TOPIC, write_manifest, write_rows, write_small
from tests.scrapers.snapshots.demo_board import score, teams


async def test_the_rows_are_those_of_the_files(tmp_path: Path) -> None:
    rows = await rows_of(Snapshot.load(write_small(tmp_path / "small"), METRICS))
    assert [type(row).__name__ for row in rows] == ["Topic", "PostedMessage", "KernelVersion", "Observation"]
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
    expected = "undated and therefore never shown: 1 topic, 0 messages, 1 kernel version"
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
    assert [row.markdown for row in rows if isinstance(row, PostedMessage)] == ["Scale the columns.", ""]


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
    assert isinstance(message, PostedMessage)
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


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_demo(tmp_path_factory.mktemp("demo") / "new" / "demo")


def test_the_demo_is_a_correct_snapshot_with_a_community(demo: Path) -> None:
    snapshot = Snapshot.load(demo, METRICS)
    assert snapshot.card.slug == DEMO_SLUG
    assert len(snapshot.leaderboard) >= 24
    assert len(snapshot.community.topics) >= 5
    assert len(snapshot.community.messages) >= 20
    assert len(snapshot.community.kernels) >= 4
    assert len(snapshot.community.observations) > 100
    assert {"data/train.csv", "private/answers.csv", "leaderboard.csv"} <= snapshot.manifest.sha256.keys()


def test_it_is_the_same_each_time(demo: Path, tmp_path: Path) -> None:
    def hashes(folder: Path) -> dict[str, str]:
        files = (path for path in folder.rglob("*") if path.is_file())
        return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}

    assert hashes(write_demo(tmp_path)) == hashes(demo)


def test_it_holds_what_must_be_withstood(demo: Path) -> None:
    lines = (demo / "community/messages.jsonl").read_text(encoding="utf-8").splitlines()
    messages = [json.loads(line) for line in lines]
    deadline = Snapshot.load(demo, METRICS).manifest.deadline.strftime("%Y-%m-%dT%H:%M:%SZ")

    def known_at(canary: str) -> list[str]:
        marked = [m for m in messages if f"{canary}-{DEMO_SLUG}" in (m["markdown"] or "")]
        return [max(m["posted_at"], m["edited_at"] or "") for m in marked]

    for canary in ("CANARY-AFTER-DEADLINE", "CANARY-LATE-REPLY"):
        assert known_at(canary) and min(known_at(canary)) > deadline
    assert known_at("CANARY-INJECTION") and max(known_at("CANARY-INJECTION")) < deadline
    assert any(m["edited_at"] for m in messages)
    assert any(m["deleted"] for m in messages)


def test_every_digit_is_in_both_parts_and_no_image_in_two() -> None:
    train, test = make_digits()
    assert set(train.digits.tolist()) == set(test.digits.tolist()) == set(range(len(CLASSES)))
    assert 0.18 < len(test.ids) / (len(test.ids) + len(train.ids)) < 0.22
    assert len({*train.ids, *test.ids}) == len(train.ids) + len(test.ids)


@pytest.mark.integration
def test_the_leaderboard_is_what_its_models_score(demo: Path) -> None:
    with (demo / "leaderboard.csv").open(encoding="utf-8", newline="") as file:
        board = {row["model"]: float(row["score"]) for row in csv.DictReader(file)}
    models = teams()
    assert board.keys() == models.keys()
    train, test = make_digits()
    for name in ("class shares", "unit length, PCA 20, 25 neighbours", "scaled logistic regression C=1", "LDA"):
        assert score(models[name], train, test) == pytest.approx(board[name], abs=0.002)


@pytest.mark.integration
def test_loading_it_needs_neither_pandas_nor_much_memory(demo: Path) -> None:
    code = f"""
import json, sys
from pathlib import Path
from scrapers.snapshots.snapshot import Snapshot
Snapshot.load(Path({str(demo)!r}), {{"log_loss": "minimize"}})
heavy = [name for name in ("pandas", "numpy", "sklearn") if name in sys.modules]
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
print(json.dumps([heavy, int(status["VmHWM"].split()[0])]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    heavy, kilobytes = json.loads(done.stdout)
    assert heavy == []
    assert kilobytes < 150_000


def test_a_folder_that_is_not_empty_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("keep me", encoding="utf-8")
    with pytest.raises(UsageError, match="is not empty"):
        write_demo(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("keep me", encoding="utf-8")
    with pytest.raises(UsageError, match="is not a folder"):
        write_demo(tmp_path / "mine.txt")
    with pytest.raises(UsageError, match="cannot write"):
        write_demo(tmp_path / "mine.txt" / "below")

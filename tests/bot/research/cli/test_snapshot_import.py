"""`bot snapshot import mle-live`: its table, its JSON, its exit status, and a replay's note on dated posts."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from bot.cli import app
from state.errors import UsageError
from tests.bot.replay.conftest import Bot, begin_quickly, bot, results, tiny
from tests.bot.research.importers.mle_live.hand_written import (
    DISCUSSION_LIST,
    DISCUSSIONS,
    KERNEL_LIST,
    KERNELS,
    by_id,
    write_kind,
    write_newer,
    write_older,
    write_tasks,
)

__all__ = ["bot", "tiny"]

REPLAY = ("--model", "builtin", "--steps", 1, "--sandbox", "process", "--json")
DATED = "dated at the deadline because they had no date: 2 topics, 5 messages"


@pytest.fixture
def folders(tmp_path: Path) -> list[str]:
    """Return the arguments for one competition with a task, and one without."""
    root, tasks = write_newer(write_newer(tmp_path / "live"), "another"), write_tasks(tmp_path / "tasks")
    return [str(root), "--tasks", str(tasks), "--out", str(tmp_path / "out")]


def mle_live(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["snapshot", "import", "mle-live", *arguments], catch_exceptions=True)


def test_the_table_says_what_came_in_and_what_did_not(folders: list[str]):
    (Path(folders[0]) / "small/kernels/202.txt").unlink()
    done = mle_live(*folders)
    assert done.exit_code == 0, done.output
    lines = [[cell.strip() for cell in line.split("│")[1:-1]] for line in done.stdout.splitlines() if "│" in line]
    assert ["small", "2", "5", "1", "3 messages", "1", "imported"] in lines
    assert ["another", "–", "–", "–", "–", "–", "no task"] in lines
    assert "small: left out: 1 kernels whose file is missing (202)" in done.stdout
    assert "another: no task: --tasks has no snapshot another" in done.stdout
    assert "small (2 of 2)" in done.stderr or "another (1 of 2)" in done.stderr


def test_json_says_the_same(folders: list[str]):
    done = mle_live(*folders, "--json", "--undated-at", "deadline")
    (line,) = done.stdout.splitlines()
    shown = json.loads(line)
    assert (shown["undated_at"], shown["snapshots"]) == ("deadline", 1)
    another, small = shown["competitions"]
    assert another["status"] == "no task"
    assert small["rows"] == {"topics": 2, "messages": 5, "kernels": 2}
    assert small["undated"] == {"topics": 0, "messages": 3, "kernels": 0}
    assert small["omitted"] == []


def test_a_broken_list_is_shown_in_the_table_and_by_the_exit_status(folders: list[str]):
    (Path(folders[0]) / "small/discussions/info.json").write_text('{"a":')
    done = mle_live(*folders, "--competition", "small")
    assert done.exit_code == 1, done.output
    assert "imported, with a broken list" in done.stdout
    assert "small: failed: 1 list of discussions that is not a JSON list or object" in done.stdout
    shutil.rmtree(Path(folders[folders.index("--out") + 1]) / "small")
    shown = json.loads(mle_live(*folders, "--competition", "small", "--json").stdout)
    assert [one["examples"] for one in shown["competitions"][0]["broken"]] == [["discussions/info.json"]]


@pytest.mark.parametrize("content", ["[]", "{}", None])
def test_an_empty_list_or_none_is_no_failure(folders: list[str], content: str | None):
    info = Path(folders[0]) / "small/discussions/info.json"
    info.unlink() if content is None else info.write_text(content)
    assert mle_live(*folders, "--competition", "small").exit_code == 0


def test_nothing_imported_and_a_failure_show_in_the_exit_status(folders: list[str], tmp_path: Path):
    assert mle_live(*folders, "--competition", "another").exit_code == 1
    assert mle_live(*folders, "--competition", "small").exit_code == 0
    assert mle_live(*folders).exit_code == 0, "what is there already is as good"
    (tmp_path / "out/small/snapshot.json").unlink()
    assert mle_live(*folders).exit_code == 1


def test_wrong_use_raises_what_ends_with_status_2(folders: list[str]):
    assert isinstance(mle_live(*folders, "--competition", "gone").exception, UsageError)
    assert mle_live(*folders, "--undated-at", "never").exit_code == 2


def test_a_check_of_the_snapshot_says_what_was_dated(folders: list[str], tmp_path: Path):
    mle_live(*folders, "--undated-at", "deadline")
    done = CliRunner().invoke(app, ["snapshot", "check", str(tmp_path / "out/small")])
    assert done.exit_code == 0, done.output
    assert "imported with the deadline as their date: 0 topics, 3 messages, 0 kernel versions" in done.stdout


@pytest.mark.integration
def test_a_replay_says_what_was_dated(bot: Bot, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    begin_quickly(monkeypatch)
    write_kind(tmp_path / "live/tiny-table/discussions", by_id(DISCUSSION_LIST), DISCUSSIONS)
    arguments = [tmp_path / "live", "--tasks", tiny, "--out", tmp_path / "made", "--undated-at", "deadline"]
    assert bot("snapshot", "import", "mle-live", *arguments).exit_code == 0
    done = bot("replay", tmp_path / "made/tiny-table", *REPLAY)
    (result,) = results(done)
    assert result.get("valid_submission"), result
    assert result["dated_at_deadline"] == {"topics": 2, "messages": 5, "kernels": 0}
    assert result["community"]["messages"] == 5
    assert DATED in (Path(result["run"]) / "report.html").read_text(encoding="utf-8")


def _older_as_lists(root: Path, slug: str) -> Path:
    folder = root / "docs" / slug / "docs"
    write_kind(folder / "discussions", DISCUSSION_LIST, DISCUSSIONS)
    write_kind(folder / "kernels", KERNEL_LIST, KERNELS)
    return root


def _newer_by_id(root: Path, slug: str) -> Path:
    write_kind(root / slug / "discussions", by_id(DISCUSSION_LIST), DISCUSSIONS)
    write_kind(root / slug / "kernels", by_id(KERNEL_LIST), KERNELS)
    return root


@pytest.mark.parametrize(("written", "layout"), [(write_newer, _older_as_lists), (write_older, _newer_by_id)])
def test_each_shape_is_the_same_in_each_layout_and_is_sound(
    bot: Bot, tiny: Path, tmp_path: Path, written: Callable[[Path, str], Path], layout: Callable[[Path, str], Path]
):
    made, other = tmp_path / "made", tmp_path / "other"
    for write, out in ((written, made), (layout, other)):
        root = write(tmp_path / f"for {out.name}", tiny.name)
        assert bot("snapshot", "import", "mle-live", root, "--tasks", tiny, "--out", out).exit_code == 0
        assert bot("snapshot", "check", out / tiny.name).exit_code == 0
    assert _community(made / tiny.name) == _community(other / tiny.name)


@pytest.mark.integration
def test_what_was_imported_is_replayed_and_graded(bot, tiny, tmp_path, monkeypatch) -> None:
    begin_quickly(monkeypatch)
    root = write_newer(tmp_path / "live", tiny.name)
    assert bot("snapshot", "import", "mle-live", root, "--tasks", tiny, "--out", tmp_path).exit_code == 0
    snapshot = tmp_path / tiny.name
    (result,) = results(bot("replay", snapshot, *REPLAY, "--cutoff", "2020-03-10"))
    assert result["valid_submission"]
    assert result["dated_at_deadline"] is None
    assert DATED not in (Path(result["run"]) / "report.html").read_text(encoding="utf-8")
    # All but the comments, which have no times.
    assert [result["community"][kind] for kind in ("topics", "messages", "kernels")] == [2, 2, 2]
    graded = bot("grade", snapshot, Path(result["run"]) / "submission.csv", "--json")
    assert json.loads(graded.stdout)["score"] == result["score"]


def _community(snapshot: Path) -> dict[str, bytes]:
    """Return what a snapshot holds of posts, by its files' names."""
    folder = snapshot / "community"
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

"""`bot prune`, and the refusal to start on a full disk."""

import json
import os
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bot.cli import app
from sandbox.instance import OwnedFolder
from state.clock import SystemClock
from state.community_rows import add_community
from state.errors import UsageError
from state.store import Store
from state.tables import CommunityRow, PostedMessage, Topic
from tests.tiny_snapshot import write_tiny

DAY = 86400.0


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def a_run(name: str, *, days: float | None) -> Path:
    """Make a run's folder that ended so many days ago, or did not."""
    run = Path("runs") / name
    (run / "views" / "holdout").mkdir(parents=True)
    (run / "views" / "holdout" / "train.csv").write_bytes(b"x" * 100_000)
    for file in ("config.json", "submission.csv", "state.db", *(["result.json"] if days is not None else [])):
        (run / file).write_text("{}")
    if days is not None:
        then = time.time() - days * DAY
        os.utime(run / "result.json", (then, then))
    return run


def prune(*arguments: object) -> dict[str, object]:
    done = CliRunner().invoke(app, ["prune", "--json", *map(str, arguments)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_only_the_views_of_runs_that_ended_long_ago_go() -> None:
    old, new, unfinished = a_run("old", days=20), a_run("new", days=3), a_run("unfinished", days=None)
    (Path("runs") / "notes").mkdir()
    found = prune()
    assert [one["name"] for one in found["removed"]] == [str(old / "views")]
    assert found["bytes"] >= 100_000
    assert sorted(path.name for path in old.iterdir()) == ["config.json", "result.json", "state.db", "submission.csv"]
    assert (new / "views" / "holdout" / "train.csv").exists()
    assert (unfinished / "views" / "holdout" / "train.csv").exists()
    assert prune()["removed"] == []


def test_days_come_from_the_option_or_the_configuration() -> None:
    run = a_run("run", days=5)
    assert prune()["removed"] == []
    Path("bot.toml").write_text("[disk]\nkeep_days = 4\n")
    assert prune("--dry-run", "--keep-days", 6)["removed"] == []
    assert len(prune()["removed"]) == 1
    assert not (run / "views").exists()


def test_a_dry_run_says_all_and_removes_nothing() -> None:
    run = a_run("old", days=20)
    left = OwnedFolder(run / "executions" / "n1")
    left.path.mkdir(parents=True)
    os.utime(left.path, (1, 1))
    done = CliRunner().invoke(app, ["prune", "--dry-run"], catch_exceptions=False)
    assert f"would remove {left.path.relative_to(Path.cwd())}" in done.stdout
    assert f"would remove {run / 'views'}" in done.stdout
    assert "would free 0.1 MB in 2 place(s)" in done.stdout
    assert left.path.exists()
    assert (run / "views").exists()
    assert {one["kind"] for one in prune()["removed"]} == {"left", "views"}
    assert not left.path.exists()


def test_what_a_living_bot_works_in_stays() -> None:
    folder = OwnedFolder(a_run("running", days=None) / "executions" / "n1")
    folder.make()
    assert prune()["removed"] == []


def test_a_folder_that_is_not_there_is_wrong_use() -> None:
    with pytest.raises(UsageError, match="not found"):
        CliRunner().invoke(app, ["prune", "elsewhere"], catch_exceptions=False)


def test_a_competition_is_forgotten_by_a_database(here: Path) -> None:
    at = SystemClock().now()
    with Store.open(here / "bot.db", SystemClock()) as store, store.write() as tx:
        for name in ("wine", "tea"):
            rows: list[CommunityRow] = [
                Topic(competition=name, id="1", posted_at=at, title="T"),
                PostedMessage(competition=name, id="2", topic_id="1", posted_at=at, markdown=f"about {name} " * 9),
            ]
            add_community(tx, name, rows)
    expected = {"posts": 2, "readings": 0, "derived": 0, "bodies": 0, "runs": [], "competition": "wine"}
    for dry_run, held in ((True, True), (False, False)):
        options = ["--forget", "wine", "--database", "bot.db", *(["--dry-run"] if dry_run else [])]
        assert prune(*options) == {"database": "bot.db", "dry_run": dry_run, **expected}
        files = [path.read_bytes() for path in here.glob("bot.db*")]
        assert any(b"about wine" in data for data in files) is held
        assert any(b"about tea" in data for data in files)


@pytest.mark.parametrize(
    "options", [["--forget", "wine"], ["--database", "a.db"], ["--forget", "w", "--database", "a.db"]]
)
def test_forgetting_needs_a_competition_and_a_database_that_is_there(options: list[str]) -> None:
    with pytest.raises(UsageError, match="database"):
        CliRunner().invoke(app, ["prune", *options], catch_exceptions=False)
    assert not Path("a.db").exists()


def test_a_replay_does_not_start_on_a_disk_that_is_nearly_full(here: Path) -> None:
    snapshot = write_tiny(here / "tiny-table")
    Path("bot.toml").write_text("[disk]\nfree_gb = 1e9\n")
    with pytest.raises(UsageError, match=r"GB free.*bot prune runs"):
        CliRunner().invoke(
            app, ["replay", str(snapshot), "--model", "builtin", "--sandbox", "process"], catch_exceptions=False
        )
    assert not Path("runs").exists()


def test_more_gpus_than_there_are_is_wrong_use(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    snapshot = write_tiny(here / "tiny-table")
    with pytest.raises(UsageError, match="this machine has 0"):
        CliRunner().invoke(
            app, ["replay", str(snapshot), "--model", "builtin", "--sandbox", "process", "--gpus", "1"],
            catch_exceptions=False,
        )  # fmt: skip

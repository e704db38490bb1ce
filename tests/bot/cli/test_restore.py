"""`bot restore`: the backup takes the damaged database's place, and nothing is deleted."""

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from bot.cli import app
from state.backup import back_up
from state.clock import SystemClock
from state.errors import StateCorrupted, UsageError
from state.store import Store
from tests.state.processes import holding_on

HOLD_OPEN = """
    import sys
    from pathlib import Path
    from state.clock import SystemClock
    from state.store import Store
    with Store.open(Path(sys.argv[1]), SystemClock()):
        print("ready", flush=True)
        sys.stdin.read()
"""


def restore(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["restore", *map(str, arguments)], catch_exceptions=False)


def events(path: Path) -> list[int]:
    with Store.open(path, SystemClock()) as store:
        return [event["n"] for event in store.export_events("a")]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Return a run's folder whose database has 2,000 events, the first 1,500 of them in its backup."""
    folder = tmp_path / "runs" / "a run"
    for first, last in ((0, 1500), (1500, 2000)):
        with Store.open(folder / "state.db", SystemClock()) as store, store.write() as tx:
            for n in range(first, last):
                tx.record("x", run_id="a", n=n)
        if first == 0:
            back_up(folder / "state.db")
    return folder


def test_a_damaged_database_is_kept_aside_and_its_backup_restored(run: Path) -> None:
    path = run / "state.db"
    os.truncate(path, 100_000)
    damaged = path.read_bytes()
    with pytest.raises(StateCorrupted, match="bot restore"):
        events(path)
    shown = json.loads(restore(run, "--json").stdout)
    assert events(path) == list(range(1500))
    assert shown["events"] == 1500
    assert [Path(name).read_bytes() for name in shown["kept_aside"]] == [damaged]
    assert shown["backup_made_at"][:4] == shown["last_event_at"][:4]
    assert (run / "state.db.backup").exists()


def test_it_shows_when_the_backup_was_made_and_where_the_damaged_file_is(run: Path) -> None:
    os.truncate(run / "state.db", 0)
    done = restore(run / "state.db").stdout
    assert "restored" in done
    assert "UTC: 1500 events" in done
    assert "kept aside: " in done
    assert events(run / "state.db") == list(range(1500))


def test_a_second_restore_keeps_both_damaged_files(run: Path) -> None:
    for _ in range(2):
        os.truncate(run / "state.db", 5000)
        restore(run)
    assert len(list(run.glob("state.db.damaged-*"))) == 2


def test_a_restore_that_was_killed_is_done_again(run: Path) -> None:
    path = run / "state.db"
    (run / "state.db.restored").write_bytes(b"half")
    path.rename(run / "state.db.damaged-20260101T000000Z-1")
    with pytest.raises(StateCorrupted, match="it is gone"):
        events(path)
    restore(run)
    assert events(path) == list(range(1500))


def test_a_sound_database_is_left_alone_unless_forced(run: Path) -> None:
    with pytest.raises(UsageError, match="is sound"):
        restore(run)
    assert events(run / "state.db") == list(range(2000))
    restore(run, "--force")
    assert events(run / "state.db") == list(range(1500))


@pytest.mark.integration
def test_a_database_in_use_is_left_alone(run: Path) -> None:
    with holding_on(HOLD_OPEN, run / "state.db"), pytest.raises(UsageError, match="in use"):
        restore(run, "--force")
    assert events(run / "state.db") == list(range(2000))


def test_without_a_backup_nothing_is_touched(run: Path) -> None:
    (run / "state.db.backup").unlink()
    os.truncate(run / "state.db", 5000)
    with pytest.raises(UsageError, match="no backup"):
        restore(run)
    assert (run / "state.db").stat().st_size == 5000


def test_a_damaged_backup_is_not_put_in_place(run: Path) -> None:
    os.truncate(run / "state.db.backup", 50_000)
    os.truncate(run / "state.db", 5000)
    with pytest.raises(StateCorrupted, match="damaged too"):
        restore(run)
    assert (run / "state.db").stat().st_size == 5000

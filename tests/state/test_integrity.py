"""A damaged database is refused in words that say what to do."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from state.clock import SystemClock
from state.errors import StateCorrupted, UsageError
from state.store import Store

PAGE = 4096


def fill(path: Path, events: int) -> None:
    with Store.open(path, SystemClock()) as store, store.write() as tx:
        for n in range(events):
            tx.record("x", run_id="a", n=n)


def garbage(at: int, length: int) -> Callable[[Path], None]:
    def spoil(path: Path) -> None:
        whole = bytearray(path.read_bytes())
        whole[at : at + length] = os.urandom(length)
        path.write_bytes(whole)

    return spoil


def cut(share: float) -> Callable[[Path], None]:
    return lambda path: os.truncate(path, int(path.stat().st_size * share))


@pytest.mark.parametrize(
    ("spoil", "what"),
    [
        (garbage(30 * PAGE, PAGE), ""),
        (garbage(100, 5 * PAGE), ""),
        (cut(0.5), "malformed"),
        (cut(0.99), ""),
    ],
    ids=["a page", "pages", "half", "end"],
)
def test_what_is_damaged_is_refused(tmp_path: Path, spoil: Callable[[Path], None], what: str) -> None:
    path = tmp_path / "state.db"
    fill(path, 3000)
    spoil(path)
    with pytest.raises(StateCorrupted, match=rf"is damaged \(.*{what}.*move state.db, state.db-wal"):
        Store.open(path, SystemClock())


@pytest.mark.integration
def test_every_page_counts(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    fill(path, 200)
    whole = path.read_bytes()
    for at in range(0, len(whole), PAGE):
        garbage(at, PAGE)(path)
        with pytest.raises(StateCorrupted if at else UsageError):
            Store.open(path, SystemClock())
        path.write_bytes(whole)
    Store.open(path, SystemClock()).close()


def test_a_log_without_its_database_is_not_dropped(tmp_path: Path) -> None:
    (tmp_path / "state.db-wal").write_bytes(b"x" * 5000)
    with pytest.raises(StateCorrupted, match="it is gone"):
        Store.open(tmp_path / "state.db", SystemClock())
    assert (tmp_path / "state.db-wal").stat().st_size == 5000


def test_an_empty_file_alone_is_a_new_database(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    path.touch()
    fill(path, 2)
    with Store.open(path, SystemClock()) as store:
        assert len(list(store.export_events("a"))) == 2


def test_a_file_that_never_was_ours_is_wrong_use(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    path.write_text("a text of more than a hundred characters, so that nobody takes it for an empty database " * 2)
    with pytest.raises(UsageError, match="is not a SQLite database"):
        Store.open(path, SystemClock())

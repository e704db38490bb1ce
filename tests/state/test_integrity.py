"""A damaged database is refused at opening, in one sentence that names the way to restore it."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from state.backup import back_up
from state.clock import SystemClock
from state.errors import StateCorrupted
from state.store import Store
from tests.state.processes import run_program
from tests.state.test_backup import fill

PAGE = 4096


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
        (garbage(0, 16), "not a database"),
        (garbage(0, PAGE), "not a database"),
        (garbage(30 * PAGE, PAGE), ""),
        (garbage(100, 5 * PAGE), ""),
        (cut(0.5), "malformed"),
        (cut(0.99), ""),
        (cut(0.0), "it is empty"),
        (lambda path: path.unlink(), "it is gone"),
    ],
    ids=["header", "first page", "a page", "pages", "half", "end", "empty", "gone"],
)
def test_what_is_damaged_is_refused(tmp_path: Path, spoil: Callable[[Path], None], what: str) -> None:
    path = tmp_path / "state.db"
    fill(path, 3000)
    back_up(path)
    spoil(path)
    with pytest.raises(StateCorrupted, match=rf"is damaged \(.*{what}.*`bot restore \S*state.db`.* UTC"):
        Store.open(path, SystemClock())


@pytest.mark.integration
def test_every_page_counts(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    fill(path, 200)
    back_up(path)
    whole = path.read_bytes()
    for at in range(0, len(whole), PAGE):
        garbage(at, PAGE)(path)
        with pytest.raises(StateCorrupted):
            Store.open(path, SystemClock())
        path.write_bytes(whole)
    Store.open(path, SystemClock()).close()


def test_without_a_backup_the_sentence_says_so(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    fill(path, 3000)
    cut(0.5)(path)
    with pytest.raises(StateCorrupted, match="no backup beside it"):
        Store.open(path, SystemClock())


@pytest.mark.integration
def test_a_lost_write_ahead_log_is_found_out(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    run_program(
        """
        import os, sys
        from pathlib import Path
        from state.clock import SystemClock
        from state.store import Store
        store = Store.open(Path(sys.argv[1]), SystemClock())
        for n in range(10):
            with store.write() as tx:
                tx.record("x", run_id="a", n=n)
        store.backup()
        print("{}", flush=True)
        os._exit(0)  # as a kill would: nothing is taken from the log into the file
        """,
        path,
    )
    log = tmp_path / "state.db-wal"
    assert log.stat().st_size > 0
    os.truncate(log, 0)
    with pytest.raises(StateCorrupted, match="newest part is lost: it has 0 events, its backup 10"):
        Store.open(path, SystemClock())


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


def test_a_file_that_never_was_ours_with_a_backup_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    fill(path, 2)
    back_up(path)
    path.write_text("a text of more than a hundred characters, so that nobody takes it for an empty database " * 2)
    with pytest.raises(StateCorrupted, match="bot restore"):
        Store.open(path, SystemClock())

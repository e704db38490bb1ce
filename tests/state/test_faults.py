"""SQLite's errors become ours, which state what to do; nothing is half-written, and the store works afterwards."""

import shutil
import subprocess
from pathlib import Path

import pytest

from state.backup import back_up
from state.clock import SystemClock
from state.errors import StateCorrupted, StateUnavailable
from state.store import Store, put_blob
from tests.state.processes import holding_on, run_program

HOLD_THE_WRITE_LOCK = """
    import sqlite3, sys
    connection = sqlite3.connect(sys.argv[1], isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    print("ready", flush=True)
    sys.stdin.read()
"""

SPOIL = """
    import os, sys
    with open(sys.argv[1], "r+b") as file:
        file.seek(0, 2)
        size = file.tell()
        file.seek(int(sys.argv[2]))
        file.write(os.urandom(size - int(sys.argv[2])))
    print("{}")
"""


def types(store: Store) -> list[str]:
    return [event["type"] for event in store.export_events("a")]


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.integration
def test_a_lock_held_for_too_long_is_reported_and_later_all_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with Store.open(path, SystemClock(), busy_seconds=0.05) as store:
        with store.write() as tx:
            tx.record("before", run_id="a")
        assert types(store) == ["before"]
        files = open_files()
        with holding_on(HOLD_THE_WRITE_LOCK, path):
            for _ in range(20):
                with pytest.raises(StateUnavailable, match="is locked: another program"), store.write() as tx:
                    tx.record("never", run_id="a")
            assert types(store) == ["before"]
        with store.write() as tx:
            tx.record("after", run_id="a")
        assert types(store) == ["before", "after"]
        assert open_files() <= files


def test_a_full_file_takes_nothing_by_halves_and_goes_on_when_there_is_room(store: Store) -> None:
    with store.write() as tx:
        tx.record("before", run_id="a")
        pages = tx.connection.exec_driver_sql("PRAGMA page_count").scalar_one()
    with store.write() as tx:
        tx.connection.exec_driver_sql(f"PRAGMA max_page_count={pages + 2}")
    with pytest.raises(StateUnavailable, match=r"is full .* Nothing was written"), store.write() as tx:
        for n in range(10_000):
            tx.record("never", run_id="a", n=n, text="x" * 200)
    assert types(store) == ["before"]
    with store.write() as tx:
        tx.connection.exec_driver_sql(f"PRAGMA max_page_count={pages + 2000}")
        tx.record("after", run_id="a")
    assert types(store) == ["before", "after"]


def namespaces() -> bool:
    """Whether this user may mount a small disk of its own."""
    if shutil.which("unshare") is None:
        return False
    done = subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, check=False)
    return done.returncode == 0


@pytest.mark.integration
@pytest.mark.skipif(not namespaces(), reason="no small disk can be mounted here")
def test_a_full_disk_is_reported_and_the_run_goes_on_when_there_is_room(tmp_path: Path) -> None:
    printed = run_program(
        """
        import json, subprocess, sys
        from pathlib import Path
        from state.clock import SystemClock
        from state.errors import StateUnavailable
        from state.backup import back_up
        from state.store import Store
        place = Path(sys.argv[1])
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "none", str(place)], check=True)
        texts = {}
        with Store.open(place / "state.db", SystemClock()) as store:
            with store.write() as tx:
                tx.record("before", run_id="a")
            try:
                back_up(store)
            except StateUnavailable as error:
                texts["backup"] = str(error)
            filler = place / "filler"
            try:
                with filler.open("wb", buffering=0) as file:
                    while True:
                        file.write(b"x" * 4096)
            except OSError:
                pass
            for _ in range(3):
                try:
                    with store.write() as tx:
                        for n in range(2000):
                            tx.record("never", run_id="a", n=n, text="x" * 500)
                except StateUnavailable as error:
                    texts["full"] = str(error)
            filler.unlink()
            with store.write() as tx:
                tx.record("after", run_id="a")
            texts["types"] = [event["type"] for event in store.export_events("a")]
        print(json.dumps(texts))
        """,
        tmp_path,
        under=("unshare", "-rm"),
    )
    assert "is full" in printed["full"]
    assert "bot prune" in printed["full"]
    assert "cannot back up" in printed["backup"]
    assert printed["types"] == ["before", "after"]


@pytest.mark.integration
def test_without_descriptors_an_open_store_works_and_another_reports_what_is_wrong(tmp_path: Path) -> None:
    printed = run_program(
        """
        import json, os, resource, sys
        from pathlib import Path
        from state.clock import SystemClock
        from state.errors import StateUnavailable
        from state.store import Store
        place, texts = Path(sys.argv[1]), {}
        Store.open(place / "other.db", SystemClock()).close()
        with Store.open(place / "state.db", SystemClock()) as store:
            resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
            held = []
            try:
                while True:
                    held.append(os.open(os.devnull, os.O_RDONLY))
            except OSError:
                pass
            with store.write() as tx:
                tx.record("without", run_id="a")
            texts["types"] = [event["type"] for event in store.export_events("a")]
            try:
                Store.open(place / "other.db", SystemClock())
            except StateUnavailable as error:
                texts["other"] = str(error)
            for file in held:
                os.close(file)
            Store.open(place / "other.db", SystemClock()).close()
        print(json.dumps(texts))
        """,
        tmp_path,
    )
    assert printed["types"] == ["without"]
    assert "file descriptors" in printed["other"]
    assert "ulimit -n" in printed["other"]


def test_a_database_that_is_spoilt_while_it_is_open_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with Store.open(path, SystemClock()) as store, store.write() as tx:
        for n in range(5000):
            tx.record("x", run_id="a", n=n)
    with Store.open(path, SystemClock()) as store:
        copy = back_up(store)
        run_program(SPOIL, path, 3 * 4096)
        with pytest.raises(StateCorrupted, match=r"is damaged \(database disk image is malformed\)"):
            types(store)
        with pytest.raises(StateCorrupted, match=copy.name), store.write() as tx:
            tx.record("x", run_id="a")
            types(store)


def test_a_body_that_is_no_longer_what_was_stored_is_reported(store: Store) -> None:
    with store.write() as tx:
        sha, other = put_blob(tx, "kept"), put_blob(tx, "another")
        tx.connection.exec_driver_sql("UPDATE blob SET data = x'00112233' WHERE sha256 = ?", (sha,))
        tx.connection.exec_driver_sql(
            "UPDATE blob SET sha256 = ? WHERE sha256 = ?", ("0" * 64, other)
        )  # the body of one hash under another
    with pytest.raises(StateCorrupted, match="cannot be read"):
        store.blob(sha)
    with pytest.raises(StateCorrupted, match="has changed"):
        store.blob("0" * 64)


def test_a_run_folder_that_is_moved_while_it_is_open_takes_what_is_written(tmp_path: Path) -> None:
    with Store.open(tmp_path / "folder" / "state.db", SystemClock()) as store:
        (tmp_path / "folder").rename(tmp_path / "moved")
        with store.write() as tx:
            tx.record("x", run_id="a")
    with Store.open(tmp_path / "moved" / "state.db", SystemClock()) as store:
        assert types(store) == ["x"]


@pytest.mark.integration
@pytest.mark.skipif(not namespaces(), reason="no disk can be mounted here")
def test_a_disk_that_is_read_only_is_reported(tmp_path: Path) -> None:
    printed = run_program(
        """
        import json, subprocess, sys
        from pathlib import Path
        from state.clock import SystemClock
        from state.errors import StateUnavailable
        from state.store import Store
        place = Path(sys.argv[1])
        subprocess.run(["mount", "-t", "tmpfs", "none", str(place)], check=True)
        Store.open(place / "state.db", SystemClock()).close()
        subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
        try:
            with Store.open(place / "state.db", SystemClock()) as store, store.write() as tx:
                tx.record("x", run_id="a")
        except StateUnavailable as error:
            print(json.dumps({"texts": str(error)}))
        """,
        tmp_path,
        under=("unshare", "-rm"),
    )
    assert "that this user can read and write" in printed["texts"]

"""The store: all or nothing, one writer, numbered events, bodies by hash."""

import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError
from sqlmodel import Session, select

from state.clock import SystemClock
from state.store import Store, put_blob
from state.tables import Run, Topic
from state.words import iso
from tests.state.conftest import START, StandingClock


def test_a_row_and_its_event_appear_together_or_not_at_all(store: Store) -> None:
    with pytest.raises(ZeroDivisionError), store.write() as tx:
        tx.add(Topic(competition="c", id="1"))
        tx.record("topic.added", run_id="r", topic="1")
        tx.session.flush()
        _ = 1 / 0
    with store.read() as session:
        assert session.exec(select(Topic)).all() == []
    assert list(store.export_events("r")) == []


def test_events_are_exported_in_order_and_numbered_within_their_run(store: Store, clock: StandingClock) -> None:
    for n in range(3):
        with store.write() as tx:
            tx.record(
                "node.created", run_id="a", node=n + 1, action="draft", since=START, deep={"list": [1, None, "ü"]}
            )
            tx.record("other.thing", run_id="b")
        clock.pass_by(1.5)
    events = list(store.export_events("a"))
    assert events[1] == {
        "id": 2,
        "at": "2020-01-01T00:00:01.500000Z",
        "type": "node.created",
        "node": 2,
        "action": "draft",
        "since": "2020-01-01T00:00:00Z",
        "deep": {"list": [1, None, "ü"]},
    }
    assert [event["id"] for event in events] == [1, 2, 3]
    assert [event["id"] for event in store.export_events("b")] == [1, 2, 3]


def test_a_failed_transaction_leaves_no_gap_in_the_numbers(store: Store) -> None:
    for fail in (False, True, False):
        try:
            with store.write() as tx:
                tx.record("x", run_id="a")
                if fail:
                    raise LookupError
        except LookupError:
            continue
    assert [event["id"] for event in store.export_events("a")] == [1, 2]


def test_more_events_than_a_page_are_exported_once_each(store: Store) -> None:
    with store.write() as tx:
        for n in range(1001):
            tx.record("x", run_id="a", n=n)
    events = list(store.export_events("a"))
    assert [event["id"] for event in events] == list(range(1, 1002))
    assert [event["n"] for event in events] == list(range(1001))


@pytest.mark.parametrize("name", ["id", "at"])
def test_an_event_field_cannot_hide_the_events_own(store: Store, name: str) -> None:
    with pytest.raises(ValueError, match=name), store.write() as tx:
        tx.record("x", run_id="a", **{name: 1})


def test_an_event_field_that_is_no_number_is_refused(store: Store) -> None:
    with pytest.raises(ValueError, match="score"), store.write() as tx:
        tx.record("x", run_id="a", score=float("nan"))


def test_no_update_is_lost_between_threads_and_stores(tmp_path: Path, store: Store) -> None:
    with store.write() as tx:
        tx.add(_counter())

    def count(own: Store) -> None:
        for _ in range(40):
            with own.write() as tx:
                row = tx.session.get_one(Run, "count")
                row.seed += 1
                tx.add(row)
                tx.record("counted", run_id="count", to=row.seed)

    with Store.open(tmp_path / "state.db", SystemClock()) as other:
        threads = [threading.Thread(target=count, args=(own,)) for own in (store, store, other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    with store.read() as session:
        assert session.get_one(Run, "count").seed == 120
    events = list(store.export_events("count"))
    assert [event["id"] for event in events] == [event["to"] for event in events] == list(range(1, 121))


def _counter() -> Run:
    return Run(id="count", competition="c", agent="a", model="m", seed=0, created_at=START)


def test_a_reader_sees_one_state_while_a_writer_works(store: Store) -> None:
    with store.write() as tx:
        tx.add(_counter())
    with store.read() as session:
        assert session.get_one(Run, "count").seed == 0
        with store.write() as tx:
            row = tx.session.get_one(Run, "count")
            row.seed = 5
            tx.session.flush()
            with store.read() as outside:
                assert outside.get_one(Run, "count").seed == 0
        session.expire_all()
        assert session.get_one(Run, "count").seed == 0
    with store.read() as session:
        assert session.get_one(Run, "count").seed == 5


def test_reading_cannot_write(store: Store) -> None:
    with store.read() as session:
        session.add(Topic(competition="c", id="1"))
        with pytest.raises(OperationalError, match="readonly database"):
            session.commit()


def test_a_transaction_within_another_is_refused_instead_of_waiting_for_itself(store: Store) -> None:
    with store.write() as tx:
        with pytest.raises(RuntimeError, match="inside another"), store.write():
            pass
        tx.record("still.usable", run_id="a")
    assert len(list(store.export_events("a"))) == 1


def test_rows_can_be_read_after_their_transaction(store: Store) -> None:
    with store.write() as tx:
        row = _counter()
        tx.add(row)
    assert row.id == "count"
    assert row.status == "running"


def test_a_body_is_kept_once_and_comes_back_whole(store: Store) -> None:
    with store.write() as tx:
        first = put_blob(tx, "bödy")
        assert put_blob(tx, "bödy".encode()) == first
        lone = put_blob(tx, "half a pair \ud800")
    assert store.blob(first).decode() == "bödy"
    assert store.blob(lone).startswith(b"half a pair")
    with pytest.raises(KeyError):
        store.blob("00")


@pytest.mark.integration
def test_what_was_committed_survives_a_kill_and_what_was_not_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "killed.db"
    program = f"""
        import os, signal
        from pathlib import Path
        from state.clock import SystemClock
        from state.store import Store, put_blob
        store = Store.open(Path({str(path)!r}), SystemClock())
        with store.write() as tx:
            tx.record("kept", run_id="a")
        with store.write() as tx:
            tx.record("lost", run_id="a")
            tx.session.flush()
            os.kill(os.getpid(), signal.SIGKILL)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=False)
    assert done.returncode == -9
    with Store.open(path, SystemClock()) as store:
        assert [event["type"] for event in store.export_events("a")] == ["kept"]
        with store.write() as tx:
            tx.record("next", run_id="a")
        assert [event["id"] for event in store.export_events("a")] == [1, 2]


def test_the_database_is_durable_and_lets_readers_in(store: Store) -> None:
    def pragma(session: Session, name: str) -> object:
        return session.connection().exec_driver_sql(f"PRAGMA {name}").scalar()

    with store.write() as tx:
        assert pragma(tx.session, "journal_mode") == "wal"
        assert pragma(tx.session, "synchronous") == 2
        assert pragma(tx.session, "foreign_keys") == 1


def test_a_naive_time_has_no_iso_form() -> None:
    with pytest.raises(ValueError, match="time zone"):
        iso(START.replace(tzinfo=None))


def test_a_closed_store_is_one_file(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with Store.open(folder / "state.db", SystemClock()) as store:
        with store.write() as tx:
            tx.record("x", run_id="a")
        assert len(list(store.export_events("a"))) == 1
    assert [path.name for path in folder.iterdir()] == ["state.db"]

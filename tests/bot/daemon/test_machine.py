"""The daemon's disk is bounded: what nobody will ask for goes, what may be needed stays, and too little room is trouble."""

import os
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlmodel import select

from bot.daemon.tasks import back_up_daily, bound_disk
from bot.execution.disk_space import DiskSettings
from bot.execution.folder import RunFolder
from bot.execution.unneeded_files import Prunable, unneeded_files
from bot.status.problems import current
from state.approvals import request_submission
from state.errors import StateCorrupted
from state.faults import find_backups
from state.progress import create_node, end_execution, end_node, end_run, start_execution
from state.store import NO_RUN, Store
from state.tables import Notification
from tests.state.conftest import StandingClock
from tests.state.rows import add_submission, create_run

NOW = datetime(2026, 11, 20, tzinfo=UTC)
RUN = "titanic-comind-1"
FILES = ("log.txt", "solution.py", "submission.csv", "validation_predictions.csv")


def problems(store: Store) -> dict[str, str]:
    """What is wrong now."""
    with store.read() as session:
        return {one.key: one.sentence for one in current(session)}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "bot.db", StandingClock()) as store:
        yield store


def a_run(
    store: Store, direction: str | None = "maximize", run_id: str = RUN, cutoff: datetime | None = None
) -> RunFolder:
    """Begin a run, live unless it has a cutoff, whose card has the direction of scores."""
    config = {"card": {"metric": {"direction": direction}}}
    with store.write() as tx:
        create_run(
            tx, run_id, competition="titanic", agent="comind", model="builtin", seed=1, cutoff=cutoff, config=config
        )
    folder = RunFolder(store.path.parent / "runs" / run_id)
    folder.make()
    folder.config.write_text("{}")
    return folder


def a_node(
    store: Store,
    folder: RunFolder,
    id: int,
    score: float | None,
    *,
    days: float = 30,
    ends: bool = True,
    members: tuple[int, ...] = (),
) -> Path:
    """Have a node's execution leave its files so many days ago; without a score it is buggy."""
    left, run_id = folder.blends_of(id)[0] if members else folder.executions / f"n{id}-holdout-0", folder.path.name
    with store.write() as tx:
        create_node(tx, run_id, action="ensemble" if members else "draft", id=id, parents=members)
        if not members:
            start_execution(tx, run_id, left.name, node=id, view="holdout")
            end_execution(tx, run_id, left.name, reason="finished", exit_code=0, seconds=1.0)
        if ends:
            end_node(tx, run_id, id, "buggy" if score is None else "valid", score=score)
    left.mkdir()
    for file in FILES:
        (left / file).write_bytes(b"x" * 5_000)
        os.utime(left / file, ((NOW - timedelta(days=days)).timestamp(),) * 2)
    return left


def unneeded(store: Store, best: int) -> set[str]:
    with store.read() as session:
        found = unneeded_files(session, store.path.parent / "runs", NOW - timedelta(days=14), best)
        return {f"{path.parent.name[:2]}/{path.name}" for path in found}


def both(*nodes: str) -> set[str]:
    return {f"{node}/{file}" for node in nodes for file in FILES[2:]}


def bound(store: Store, free_gb: float = 0.0) -> list[Prunable]:
    settings = DiskSettings(free_gb=free_gb, keep_days=14)
    return bound_disk(settings, store.path.parent, store, NOW)


@pytest.mark.parametrize(("direction", "gone"), [("maximize", both("n1", "n4")), ("minimize", both("n3", "n4"))])
def test_large_files_of_all_but_the_best_nodes_may_go(store: Store, direction: str, gone: set[str]) -> None:
    folder = a_run(store, direction)
    for id, score in ((1, 0.1), (2, 0.2), (3, 0.3), (4, None)):
        a_node(store, folder, id, score)
    assert unneeded(store, 2) == gone


def test_what_is_new_sent_wished_for_or_worked_on_stays(store: Store) -> None:
    folder = a_run(store)
    a_node(store, folder, 1, 0.1)
    a_node(store, folder, 2, 0.2, days=3)
    a_node(store, folder, 3, None, ends=False)
    a_node(store, folder, 4, 0.4)
    a_node(store, folder, 5, 0.3)
    with store.write() as tx:
        request_submission(tx, RUN, 5, requester="ada")
        add_submission(tx, RUN, id="1", node=1, tag="t", prediction_source="holdout", status="confirmed")
    assert unneeded(store, 1) == set()


def test_of_a_run_that_ended_the_best_node_alone_keeps_them(store: Store) -> None:
    folder = a_run(store)
    for id in (1, 2, 3):
        a_node(store, folder, id, id / 10)
    assert unneeded(store, 100) == set()
    with store.write() as tx:
        end_run(tx, RUN, "finished")
    assert unneeded(store, 100) == both("n1", "n2")


def test_the_members_of_a_blend_keep_theirs_as_long_as_the_blend_does(store: Store) -> None:
    folder = a_run(store)
    for id, score in ((1, 0.1), (2, 0.2), (3, 0.3)):
        a_node(store, folder, id, score)
    a_node(store, folder, 4, 0.4, members=(1, 2))
    assert unneeded(store, 1) == both("n3")
    a_node(store, folder, 5, 0.5)
    assert unneeded(store, 1) == both("n1", "n2", "n3", "n4")


@pytest.mark.parametrize("direction", [None, "sideways"])
def test_without_a_known_direction_nothing_goes(store: Store, direction: str | None) -> None:
    folder = a_run(store, direction)
    a_node(store, folder, 1, None)
    assert unneeded(store, 1) == set()


def test_replays_are_left_alone_and_so_are_links(store: Store, tmp_path: Path) -> None:
    replayed = a_run(store, run_id="wine-comind-1", cutoff=NOW)
    a_node(store, replayed, 1, None)
    left = a_node(store, a_run(store), 1, None)
    (tmp_path / "mine.csv").write_text("mine")
    os.utime(tmp_path / "mine.csv", (0, 0))
    (left / "submission.csv").unlink()
    (left / "submission.csv").symlink_to(tmp_path / "mine.csv")
    assert unneeded(store, 1) == {"n1/validation_predictions.csv"}


def test_what_may_go_goes_and_is_recorded_once(store: Store) -> None:
    folder = a_run(store)
    left = a_node(store, folder, 1, None)
    good = a_node(store, folder, 2, 0.5)
    done = bound(store)
    assert sorted(file.name for file in left.iterdir()) == ["log.txt", "solution.py"]
    assert sorted(file.name for file in good.iterdir()) == sorted(FILES)
    assert [one.kind for one in done] == ["files", "files"]
    assert bound(store) == []
    (event,) = store.export_events(NO_RUN)
    assert (event["type"], event["places"], event["bytes"]) == ("disk.bounded", 2, sum(one.bytes for one in done))
    assert problems(store) == {}


def test_views_of_a_finished_run_go_and_those_of_one_that_goes_on_stay(store: Store) -> None:
    finished, going = a_run(store), a_run(store, run_id="wine-comind-1")
    for folder in (finished, going):
        (folder.views / "holdout").mkdir()
        (folder.views / "holdout" / "train.csv").write_text("x")
    finished.result.write_text("{}")
    os.utime(finished.result, (0, 0))
    assert [one.name for one in bound(store)] == [str(finished.views)]
    assert going.views.is_dir()


def test_if_the_disk_is_nearly_full_newer_files_go_too_and_the_owner_is_notified(store: Store, tmp_path: Path) -> None:
    a_node(store, a_run(store), 1, None, days=1)
    assert bound(store) == []
    beyond = shutil.disk_usage(tmp_path).free / 1e9 + 1_000
    done = bound(store, free_gb=beyond)
    assert len(done) == 2
    assert f"less than the {beyond:g} GB set as free_gb" in problems(store)["disk"]
    with store.read() as session:
        (notice,) = session.exec(select(Notification))
    assert (notice.kind, str(tmp_path) in notice.body) == ("problem.disk", True)


def test_the_problem_is_over_only_when_there_is_clearly_enough(store: Store, tmp_path: Path) -> None:
    free = shutil.disk_usage(tmp_path).free / 1e9
    bound(store, free_gb=free * 2)
    bound(store, free_gb=free * 0.9)
    assert "disk" in problems(store)
    bound(store, free_gb=free * 0.5)
    assert problems(store) == {}


def test_the_days_backup_ends_the_problem_that_there_was_none(store: Store) -> None:
    (store.path.parent / "backups").write_text("in the way")
    assert back_up_daily(store, 7) is None
    assert problems(store)["backup"].startswith("today's backup failed: ")
    assert [event["type"] for event in store.export_events(NO_RUN)] == ["backup.failed", "problem.began"]
    (store.path.parent / "backups").unlink()
    made = back_up_daily(store, 7)
    assert made is not None and made.is_file()
    assert problems(store) == {}


def test_a_damaged_database_is_a_problem_and_ends_the_work(tmp_path: Path) -> None:
    path = tmp_path / "bot.db"
    with Store.open(path, StandingClock()) as store, store.write() as tx:
        for number in range(3_000):
            tx.record("x.y", run_id="r", number=number)
    with Store.open(path, StandingClock()) as store:
        with path.open("r+b") as file:
            file.seek(path.stat().st_size // 2)
            file.write(b"\xff" * 8192)
        with pytest.raises(StateCorrupted):
            back_up_daily(store, 7)
    assert find_backups(path) == []

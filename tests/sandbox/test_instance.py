"""Instances: what a killed bot left is found and removed, and nobody else's is touched."""

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from sandbox.instance import OwnedFolder, instance_of, is_alive, label_of, owner
from sandbox.leftovers import find_orphaned_resources, own_bytes, remove_orphaned_folder
from sandbox.tree import MARKER
from tests import needs

BOT = """
import asyncio, sys
from pathlib import Path
from sandbox import ExecutionRequest, Limits
from sandbox.process import ProcessSandbox
place, script = Path(sys.argv[1]), sys.argv[2]
asyncio.run(ProcessSandbox().run(ExecutionRequest("one", script, place / "view", place / "runs/r/executions/one", Limits(99))))
"""
ORPHANS = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(99)"], start_new_session=True)
print(child.pid, file=open("child", "w"))
os.rename("child", "started")
time.sleep(99)
"""


def bot(place: Path) -> tuple[psutil.Popen, psutil.Process]:
    """Start a bot of which a script is running; return it, and a process that the script has started."""
    (place / "view").mkdir(parents=True)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    started = place / "runs/r/executions/one/.execution/work/started"
    process = psutil.Popen([sys.executable, "-c", BOT, str(place), ORPHANS], env=environment)
    deadline = time.monotonic() + 30
    while not started.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return process, psutil.Process(int(started.read_text()))


def left_folders(state: Path) -> list[Path]:
    return [Path(left.name) for left in find_orphaned_resources(state) if left.name.endswith(".execution")]


def temporary_folders(out: Path) -> list[Path]:
    return list(Path(os.environ.get("TMPDIR", "/tmp")).glob(f"bot-{label_of(out)}-*"))


@pytest.mark.integration
def test_what_a_killed_bot_left_is_removed_and_what_another_one_has_is_not(tmp_path: Path) -> None:
    dead, orphan = bot(tmp_path / "dead")
    alive, child = bot(tmp_path / "alive")
    out = tmp_path / "dead/runs/r/executions/one"
    try:
        dead.kill()
        dead.wait()
        assert orphan.is_running(), "it has left its parents, and nothing killed it"
        assert temporary_folders(out)
        assert left_folders(tmp_path / "alive" / "runs") == []
        assert left_folders(tmp_path / "dead" / "runs") == [out / ".execution"]
        assert any(
            "ended 1 of its processes" in left.remove() for left in find_orphaned_resources(tmp_path / "dead" / "runs")
        )
        assert not orphan.is_running() or orphan.status() == psutil.STATUS_ZOMBIE
        assert list(out.iterdir()) == []
        assert temporary_folders(out) == []
        assert child.is_running()
        assert OwnedFolder(tmp_path / "alive/runs/r/executions/one").path.is_dir()
    finally:
        for process in (dead, alive, orphan, child):
            if process.is_running():
                process.kill()
    alive.wait()
    for left in find_orphaned_resources(tmp_path / "alive" / "runs"):
        left.remove()
    assert temporary_folders(tmp_path / "alive/runs/r/executions/one") == []


def test_a_living_bots_folder_is_not_left_over(tmp_path: Path) -> None:
    folder = OwnedFolder(tmp_path / "run" / "executions" / "n1")
    folder.make()
    assert left_folders(tmp_path) == []


def test_a_zombie_a_later_process_with_the_number_and_one_before_the_restart_are_not_the_owner() -> None:
    pid, started, boot = owner().split("-")
    assert is_alive(owner())
    assert not is_alive(f"{pid}-{int(started) - 1}-{boot}")
    assert not is_alive(f"{pid}-{started}-00000000")
    assert not is_alive("")
    with subprocess.Popen(
        [sys.executable, "-c", "from sandbox.instance import owner; print(owner())"],
        cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, text=True,
    ) as ended:  # fmt: skip
        name = ended.stdout.read().strip()
        while psutil.Process(ended.pid).status() != psutil.STATUS_ZOMBIE:
            time.sleep(0.01)
        assert not is_alive(name), "it waits for us to take note of its end"


def test_a_folder_without_an_owner_is_left_alone_as_long_as_it_is_young(tmp_path: Path) -> None:
    folder = tmp_path / "run" / "executions" / "n1" / ".execution"
    folder.mkdir(parents=True)
    assert left_folders(tmp_path) == []
    os.utime(folder, (1, 1))
    assert left_folders(tmp_path) == [folder]


def test_links_are_not_followed_and_folders_too_deep_are_not_ours(tmp_path: Path) -> None:
    deep = tmp_path / "elsewhere" / "a" / "b" / "c" / "d" / ".execution"
    deep.mkdir(parents=True)
    os.utime(deep, (1, 1))
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "r").symlink_to(deep.parent.parent)
    assert left_folders(tmp_path / "runs") == []
    assert left_folders(tmp_path) == []


def test_instances_differ_by_folder_and_not_by_how_it_is_written(tmp_path, monkeypatch) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert instance_of(tmp_path) == instance_of(tmp_path / "link") == instance_of(Path()) != instance_of(tmp_path / "x")
    assert label_of(Path("out")) == label_of(tmp_path / "link" / "out")


def test_a_mount_below_it_is_unmounted_before_anything_is_removed(tmp_path: Path) -> None:
    needs.root()
    folder = OwnedFolder(tmp_path / "run" / "executions" / "n1")
    inside = folder.path / "work" / "da ta"
    inside.mkdir(parents=True)
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("kept")
    if subprocess.run(["mount", "--bind", precious, inside], check=False, capture_output=True).returncode:
        needs.missing("this root may not mount")
    remove_orphaned_folder(folder)
    assert not folder.path.exists()
    assert (precious / "file").read_text() == "kept"


def test_a_folder_for_trying_a_sandbox_goes_with_its_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    pid, started, boot = owner().split("-")
    names = [f"bot-{pid}-{int(started) - 1}-{boot}-x1", f"bot-{owner()}-x2", "bot-notes", "bottle"]
    for name in names:
        (tmp_path / name).mkdir()
    (tmp_path / "runs").mkdir()
    for left in find_orphaned_resources(tmp_path / "runs"):
        left.remove()
    assert {path.name for path in tmp_path.iterdir()} == {"runs", *names[1:]}


def test_bytes_are_those_that_removing_frees(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "once").write_bytes(b"x" * 8192)
    os.link(tmp_path / "a" / "once", tmp_path / "a" / "once more")
    (tmp_path / "elsewhere").write_bytes(b"x" * 8192)
    os.link(tmp_path / "elsewhere", tmp_path / "a" / "shared")
    assert own_bytes([tmp_path / "a"]) == 8192


def test_only_the_processes_of_that_folder_are_ended(tmp_path: Path) -> None:
    folder = OwnedFolder(tmp_path / "run" / "executions" / "n1")
    folder.path.mkdir(parents=True)
    sleeper = [sys.executable, "-c", "import time; time.sleep(99)"]
    marks = [f"{label_of(folder.out)}.00", f"{label_of(folder.out)}x.00", "other.00"]
    processes = [psutil.Popen(sleeper, env={MARKER: mark}) for mark in marks]
    try:
        remove_orphaned_folder(folder)
        assert [process.wait(10) if process is processes[0] else process.poll() for process in processes] == [
            -9,
            None,
            None,
        ]
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
                process.wait()

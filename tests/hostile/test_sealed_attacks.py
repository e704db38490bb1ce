"""Attacks by the command of a run on all rows: it sees labels of validation rows, and its lab listens to whatever it does."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bot.engine.sealed_runs import Retrained, SealedRuns
from sandbox import Lease
from sandbox.bubblewrap import BubblewrapSandbox
from sandbox.lab import LabLimits, LabRequest
from tests import needs
from tests.bot.engine.test_sealed_runs import experiment

pytestmark = pytest.mark.integration

LISTEN = r"""
import ctypes, fcntl, os, socket, threading, time

def heard(way):
    open(f"/lab/work/heard-{way}", "w").close()

def pipe():
    os.mkfifo("pipe", 0o666)
    with open("pipe", "rb") as file:
        if file.read():
            heard("pipe")

def accept(way, family, address):
    with socket.socket(family) as listener:
        listener.bind(address)
        listener.listen()
        with listener.accept()[0] as client:
            if client.recv(1):
                heard(way)

def opened(way, path):
    libc, events = ctypes.CDLL(None), 0
    watch = libc.inotify_init()
    libc.inotify_add_watch(watch, path.encode(), 0x20 | 0x10)
    while events < 60:  # the engine may open it, too
        events += len(os.read(watch, 4096)) // 16
    heard(way)

def locked(way, path):
    with open(path) as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                fcntl.flock(file, fcntl.LOCK_UN)
            except BlockingIOError:
                return heard(way)
            time.sleep(0.01)

os.umask(0)  # whoever finds it may write to it
open("file", "w").close()
logged = "/lab/experiments/leaks/test.npy"
for way, *arguments in (
    (pipe,), (accept, "socket", socket.AF_UNIX, "socket"), (accept, "abstract", socket.AF_UNIX, "\0labels"),
    (accept, "port", socket.AF_INET, ("127.0.0.1", 9988)), (locked, "lock", "file"), (opened, "opened", "file"),
    (locked, "lock-of-experiment", logged), (opened, "opened-experiment", logged),
):
    threading.Thread(target=way, args=arguments, daemon=True).start()
time.sleep(0.5)
open("ready", "w").close()
time.sleep(600)
"""
"""Runs in the background of a lab, and writes down each way by which it heard of the labels."""

TELL = r"""
import csv, fcntl, os, socket, stat, sys, time

with open("/lab/data/train.csv") as file:
    labels = "LABELS" + "".join(row["label"][0] for row in csv.DictReader(file))
print(labels)
print(labels, file=sys.stderr)

def attempt(act):
    try:
        act()
    except OSError as error:
        print(error)

def send(family, address):
    with socket.socket(family) as client:
        client.settimeout(1)
        client.connect(address)
        client.send(labels.encode())

def write(path, flags=0):
    descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK | flags)
    os.write(descriptor, labels.encode())
    os.close(descriptor)

def lock(path):
    with open(path) as file:
        for _ in range(100):
            fcntl.flock(file, fcntl.LOCK_EX)
            time.sleep(0.005)
            fcntl.flock(file, fcntl.LOCK_UN)

def look(path):
    for _ in range(100):
        open(path).close()
        time.sleep(0.005)

attempt(lambda: send(socket.AF_UNIX, "\0labels"))
attempt(lambda: send(socket.AF_INET, ("127.0.0.1", 9988)))
for top in ("/lab", "/tmp", "/dev/shm", "/var/tmp", "/run"):
    for folder, _, names in os.walk(top):
        attempt(lambda: write(f"{folder}/{labels[:40]}", os.O_CREAT))
        attempt(lambda: os.symlink(labels[:200], f"{folder}/link"))
        attempt(lambda: os.link("/lab/data/train.csv", f"{folder}/hard"))
        for name in names:
            path = f"{folder}/{name}"
            attempt(lambda: os.utime(path, (labels.count("1"), 7)))
            kind = os.lstat(path).st_mode
            if stat.S_ISFIFO(kind):
                attempt(lambda: write(path))
            elif stat.S_ISSOCK(kind):
                attempt(lambda: send(socket.AF_UNIX, path))
            elif name in ("file", "test.npy") and "data" not in folder:
                attempt(lambda: lock(path))
                attempt(lambda: look(path))
if os.fork() == 0:  # outlives the command
    os.setsid()
    for _ in range(30):
        time.sleep(0.1)
        attempt(lambda: write("/lab/source/pipe"))
        attempt(lambda: write(f"/lab/logs/{labels[:40]}", os.O_CREAT))
    os._exit(0)
"""
"""Sends the labels that it finds by all ways that there may be."""

WAYS = {"pipe", "socket", "abstract", "port", "lock", "opened", "lock-of-experiment", "opened-experiment"}
LIMITS = LabLimits(512_000_000, 100_000_000)


@pytest.mark.parametrize(("status", "why"), [(0, ""), (3, "its command exited with status 3")])
async def test_no_label_leaves_a_run_on_all_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int, why: str
) -> None:
    needs.bubblewrap()
    tmp_path.chmod(0o755)
    # At once, though others keep the machine busy.
    monkeypatch.setattr(
        "bot.engine.sealed_runs._IDLE", 'import os, sys; os.execvp("bash", ["bash", "-c", sys.argv[1]])'
    )
    sandbox, folders = (
        BubblewrapSandbox(),
        {name: tmp_path / name for name in ("few", "all", "folds", "experiments", "labs")},
    )
    for folder in folders.values():
        folder.mkdir()
    for name, rows in (("few", "1,1\n"), ("all", "1,1\n2,0\n3,1\n")):
        (folders[name] / "train.csv").write_text(f"id,label\n{rows}")
        (folders[name] / "validation.csv").write_text("id\n2\n3\n")
    (folders["experiments"] / "leaks").mkdir()
    for name, text in (("tell.py", TELL), ("test.npy", "")):
        (folders["experiments"] / "leaks" / name).write_text(text)
    (tmp_path / "labs/lab2/work").mkdir(parents=True)
    (tmp_path / "labs/lab2/work/listen.py").write_text(LISTEN)

    @asynccontextmanager
    async def hold_idle() -> AsyncIterator[Lease]:
        yield Lease()

    async def view(name: str) -> Any:
        return SimpleNamespace(data=folders["all" if name == "sealed" else "few"])

    async def nothing() -> None:
        return None

    async def folds_of(view: str) -> Path:
        return folders["folds"]

    async def keep(self: SealedRuns, one: object, file: Path | None) -> Retrained:
        return Retrained(None if file is None else file.read_text(), "")

    monkeypatch.setattr(SealedRuns, "_keep", keep)
    limits = SimpleNamespace(memory_bytes=2_000_000_000, written_bytes=100_000_000, processes=64)
    executor: Any = SimpleNamespace(
        folder=SimpleNamespace(labs=folders["labs"], experiments=folders["experiments"]),
        settings=SimpleNamespace(limits=limits),
        leasing=SimpleNamespace(hold_idle=hold_idle),
        reported_work=lambda name: nullcontext(),
        view=view,
        fold_view=nothing,
        views=SimpleNamespace(folds_of=folds_of),
        open_lab=lambda request: sandbox.open_lab(replace(request, mounts={"data": folders["few"], **request.mounts})),
    )
    context: Any = SimpleNamespace(
        run_id="r",
        executor=executor,
        say=lambda line: None,
        store=SimpleNamespace(redactor=None),
        experiments=None,
        steps=SimpleNamespace(all=lambda kind: {}),
        budget=SimpleNamespace(seconds=600.0, usable=lambda best: 300.0),
    )
    one = replace(
        experiment(7, f"python tell.py; echo -n new > test.npy; exit {status}", sources=("tell.py",)), name="leaks"
    )
    mounts = {"data": folders["few"], "experiments": folders["experiments"]}
    request = LabRequest("r-lab2", folders["labs"] / "lab2", mounts, LIMITS)
    listen = "rm -rf heard-* pipe socket; (exec python listen.py > /dev/null 2>&1 &)"
    listen = f"{listen}; for n in $(seq 100); do [ -e ready ] && break; sleep 0.2; done"
    async with asyncio.timeout(300), sandbox.open_lab(request) as lab:
        await lab.run(1, listen, seconds=60, cpus=())
        await lab.run(2, "python /lab/experiments/leaks/tell.py; sleep 1", seconds=60, cpus=())
        assert {path.name.removeprefix("heard-") for path in request.folder.glob("work/heard-*")} == WAYS, "from itself"
        await lab.run(3, f"pkill -f listen.py; rm ready; {listen}", seconds=60, cpus=())
        made = await SealedRuns(context)._run(one)
        told = await lab.run(4, "sleep 2; ls -R /lab /tmp; cat /lab/logs/*", seconds=60, cpus=())
    assert (made.file, made.reason[: len(why)]) == ((None, why) if status else ("new", ""))
    assert [path.name for path in request.folder.glob("work/heard-*")] == []
    assert "LABELS101" not in told.output

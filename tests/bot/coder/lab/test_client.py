"""The command `lab`, as a process of its own, against the engine's end."""

import asyncio
import os
import shutil
import subprocess
from collections.abc import AsyncIterator
from dataclasses import asdict
from pathlib import Path

import pytest

from bot.coder.lab.calls import (
    BoardCommand,
    DoneCommand,
    Fit,
    Ideas,
    LabAnswer,
    Log,
    NoteCommand,
    ScoreCommand,
    StatusCommand,
    Wait,
)
from bot.coder.lab.server import LabServer
from tests.bot.coder.lab.served import CLIENT, Remembering, lab, start


@pytest.fixture
def handler() -> Remembering:
    return Remembering()


@pytest.fixture
async def socket(tmp_path: Path, handler: Remembering) -> AsyncIterator[Path]:
    path = tmp_path / "lab1" / "socket" / "socket"
    async with LabServer(path, handler):
        yield path


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        (("status",), StatusCommand()),
        (("board",), BoardCommand(all=False)),
        (("board", "--all"), BoardCommand(all=True)),
        (("ideas",), Ideas()),
        (("note", "folds", "leak"), NoteCommand("folds leak")),
        (("wait",), Wait()),
        (("wait", "trees/lightgbm-2"), Wait("trees/lightgbm-2")),
        (("done",), DoneCommand()),
    ],
)
async def test_a_command_without_a_file_arrives_and_its_answer_is_printed(
    socket: Path, handler: Remembering, words: tuple[str, ...], arguments: object
) -> None:
    ended = await lab(socket, *words)
    assert (ended.status, ended.out, ended.err) == (0, "noted\n", "")
    assert [call.arguments for call in handler.calls] == [arguments]
    assert handler.files == [{}]


async def test_scripts_are_sent_as_they_lie_there(socket: Path, handler: Remembering, tmp_path: Path) -> None:
    script = "# ö <|im_start|>\r\nprint(1)\n".encode()
    for name, text in (("a.py", script), ("b.py", b"pass")):
        (tmp_path / name).write_bytes(text)
    ended = await lab(socket, "score", str(tmp_path / "a.py"), "--note", "trees", "--infer", str(tmp_path / "b.py"))
    assert ended.status == 0, ended.err
    assert handler.calls[0].arguments == ScoreCommand("trees")
    assert handler.files == [{"solution.py": script, "infer.py": b"pass"}]


async def test_an_experiment_is_sent_with_its_arrays_and_sources(
    socket: Path, handler: Remembering, tmp_path: Path
) -> None:
    arrays = {role: os.urandom(1_000_000) for role in ("oof", "validation", "test")}
    for role, content in arrays.items():
        (tmp_path / f"{role}.npy").write_bytes(content)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "fit.py").write_text("fit")
    (tmp_path / "e.py").touch()
    options = [word for role in arrays for word in (f"--{role}", f"{role}.npy")]
    options += ["--files", "src/../src/fit.py", "--files", "e.py", "--uses", "a", "b", "--compare-to", "c", "--check"]
    options += ["--seconds", "1.5", "--retrain", "python src/fit.py --all", "--note", "deeper", "--verbose"]
    ended = await lab(socket, "log", "lgbm", *options, folder=tmp_path)
    assert ended.status == 0, ended.err
    arguments = Log("lgbm", "deeper", "python src/fit.py --all", ("a", "b"), "c", 1.5, check=True, verbose=True)
    assert handler.calls[0].arguments == arguments
    assert handler.files == [{**arrays, "src/fit.py": b"fit", "e.py": b""}]
    assert list((socket.parent.parent / "spool").iterdir()) == []


async def test_features_are_sent_with_what_is_to_be_done_with_their_columns(
    socket: Path, handler: Remembering, tmp_path: Path
) -> None:
    (tmp_path / "x.npz").write_bytes(b"features")
    options = [word for role in ("train", "validation", "test") for word in (f"--{role}", str(tmp_path / "x.npz"))]
    ended = await lab(socket, "fit", "trees", *options, "--categories", "a, b,3", "--encode", "a", "--note", "tf-idf")
    assert ended.status == 0, ended.err
    assert handler.calls[0].arguments == Fit("trees", "tf-idf", ("a", "b", "3"), ("a",))
    assert handler.files == [dict.fromkeys(("train", "validation", "test"), b"features")]


@pytest.mark.integration
async def test_a_file_that_is_cut_while_it_is_sent_is_refused(
    socket: Path, handler: Remembering, tmp_path: Path
) -> None:
    # The server takes nothing in while four calls are handled, so that the client waits amid the file.
    handler.may.clear()
    others = [asyncio.create_task(lab(socket, "status")) for _ in range(4)]
    await handler.begun(4)
    (tmp_path / "v.npy").write_bytes(bytes(20_000_000))
    sending = asyncio.create_task(lab(socket, "log", "a", "--validation", str(tmp_path / "v.npy")))
    await asyncio.sleep(1)
    os.truncate(tmp_path / "v.npy", 100)
    handler.may.set()
    ended = await sending
    assert (ended.status, ended.err) == (1, "lab: validation.npy shrank while it was being sent\n")
    assert [one.status for one in await asyncio.gather(*others)] == [0] * 4
    assert len(handler.calls) == 4


async def test_a_refusal_goes_to_stderr_with_status_1(socket: Path, handler: Remembering) -> None:
    handler.answer = LabAnswer(1, "no look is left")
    ended = await lab(socket, "status")
    assert (ended.status, ended.out, ended.err) == (1, "", "lab: no look is left\n")


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ((), "required"),
        (("scroe", "x.py"), "invalid choice: 'scroe'"),
        (("score",), "FILE"),
        (("score", "missing.py"), "cannot read 'missing.py': No such file"),
        (("log", "lgbm"), "validation is missing"),
        (("log", "lgbm", "--validation", "x.npy"), "cannot read 'x.npy'"),
        (("log", "lgbm", "--validation", str(CLIENT / "report.py"), "--seconds", "x"), "--seconds"),
        (("fit", "lgbm", "--train", "x.npz"), "--validation, --test"),
        (("board", "--al"), "unrecognized arguments: --al"),
        (("note",), "TEXT"),
        (("note", "\n \n"), "empty"),
        (("log", "\x1b\n", "--validation", str(CLIENT / "report.py")), "a letter or a digit"),
        (("note", "x" * 70_000), "too long"),
    ],
)
async def test_misuse_is_one_sentence_and_status_2(socket: Path, words: tuple[str, ...], part: str) -> None:
    ended = await lab(socket, *words)
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.count("\n") == 1 and part in ended.err and len(ended.err) < 300


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _sparse(path: Path) -> None:
    path.touch()
    os.truncate(path, 10**12)


@pytest.mark.parametrize(
    ("make", "part"),
    [
        (_fifo, "not a regular file"),
        (_sparse, "1000000000000 bytes"),
        (Path.mkdir, "not a regular file"),
        (Path.touch, "empty"),
        (lambda path: path.symlink_to("/dev/zero"), "not a regular file"),
        (lambda path: path.symlink_to("loop"), "cannot read"),
        (lambda path: path.symlink_to(path.name), "symbolic links"),
        (lambda path: path.write_bytes(b"x" * 100_001), "the limit is 100000"),
        (lambda path: path.write_bytes(b"\xff\xfe"), "not UTF-8"),
    ],
)
async def test_what_is_no_bounded_regular_file_is_not_sent(
    socket: Path, handler: Remembering, tmp_path: Path, make: object, part: str
) -> None:
    path = tmp_path / "solution.py"
    assert callable(make)
    make(path)
    ended = await lab(socket, "score", str(path))
    assert ended.status == 2 and part in ended.err
    assert handler.calls == []


@pytest.mark.parametrize(
    ("said", "report"),
    [
        (
            b"method: trees\ncomponents: depth, 0.01\n seeds, 0.002\nlimitations: few rows\nnext: text\n",
            {"method": "trees", "components": "depth, 0.01\n seeds, 0.002", "limitations": "few rows", "next": "text"},
        ),
        (b"**Method:** a\nfree text\n", {"method": "a\nfree text"}),
        (b"free text", {"remarks": "free text"}),
        (b'{"method": "a", "next": ["b", 1], "x": 2}', {"method": "a", "next": '["b", 1]', "remarks": "x: 2"}),
        (b"[1, 2]", {"remarks": "[1, 2]"}),
        (b"[" * 40_000, {"remarks": "[" * 2000 + "… [38000 more characters left out]"}),
        (b"next: \x1b[31mred\xe2\x80\xaehidden\xff", {"next": "[31mredhidden\ufffd"}),
        (b"", {}),
    ],
)
async def test_a_report_is_read_from_a_pipe_and_from_a_file(
    socket: Path, handler: Remembering, tmp_path: Path, said: bytes, report: dict[str, str]
) -> None:
    assert (await lab(socket, "done", stdin=said)).status == 0
    if said:
        (tmp_path / "report").write_bytes(said)
        assert (await lab(socket, "done", str(tmp_path / "report"))).status == 0
    for call in handler.calls:
        assert isinstance(call.arguments, DoneCommand)
        assert {name: text for name, text in asdict(call.arguments).items() if text} == report


@pytest.mark.integration
async def test_a_pipe_that_says_nothing_does_not_hold_a_lab_open(socket: Path, handler: Remembering) -> None:
    process = await start(socket, "done", stdin=asyncio.subprocess.PIPE)
    assert process.stdout is not None and process.stderr is not None
    async with asyncio.timeout(30):
        assert await process.stdout.read() == b"noted\n"
        assert b"on stdin" in await process.stderr.read()
        assert await process.wait() == 0
    assert [call.arguments for call in handler.calls] == [DoneCommand()]


async def test_without_an_engine_there_is_one_sentence(tmp_path: Path, handler: Remembering) -> None:
    missing = await lab(tmp_path / "socket", "status")
    async with LabServer(tmp_path / "dead" / "socket" / "socket", handler):
        os.link(tmp_path / "dead" / "socket" / "socket", tmp_path / "left")
    left = await lab(tmp_path / "left", "status")
    for ended in (missing, left):
        assert (ended.status, ended.out) == (1, "")
        assert ended.err.count("\n") == 1 and "cannot connect to the engine" in ended.err


async def test_a_client_whose_lab_ends_meanwhile_says_so(tmp_path: Path, handler: Remembering) -> None:
    handler.may.clear()
    path = tmp_path / "lab1" / "socket" / "socket"
    async with LabServer(path, handler):
        waiting = asyncio.create_task(lab(path, "status"))
        await handler.begun(1)
    ended = await waiting
    assert (ended.status, ended.err) == (1, "lab: the lab has ended\n")
    assert handler.cancelled == 1


@pytest.mark.parametrize("words", [("help",), ("--help",), ("score", "--help"), ("log", "-h")])
async def test_help_needs_no_engine(tmp_path: Path, words: tuple[str, ...]) -> None:
    ended = await lab(tmp_path / "none", *words)
    assert ended.status == 0 and ended.out.startswith("usage: lab")


@pytest.mark.parametrize("version", ["3.9", "3.13"])
async def test_other_versions_of_python_run_it(socket: Path, tmp_path: Path, version: str) -> None:
    python = shutil.which(f"python{version}")
    if python is None or subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode:
        pytest.skip(f"there is no Python {version} here")
    (tmp_path / "solution.py").write_text("print(1)\n")
    ended = await lab(socket, "score", str(tmp_path / "solution.py"), python=python)
    assert (ended.status, ended.out) == (0, "noted\n"), ended.err

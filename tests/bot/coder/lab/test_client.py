"""The command `lab`, as a process of its own, against the engine's end."""

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import asdict
from pathlib import Path

import pytest

from bot.coder.lab.calls import Board, Done, Ideas, LabAnswer, Log, Note, Score, Status
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
        (("status",), Status()),
        (("board",), Board(all=False)),
        (("board", "--all"), Board(all=True)),
        (("ideas",), Ideas()),
        (("note", "folds", "leak"), Note("folds leak")),
        (("done",), Done()),
    ],
)
async def test_a_command_without_a_file_arrives_and_its_answer_is_printed(
    socket: Path, handler: Remembering, words: tuple[str, ...], arguments: object
) -> None:
    ended = await lab(socket, *words)
    assert (ended.status, ended.out, ended.err) == (0, "noted\n", "")
    assert [call.arguments for call in handler.calls] == [arguments]
    assert handler.calls[0].script is None and handler.calls[0].file is None


async def test_a_script_is_sent_as_it_lies_there(socket: Path, handler: Remembering, tmp_path: Path) -> None:
    script = "# ö <|im_start|>\r\nprint(1)\n"
    (tmp_path / "solution.py").write_bytes(script.encode())
    ended = await lab(socket, "score", str(tmp_path / "solution.py"), "--note", "trees", "--background")
    assert ended.status == 0
    assert handler.calls[0].arguments == Score("trees", background=True)
    assert handler.calls[0].script == script


async def test_an_out_of_fold_file_is_there_while_the_call_is_handled_and_gone_afterwards(
    socket: Path, handler: Remembering, tmp_path: Path
) -> None:
    content = os.urandom(3_000_000)
    (tmp_path / "oof.csv").write_bytes(content)
    ended = await lab(socket, "log", "lgbm", "--oof", str(tmp_path / "oof.csv"), "--note", "deeper", "--against", "a")
    assert ended.status == 0, ended.err
    assert handler.calls[0].arguments == Log("lgbm", "deeper", "a")
    assert handler.files == [content]
    file = handler.calls[0].file
    assert file is not None and not file.exists() and list(file.parent.iterdir()) == []


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
        (("log", "lgbm"), "--oof"),
        (("board", "--al"), "unrecognized arguments: --al"),
        (("note",), "TEXT"),
        (("note", "\n \n"), "empty"),
        (("log", "\x1b\n", "--oof", str(CLIENT)), "empty"),
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
        (lambda path: path.write_bytes(b"x" * 100_001), "100000 are the most"),
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
            b"believed: depth helps\nseen: 0.81\n 0.82 once\nwhy: noise\ncondition: few rows\n",
            {"believed": "depth helps", "seen": "0.81\n 0.82 once", "why": "noise", "condition": "few rows"},
        ),
        (b"**Believed:** a\nfree text\n", {"believed": "a\nfree text"}),
        (b"free text", {"other": "free text"}),
        (
            b'{"believed": "a", "condition": ["b", 1], "x": 2}',
            {"believed": "a", "condition": '["b", 1]', "other": "x: 2"},
        ),
        (b"[1, 2]", {"other": "[1, 2]"}),
        (b"[" * 40_000, {"other": "[" * 2000 + "… [38000 more characters left out]"}),
        (b"why: \x1b[31mred\xe2\x80\xaehidden\xff", {"why": "[31mredhidden\ufffd"}),
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
        assert isinstance(call.arguments, Done)
        assert {name: text for name, text in asdict(call.arguments).items() if text} == report


@pytest.mark.integration
async def test_a_pipe_that_says_nothing_does_not_hold_a_lab_open(socket: Path, handler: Remembering) -> None:
    process = await start(socket, "done", stdin=asyncio.subprocess.PIPE)
    assert process.stdout is not None and process.stderr is not None
    async with asyncio.timeout(30):
        assert await process.stdout.read() == b"noted\n"
        assert b"on stdin" in await process.stderr.read()
        assert await process.wait() == 0
    assert [call.arguments for call in handler.calls] == [Done()]


async def test_without_an_engine_there_is_one_sentence(tmp_path: Path, handler: Remembering) -> None:
    missing = await lab(tmp_path / "socket", "status")
    async with LabServer(tmp_path / "dead" / "socket" / "socket", handler):
        os.link(tmp_path / "dead" / "socket" / "socket", tmp_path / "left")
    left = await lab(tmp_path / "left", "status")
    for ended in (missing, left):
        assert (ended.status, ended.out) == (1, "")
        assert ended.err.count("\n") == 1 and "the engine does not answer" in ended.err


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


def test_it_can_be_run_by_its_path_and_imports_nothing_but_the_standard_library() -> None:
    assert os.access(CLIENT, os.X_OK)
    code = (
        f"import runpy, sys; runpy.run_path({str(CLIENT)!r}); print(sorted({{n.split('.')[0] for n in sys.modules}}))"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)
    names = set(eval(done.stdout)) - {"__main__"}  # noqa: S307  # our own output
    assert names <= sys.stdlib_module_names

"""The engine's end of a lab's socket, spoken to byte by byte."""

import asyncio
import contextlib
import json
import resource
import socket as sockets
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bot.coder.lab.calls import LabAnswer, LabCall, Log, LogScore, NoteCommand
from bot.coder.lab.server import LabServer
from tests.bot.coder.lab.served import Remembering, lab, start


@pytest.fixture
def handler() -> Remembering:
    return Remembering()


@pytest.fixture
async def socket(tmp_path: Path, handler: Remembering) -> AsyncIterator[Path]:
    path = tmp_path / "lab1" / "socket" / "socket"
    async with LabServer(path, handler):
        yield path


async def say(socket: Path, content: bytes, end: bool = False) -> dict[str, Any]:
    """Send bytes, and return what was answered.

    Args:
        socket: Where the server listens.
        content: What is sent.
        end: Whether our end says then that no more will come, and goes on listening.
    """
    loop, answer = asyncio.get_running_loop(), b""
    with sockets.socket(sockets.AF_UNIX) as client:
        client.setblocking(False)
        await loop.sock_connect(client, str(socket))
        # The server may answer and hang up before it has read all: the answer can be read all the same.
        with contextlib.suppress(ConnectionError):
            await loop.sock_sendall(client, content)
        if end:
            client.shutdown(sockets.SHUT_WR)
        with contextlib.suppress(ConnectionResetError):
            async with asyncio.timeout(30):
                while part := await loop.sock_recv(client, 65536):
                    answer += part
    assert answer.endswith(b"\n") and answer.count(b"\n") == 1 and len(answer) <= 200_000
    return dict(json.loads(answer))


def header(command: str, *files: tuple[str, str, int], **arguments: object) -> bytes:
    """Return a first line; each file has a role, a name and a number of bytes."""
    announced = [{"role": role, "name": name, "bytes": size} for role, name, size in files]
    return json.dumps({"command": command, "arguments": arguments, "files": announced}).encode() + b"\n"


def script(size: int) -> bytes:
    return header("score", ("source", "solution.py", size))


def logged(*files: tuple[str, str, int], validation: int = 2, **arguments: object) -> bytes:
    return header("log", ("validation", "v.npy", validation), *files, **{"name": "lgbm", **arguments})


def source(name: str, size: int = 1) -> bytes:
    return logged(("source", name, size))


async def test_the_socket_is_open_to_all_in_a_folder_that_all_can_enter(socket: Path) -> None:
    assert stat.S_IMODE(socket.stat().st_mode) == 0o666
    assert stat.S_IMODE(socket.parent.stat().st_mode) == 0o755
    assert [path.name for path in socket.parent.iterdir()] == ["socket"], "the lab sees all that lies there"


async def test_a_path_may_be_longer_than_the_kernel_takes(tmp_path: Path, handler: Remembering) -> None:
    path = tmp_path / ("long" * 30) / "lab1" / "socket" / "socket"
    short = tmp_path / "s"
    async with LabServer(path, handler):
        short.symlink_to(path)
        assert await say(short, header("status")) == {"status": 0, "text": "noted"}


async def test_what_a_killed_bot_left_is_no_hindrance(tmp_path: Path, handler: Remembering) -> None:
    path = tmp_path / "lab1" / "socket" / "socket"
    path.parent.mkdir(parents=True)
    with sockets.socket(sockets.AF_UNIX) as old:
        old.bind(str(path))
    (tmp_path / "lab1" / "spool").mkdir()
    (tmp_path / "lab1" / "spool" / "half.csv").touch()
    async with LabServer(path, handler):
        assert (await say(path, header("status")))["status"] == 0
        assert list((tmp_path / "lab1" / "spool").iterdir()) == []
    assert not path.exists() and not (tmp_path / "lab1" / "spool").exists()


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"\n", "Invalid JSON"),
        (b"\x00\xff\xfe\x80binary\n", "Invalid JSON"),
        (b"GET / HTTP/1.1\r\nHost: lab\r\n\r\n", "Invalid JSON"),
        (b"[" * 60_000 + b"\n", "Invalid JSON"),
        (b'{"command":"status","arguments":' + b'{"a":' * 10_000 + b"1" + b"}" * 10_000 + b"}\n", "Invalid JSON"),
        (b'{"command":"status","arguments":{},"files":' + b"9" * 60_000 + b"}\n", "Invalid JSON"),
        (b'{"command":"status","arguments":{},"files":NaN}\n', "files"),
        (b'{"command":"status","arguments":{},"files":{}}\n', "files"),
        (b'{"command":"status","arguments":{},"files":[1]}\n', "files.0"),
        (b'{"command":"status","arguments":[],"files":[]}\n', "arguments"),
        (b'{"command":"status","files":[]}\n', "arguments"),
        (b'{"command":["status"],"arguments":{}}\n', "command"),
        (b'{"command":"status","arguments":{},"x":1}\n', "x"),
        (b'{"command":"\\ud800","arguments":{}}\n', "Invalid JSON"),
        (header("exec"), "unknown command"),
        (header("exec\n\x1b[2J\u202e"), "unknown command"),
        (header("s" * 5000), "command"),
        (header("status", all=True), "all"),
        (header("board", all="yes"), "all"),
        (header("board", all=1), "all"),
        (header("note"), "text"),
        (header("note", text=5), "text"),
        (header("note", text={"a": 1}), "text"),
        (header("note", text="\u202e\n"), "empty"),
        (header("note", **{"\n" * 1000 + "\x1b": 1}), "lab note"),
        (header("status") + b"hello", "more than the announced 0 bytes"),
        (header("status", ("source", "a.py", 5)), "sources are not accepted"),
        (header("status", ("oof", "a.npy", 5)), "a file for oof is not accepted"),
        (header("score"), "missing or empty"),
        (script(0), "missing or empty"),
        (script(100_001), "the limit is 100000"),
        (header("score", ("source", "other.py", 5)), "missing"),
        (header("score", ("source", "solution.py", 5), ("source", "other.py", 5)), "'other.py'"),
        (header("score", ("source", "solution.py", 5), ("source", "infer.py", 10**18)), "the limit is 4000000"),
        (
            header("score", ("validation", "a.npy", 5), ("source", "solution.py", 5)),
            "a file for validation is not accepted",
        ),
        (script(4) + b"12345", "more than the announced 4 bytes"),
        (script(2) + b"\xff\xff", "not UTF-8"),
        (header("log", name="lgbm"), "validation is missing"),
        (header("log", ("oof", "o.npy", 5), name="lgbm"), "validation is missing"),
        (header("log", ("source", "a.py", 5), name="lgbm"), "validation is missing"),
        (logged(validation=512_000_001), "the limit is 512000000"),
        (logged(("oof", "o.npy", 10**10)), "the limit is 512000000"),
        (logged(("test", "t.npy", 10**18)), "the limit is 512000000"),
        (logged(validation=0), "empty"),
        (logged(validation=-1), "bytes"),
        (logged(("test", "t.npy", 1), ("test", "u.npy", 1)), "test appears twice"),
        (logged(("train", "t.npy", 1)), "a file for train is not accepted"),
        (logged(("labels", "t.npy", 1)), "files.1.role"),
        (logged(("test", "test", 1)), "suffix"),
        (logged(("test", "test.\n\x1b[2J", 1)), "suffix"),
        (logged(("test", "test.../../etc", 1)), "suffix"),
        (logged(("test", "t.npy" * 100, 1)), "files.1.name"),
        (logged(*(("source", f"{n}.py", 1) for n in range(41))), "the limit is 40"),
        (logged(*(("source", f"{n}.py", 1) for n in range(900))), "the limit is 40"),
        (logged(*(("source", f"{n}.py", 1_000_000) for n in range(5))), "the limit is 4000000"),
        (source("a.py", 1_000_001), "the limit for a source is 1000000"),
        (source(""), "invalid source name"),
        (source("../a.py"), "invalid source name"),
        (source("/a.py"), "invalid source name"),
        (source("a/../../b.py"), "invalid source name"),
        (source("a//b.py"), "invalid source name"),
        (source("a/b/"), "invalid source name"),
        (source(".bashrc"), "invalid source name"),
        (source("-rf"), "invalid source name"),
        (source("a\nb.py"), "invalid source name"),
        (source("a\x00.py"), "invalid source name"),
        (source("\u202eyp.a"), "invalid source name"),
        (source("a\\b.py"), "invalid source name"),
        (source("/".join("abcdefghi")), "invalid source name"),
        (logged(("source", "a.py", 1), ("source", "a.py", 1)), "two sources are named 'a.py'"),
        (logged(("source", "a", 1), ("source", "a/b.py", 1)), "both a source and a folder"),
        (logged(retrain="a\nb"), "retrain: a command must be one line"),
        (logged(retrain="\x1b[2J"), "retrain: a command must be one line"),
        (logged(uses="abc"), "uses"),
        (logged(uses=["\n"]), "uses"),
        (logged(uses=["a"] * 1001), "uses: 1001 items were given; the limit is 1000"),
        (logged(seconds=-1), "seconds"),
        (logged(seconds=float("nan")), "seconds"),
        (logged(check="yes"), "check"),
        (logged(name="../.."), "a name must contain a letter or a digit"),
        (logged(name="0.5 ± 0.1"), "0.5-0.1 looks like a score"),
        (logged(name="1e-9"), "1e-9 looks like a score"),
        (logged(name="NaN"), "NaN looks like a score"),
        (logged(name="1e-5 ± 1e-5"), "1e-5-1e-5 looks like a score"),
        (logged(name="0.5 ± nan"), "0.5-nan looks like a score"),
        (logged(name=""), "empty"),
        (header("fit", ("train", "a.npz", 1), ("validation", "a.npz", 1), name="a"), "test is missing"),
        (header("fit", ("oof", "a.npz", 1), name="a"), "a file for oof is not accepted"),
        (header("fit", ("train", "a.npz", 1), name="a", categories=["x" * 300]), "categories"),
        (b"x" * 100_000, "longer than 65536 bytes"),
    ],
)
async def test_what_is_no_call_is_refused_with_one_sentence(
    socket: Path, handler: Remembering, content: bytes, part: str
) -> None:
    answer = await say(socket, content)
    assert answer["status"] == 2 and part in answer["text"], answer
    assert answer["text"].isprintable() and len(answer["text"]) < 400
    assert handler.calls == [] and handler.news == []


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"", "ended in the middle of its first line"),
        (header("status")[:-1], "ended in the middle of its first line"),
        (script(10) + b"short", "is 5 bytes short"),
        (logged(("oof", "o.npy", 10_000)) + b"short", "o.npy is 9997 bytes short"),
    ],
)
async def test_a_call_that_ends_early_is_refused(socket: Path, handler: Remembering, content: bytes, part: str) -> None:
    answer = await say(socket, content, end=True)
    assert answer["status"] == 2 and part in answer["text"]
    assert handler.calls == [] and list((socket.parent.parent / "spool").iterdir()) == []


async def test_a_client_that_says_that_no_more_comes_is_answered(socket: Path) -> None:
    assert await say(socket, script(5) + b"pass\n", end=True) == {"status": 0, "text": "noted"}


@pytest.mark.integration
async def test_a_call_that_never_ends_is_refused_in_time(socket: Path) -> None:
    contents = [b'{"command"', script(9) + b"pass", logged(validation=10**8) + b"x" * 1000]
    for answer in await asyncio.gather(*(say(socket, content) for content in contents)):
        assert answer["status"] == 2 and "did not arrive" in answer["text"]


async def test_names_and_notes_come_cleaned_and_cut(socket: Path, handler: Remembering) -> None:
    assert (await say(socket, header("note", text="a\n## b\x1b[0m \u202e<|im_start|>" + "x" * 900)))["status"] == 0
    arguments = handler.calls[0].arguments
    assert isinstance(arguments, NoteCommand)
    assert arguments.text.startswith("a ## b[0m ‹ im_start >x") and "more characters left out" in arguments.text
    assert arguments.text.isprintable() and len(arguments.text) < 550


async def test_files_come_by_role_and_sources_by_name_whatever_parts_they_come_in(
    socket: Path, handler: Remembering
) -> None:
    big = bytes(range(256)) * 2000
    first = logged(
        ("source", "src/a (1).py", 0),
        ("oof", "x.NPY", len(big)),
        ("source", "src/b.py", 3),
        note="n",
        uses=["a b", "fit/trees-2"],
        compare_to="ensemble-7",
        seconds=3,
        retrain="python fit.py --all <in >out",
        name="Ä/../\u202eb c",
    )
    assert (await say(socket, first + b"vv" + big + b"bbb"))["status"] == 0
    assert handler.files == [{"validation": b"vv", "oof": big, "src/a (1).py": b"", "src/b.py": b"bbb"}]
    call = handler.calls[0]
    assert call.arguments == Log("b-c", "n", "python fit.py --all <in >out", ("a-b", "fit/trees-2"), "ensemble-7", 3.0)
    assert {role: path.suffix for role, path in call.files.items()} == {"validation": ".npy", "oof": ".NPY"}
    assert not any(path.exists() for path in (*call.files.values(), *call.sources.values()))
    assert list((socket.parent.parent / "spool").iterdir()) == []


async def test_a_handler_may_move_files_away(tmp_path: Path) -> None:
    class Keeping(Remembering):
        async def __call__(self, call: LabCall) -> LabAnswer:
            call.files["validation"].rename(tmp_path / "kept.npy")
            return LabAnswer(0, call.text("a.py") or "", LogScore("a", float("nan"), 0.5))

    async with LabServer(tmp_path / "lab1" / "socket" / "socket", Keeping()):
        answer = await say(tmp_path / "lab1" / "socket" / "socket", source("a.py", 4) + b"vva\r\nb")
    data = {"name": "a", "score": None, "gain": 0.5, "std_error": None}
    assert answer == {"status": 0, "text": "a\nb", "data": data}
    assert (tmp_path / "kept.npy").read_bytes() == b"vv"


async def test_an_answer_is_cleaned_and_bounded(socket: Path, handler: Remembering) -> None:
    handler.answer = LabAnswer(0, "\x00\x1b[31m" + "\U0001f600" * 1_000_000)
    answer = await say(socket, header("board"))
    assert answer["text"].startswith("[31m\U0001f600") and answer["text"].endswith(" more characters left out]")


async def test_four_calls_are_handled_at_a_time_and_others_wait_their_turn(socket: Path, handler: Remembering) -> None:
    handler.may.clear()
    clients = [asyncio.create_task(lab(socket, "status")) for _ in range(7)]
    await handler.begun(4)
    await asyncio.sleep(0.5)
    assert handler.running == len(handler.calls) == 4
    handler.may.set()
    assert [ended.status for ended in await asyncio.gather(*clients)] == [0] * 7


async def test_a_call_goes_on_when_its_client_is_killed_and_the_answer_to_score_becomes_news(
    socket: Path, handler: Remembering, tmp_path: Path
) -> None:
    (tmp_path / "solution.py").write_text("print(1)\n")
    handler.may.clear()
    handler.answer = LabAnswer(0, "0.81")
    clients = [await start(socket, *words) for words in (("score", str(tmp_path / "solution.py")), ("status",))]
    await handler.begun(2)
    for client in clients:
        client.kill()
        await client.communicate()
    handler.may.set()
    assert (await lab(socket, "status")).out == "0.81\n"
    assert handler.news == ["0.81"]
    assert handler.cancelled == 0
    assert {"solution.py": b"print(1)\n"} in handler.files


async def test_news_do_not_grow_without_bound(socket: Path, handler: Remembering) -> None:
    for number in range(30):
        handler.answer = LabAnswer(1, f"no look is left, {number // 2}")
        with sockets.socket(sockets.AF_UNIX) as client:
            client.connect(str(socket))
            client.sendall(script(4) + b"pass")
        await handler.begun(number + 1)
    await say(socket, header("status"))
    assert handler.news == [f"no look is left, {number}" for number in range(15)]


async def test_a_file_that_the_engine_cannot_write_is_refused(
    socket: Path, handler: Remembering, tmp_path: Path
) -> None:
    (tmp_path / "v.npy").write_bytes(bytes(5_000_000))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, before[1]))
    try:
        ended = await lab(socket, "log", "lgbm", "--validation", str(tmp_path / "v.npy"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert (ended.status, handler.calls) == (1, [])
    assert "failed to store the files" in ended.err and "File too large" in ended.err
    assert list((socket.parent.parent / "spool").iterdir()) == []


async def test_a_fault_of_the_handler_is_logged_and_other_calls_go_on(tmp_path: Path) -> None:
    class Faulty(Remembering):
        async def __call__(self, call: object) -> LabAnswer:
            raise ZeroDivisionError

    logged: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: logged.append(context))
    path = tmp_path / "lab1" / "socket" / "socket"
    async with LabServer(path, Faulty()):
        for _ in range(20):
            answer = await say(path, header("status"))
            assert answer["status"] == 1 and "the engine failed" in answer["text"]
    assert [type(context["exception"]) for context in logged] == [ZeroDivisionError] * 20

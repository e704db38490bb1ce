"""Tests of sessions: cells in a live kernel, in each back end, and what becomes of a kernel that does not behave."""

import asyncio
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from textwrap import dedent

import psutil
import pytest

from sandbox import CellResult, ExitReason, Sandbox, Session
from sandbox.docker import DockerSandbox
from sandbox.instance import label_of
from state.errors import InfrastructureFailure
from tests import needs
from tests.sandbox.conftest import make_request
from tests.sandbox.test_limits import alive

MB = 1024**2
SLOW = pytest.mark.parametrize(
    "sandbox",
    ["bubblewrap", *(pytest.param(name, marks=pytest.mark.integration) for name in ("process", "docker"))],
    indirect=True,
)
"""What takes seconds is tried in one back end at first."""


def opened(sandbox: Sandbox, place: Path, **options: object) -> AbstractAsyncContextManager[Session]:
    return sandbox.session(make_request(place, "", **{"seconds": 60.0, "memory_bytes": 1024 * MB, **options}))


@pytest.fixture
async def session(sandbox: Sandbox, place: Path) -> AsyncIterator[Session]:
    """A session in each back end."""
    async with opened(sandbox, place) as session:
        yield session


async def cell(session: Session, code: str, seconds: float = 20.0) -> CellResult:
    return await session.run(dedent(code), seconds)


async def test_cells_see_the_view_and_what_earlier_cells_have_left(session: Session) -> None:
    first = await cell(session, "table = open('data/train.csv').read()\nprint(len(table))")
    second = await cell(session, "table.splitlines()[0]")
    assert (first.status, first.output) == ("ok", "9\n")
    assert second.displays == ({"text/plain": "'id,x'"},)
    assert second.error is None
    assert 0 < second.seconds < 5


@SLOW
async def test_an_error_is_told_as_python_tells_it_and_the_state_is_kept(session: Session) -> None:
    failed = await cell(session, "x = 7\n1 / 0")
    assert failed.status == "error"
    assert (failed.error or "").startswith("Traceback (most recent call last):")
    assert (failed.error or "").endswith("ZeroDivisionError: division by zero")
    assert "\x1b" not in (failed.error or "")
    assert (await cell(session, "print(x)")).output == "7\n"


@SLOW
async def test_rich_output_comes_as_text_and_an_image_as_its_size(session: Session) -> None:
    shown = await cell(
        session,
        """
        from IPython.display import Image, display
        class Table:
            def __repr__(self): return "plain"
            def _repr_html_(self): return "<b>rich</b>"
        display(Image(data=b"\\x89PNG" + bytes(1000), format="png"))
        Table()
        """,
    )
    image, table = shown.displays
    assert image["image/png"] == "image/png, 1004 bytes"
    assert table == {"text/plain": "plain", "text/html": "<b>rich</b>"}


@SLOW
async def test_what_a_cell_prints_costs_nothing_but_its_cap(session: Session) -> None:
    line = await cell(session, "print('start', 'a' * 5_000_000, 'end')\n'b' * 5_000_000")
    assert line.status == "ok"
    assert line.output.startswith("start aaa")
    assert line.output.endswith("aaa end\n")
    assert len(line.output) < 110_000
    assert len(line.displays[0]["text/plain"]) < 30_000
    lines = await cell(session, "for i in range(100_000):\n    print(i)")
    assert lines.output.startswith("0\n1\n2\n")
    assert lines.output.endswith("99998\n99999\n")
    assert len(lines.output) < 110_000
    assert (await cell(session, "print('still here')")).output == "still here\n"


async def test_a_cell_over_its_time_is_interrupted_and_the_state_is_kept(session: Session) -> None:
    late = await cell(session, "x = 1\nprint('before', flush=True)\nimport time; time.sleep(60)", seconds=0.5)
    assert late.status == "interrupted"
    assert late.output == "before\n"
    assert "0.5 seconds" in (late.detail or "")
    assert 0.5 <= late.seconds < 3
    assert (await cell(session, "print(x)")).output == "1\n"


@SLOW
async def test_after_a_cell_that_cannot_be_interrupted_the_next_one_runs_in_a_fresh_kernel(session: Session) -> None:
    token = uuid.uuid4().hex
    stubborn = await cell(
        session,
        f"""
        import signal, subprocess, sys
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        open("left", "w").close()
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(99) # {token}"], start_new_session=True)
        while True:
            pass
        """,
        seconds=0.5,
    )
    assert stubborn.status == "lost"
    assert stubborn.reason is ExitReason.TIMED_OUT
    assert "went on after 0.5 seconds" in (stubborn.detail or "")
    assert "fresh kernel" in (stubborn.detail or "")
    assert stubborn.seconds < 7
    assert alive(token) == []
    after = await cell(session, "import os\nprint('signal' in globals(), os.listdir('.'))")
    assert (after.status, after.detail) == ("ok", None)
    assert "False" in after.output
    assert "left" not in after.output


@SLOW
async def test_a_kernel_that_dies_is_noticed_at_once(session: Session) -> None:
    began = time.monotonic()
    dead = await cell(session, "print('so far', flush=True)\nimport os, time; time.sleep(0.3); os._exit(7)", seconds=50)
    assert (dead.status, dead.reason, dead.output) == ("lost", ExitReason.ERROR, "so far\n")
    assert "exit status 7" in (dead.detail or "")
    assert time.monotonic() - began < 5
    assert (await cell(session, "print(2)")).output == "2\n"


@SLOW
async def test_a_process_that_lives_on_as_something_else_is_a_dead_kernel(session: Session) -> None:
    began = time.monotonic()
    dead = await cell(session, "import os; os.execvp('sleep', ['sleep', '99'])", seconds=50)
    assert dead.status == "lost"
    assert "did not answer" in (dead.detail or "")
    assert time.monotonic() - began < 10


@pytest.mark.integration
async def test_a_cell_that_keeps_the_interpreter_to_itself_is_not_taken_for_dead(session: Session) -> None:
    # Sorting holds the interpreter's lock for seconds; only the heart, which needs none, still answers.
    code = "class Slow:\n    def __init__(self, x): self.x = x\n"
    busy = await cell(session, code + "import ctypes; ctypes.PyDLL(None).sleep(2); print('done')")
    assert (busy.status, busy.output) == ("ok", "done\n")


@pytest.mark.integration
async def test_a_kernel_that_dies_between_cells_is_told_of_by_the_next_one(session: Session) -> None:
    await cell(session, "x = 1\nimport os, threading; threading.Timer(0.1, os._exit, [9]).start()")
    await asyncio.sleep(1)
    after = await cell(session, "print('x' in globals())")
    assert (after.status, after.output) == ("ok", "False\n")
    assert "exit status 9" in (after.detail or "")


@SLOW
async def test_the_memory_limit_of_a_session_holds_and_the_result_says_so(sandbox: Sandbox, place: Path) -> None:
    async with opened(sandbox, place, memory_bytes=300 * MB) as session:
        full = await cell(session, "import time\ndata = bytearray(b'x') * (320 * 1024**2)\ntime.sleep(30)")
        assert (full.status, full.reason) == ("lost", ExitReason.OUT_OF_MEMORY)
        assert str(300 * MB) in (full.detail or "")
        assert (await cell(session, "print(1)")).output == "1\n"


@SLOW
async def test_the_disk_limit_of_a_session_holds_and_the_result_says_so(sandbox: Sandbox, place: Path) -> None:
    async with opened(sandbox, place, written_bytes=20 * MB) as session:
        full = await cell(
            session,
            """
            import time
            for i in range(40):
                with open(f"file{i}", "wb") as file:
                    file.write(bytes(1024**2))
            time.sleep(30)
            """,
        )
        assert (full.status, full.reason) == ("lost", ExitReason.DISK_LIMIT)


@pytest.mark.integration
async def test_the_sessions_own_time_ends_it(sandbox: Sandbox, place: Path) -> None:
    async with opened(sandbox, place, seconds=12.0) as session:
        assert session.seconds_left > 0
        last = await cell(
            session, "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nimport time; time.sleep(60)", 60
        )
        assert (last.status, last.reason) == ("over", ExitReason.TIMED_OUT)
        after = await cell(session, "1")
        assert (after.status, after.reason) == ("over", ExitReason.TIMED_OUT)
        assert session.seconds_left == 0


async def test_nothing_is_left_after_the_end(sandbox: Sandbox, place: Path) -> None:
    token = uuid.uuid4().hex
    async with opened(sandbox, place) as session:
        started = await cell(
            session,
            f"""
            import subprocess, sys
            subprocess.Popen([sys.executable, "-c", "import time; time.sleep(99) # {token}"], start_new_session=True)
            """,
        )
        assert (started.status, started.detail, len(alive(token))) == ("ok", None, 1)
    assert alive(token) == []
    assert [path.name for path in (place / "out").iterdir()] == ["log.txt"]
    assert list(Path(tempfile.gettempdir()).glob(f"bot-{label_of(place / 'out')}-*")) == []


@SLOW
async def test_nothing_is_left_when_the_task_is_cancelled_in_mid_cell(sandbox: Sandbox, place: Path) -> None:
    token = uuid.uuid4().hex
    started = asyncio.Event()

    async def work() -> None:
        async with opened(sandbox, place) as session:
            await cell(session, f"import os; token = '{token}'; print(1)")
            started.set()
            await cell(
                session,
                f"import os, sys; os.system(f'{{sys.executable}} -c \"import time; time.sleep(99) # {token}\"')",
            )

    task = asyncio.create_task(work())
    await started.wait()
    while not alive(token):
        await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert alive(token) == []
    assert not (place / "out" / ".execution").exists()


@pytest.mark.integration
async def test_messages_without_end_do_not_keep_the_bot_from_its_other_work(session: Session) -> None:
    gaps = []

    async def other_work() -> None:
        while True:
            began = time.monotonic()
            await asyncio.sleep(0.01)
            gaps.append(time.monotonic() - began)

    working = asyncio.create_task(other_work())
    flood = await cell(
        session,
        """
        import signal
        from IPython import get_ipython
        kernel = get_ipython().kernel
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        raw = kernel.iopub_thread.socket
        while True:
            raw.send_multipart([b"no", b"message"])
        """,
        seconds=2,
    )
    working.cancel()
    assert flood.status == "lost"
    assert flood.seconds < 8
    assert max(gaps) < 1
    assert len(gaps) > 50


BOT = """
import asyncio, sys
from pathlib import Path
from sandbox import ExecutionRequest, Limits
from sandbox.{module} import {name}

async def main():
    place = Path(sys.argv[1])
    request = ExecutionRequest("left", "", place / "view", place / "out", Limits(60))
    async with {name}().session(request) as session:
        await session.run("x = 1", 10)
        print("ready", flush=True)
        await session.run("import time; time.sleep(50)", 50)

asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("module", "name"),
    [("bubblewrap", "BubblewrapSandbox"), pytest.param("process", "ProcessSandbox", marks=pytest.mark.integration)],
)
def test_a_kernel_ends_with_a_bot_that_is_killed(place: Path, module: str, name: str) -> None:
    if module == "bubblewrap":
        needs.bubblewrap()
    command = [sys.executable, "-c", BOT.format(module=module, name=name), str(place)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as bot:
        assert bot.stdout is not None
        assert bot.stdout.readline() == b"ready\n"
        below = psutil.Process(bot.pid).children(recursive=True)
        assert below
        bot.kill()
    _, left = psutil.wait_procs(below, timeout=5)
    assert left == []


@SLOW
async def test_a_kernel_that_cannot_start_is_our_own_failure(sandbox: Sandbox, place: Path) -> None:
    try:
        async with opened(sandbox, place, memory_bytes=20 * MB) as session:
            # Memory is measured a few times a second: a quick machine's kernel answers before the first time.
            assert not isinstance(sandbox, DockerSandbox), "there the kernel holds it"
            assert (await cell(session, "import time; time.sleep(10)")).reason is ExitReason.OUT_OF_MEMORY
    except InfrastructureFailure as error:
        assert "memory" in str(error)
    assert not (place / "out" / ".execution").exists()


async def test_a_session_is_isolated_as_an_execution_is(isolated: Sandbox, place: Path) -> None:
    async with opened(isolated, place) as session:
        seen = await cell(
            session,
            f"""
            import os, socket
            print(os.path.exists({str(place / "labels.csv")!r}), os.getuid() == 0)
            for act in (lambda: open("data/new", "w"), lambda: socket.create_connection(("127.0.0.1", 9), 1)):
                try:
                    act()
                except OSError as error:
                    print(error.errno)
            """,
        )
    assert seen.output == "False False\n30\n111\n"


@SLOW
async def test_messages_that_no_honest_kernel_sends_are_passed_over(session: Session) -> None:
    strange = await cell(
        session,
        """
        from IPython import get_ipython
        kernel = get_ipython().kernel
        send = lambda kind, content: kernel.session.send(kernel.iopub_socket, kind, content, parent=kernel.get_parent())
        send("stream", {"text": None}); send("stream", {}); send("error", {"traceback": 5})
        send("display_data", {"data": [1, 2]}); send("display_data", {"data": {"text/plain": {"a": 1}}})
        kernel.iopub_socket.send_multipart([b"x", b"<IDS|MSG>", b"no signature", b"{", b"{", b"{", b"{"])
        kernel.iopub_socket.send_multipart([b"y"])
        print("still read")
        """,
    )
    assert strange.status == "ok"
    assert strange.output.endswith("still read\n")


@SLOW
async def test_a_message_too_large_to_take_costs_the_kernel_and_not_the_bot(session: Session) -> None:
    huge = await cell(
        session,
        """
        from IPython import get_ipython
        get_ipython().kernel.iopub_socket.send_multipart([bytes(4 * 1024**2)])
        """,
    )
    assert huge.status == "lost"
    assert "does not arrive" in (huge.detail or "")
    assert (await cell(session, "print(3)")).output == "3\n"


@pytest.mark.integration
async def test_displays_without_end_cost_nothing_but_their_cap(session: Session) -> None:
    many = await cell(session, "from IPython.display import display\nfor i in range(500):\n    display(i)")
    assert many.status == "ok"
    assert len(many.displays) == 30
    assert (await cell(session, "print(3)")).output == "3\n"

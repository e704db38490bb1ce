"""Output: what is kept of it, and how it streams."""

import asyncio
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox import Breach, ExitReason, ResourceUsage, Sandbox
from sandbox.output import CappedOutput, plain_text
from state.redaction import MASK, Redactor
from tests.sandbox.conftest import Run, make_request


@given(st.lists(st.binary(max_size=40)), st.integers(min_value=2, max_value=50))
def test_the_first_and_the_last_part_are_kept_and_the_cut_is_counted(chunks: list[bytes], cap: int) -> None:
    output = CappedOutput(cap)
    for chunk in chunks:
        output.add(chunk)
    whole = b"".join(chunks)
    if len(whole) <= cap:
        assert output.text() == decoded(whole)
        return
    head, tail = whole[: cap // 2], whole[len(whole) - (cap - cap // 2) :]
    middle = f"\n[... {len(whole) - cap} bytes cut ...]\n"
    assert output.text() == decoded(head) + middle + decoded(tail)
    assert len(output.text().encode()) <= cap + len(middle)
    assert output.overflowing


def test_a_line_of_many_megabytes_takes_no_more_than_the_cap() -> None:
    output = CappedOutput(1000)
    for _ in range(100):
        output.add(b"x" * 65536)
    assert len(output.text()) < 1100


def decoded(content: bytes) -> str:
    return content.decode("utf-8", errors="replace").replace("\ufffd", "?")


def test_bytes_that_are_no_text_become_question_marks() -> None:
    output = CappedOutput(1000)
    output.add(b"a\xff\xfeb")
    assert output.text() == "a??b"


def test_what_is_kept_of_an_output_holds_no_secret_also_where_it_came_in_two_pieces() -> None:
    output = CappedOutput(1000, Redactor({"hunter2-is-a-s3cret": "KEY"}))
    for chunk in (b"a hunter2-is", b"-a-s3cret b"):
        output.add(chunk)
    assert output.text() == f"a {MASK} b"


@pytest.mark.parametrize(
    "escape",
    [
        *("\x1b[31m", "\x1b[?25l", "\x9b1;31m", "\x1b]0;a title\x07", "\x1b]8;;x\x1b\\", "\x9d0;x\x9c", "\x1b(B"),
        *("\x1b7", "\x1bc", "\x1e"),
    ],
)
def test_escapes_leave_nothing_of_themselves(escape: str) -> None:
    assert plain_text(f"a{escape}b\n{escape}c") == "ab\nc"


class Looker:
    """Keeps what it is shown; ends the execution after a word."""

    def __init__(self, word: bytes = b"\x00never") -> None:
        self.seen = b""
        self.usages: list[ResourceUsage] = []
        self._word = word

    def output(self, chunk: bytes) -> None:
        self.seen = (self.seen + chunk)[-10_000:]

    def usage(self, usage: ResourceUsage) -> Breach | None:
        self.usages.append(usage)
        return Breach(ExitReason.KILLED_BY_RULE, "It printed the word.") if self._word in self.seen else None


async def test_who_looks_on_sees_output_and_use_and_may_end_it(sandbox: Sandbox, place: Path) -> None:
    script = "import time\nprint('the word', flush=True)\nx = sum(range(10**7))\ntime.sleep(99)\n"
    looker = Looker(b"the word")
    outcome = await sandbox.run(make_request(place, script), looker)
    assert outcome.reason is ExitReason.KILLED_BY_RULE
    assert outcome.detail == "It printed the word."
    assert outcome.output == "the word\n"
    assert outcome.seconds < 60
    assert [usage.seconds for usage in looker.usages] == sorted(usage.seconds for usage in looker.usages)


@pytest.mark.integration
async def test_the_log_can_be_read_while_the_script_runs(sandbox: Sandbox, place: Path) -> None:
    script = "import time\nprint('first', flush=True)\ntime.sleep(3)\nprint('last', flush=True)\n"
    running = asyncio.create_task(sandbox.run(make_request(place, script)))
    log = place / "out" / "log.txt"
    async with asyncio.timeout(20):
        while not log.is_file() or not log.read_text().endswith("\n"):
            await asyncio.sleep(0.05)
    assert log.read_text() == "first\n"
    assert not running.done()
    await running
    assert log.read_text() == "first\nlast\n"


@pytest.mark.integration
@pytest.mark.parametrize("sandbox", ["process"], indirect=True)
async def test_ten_million_lines_cost_nothing_but_their_cap(run: Run, place: Path) -> None:
    script = """
        import sys
        block = "".join(f"epoch {i}/100000 loss: nan\\n" for i in range(1000))
        for _ in range(10_000):
            sys.stdout.write(block)
        print("THE END")
    """
    me = psutil.Process()
    me.memory_info()
    peak = 0

    async def measure() -> None:
        nonlocal peak
        while True:
            peak = max(peak, me.memory_info().rss)
            await asyncio.sleep(0.05)

    start = me.memory_info().rss
    measuring = asyncio.create_task(measure())
    outcome = await run(script, seconds=240.0)
    measuring.cancel()
    assert outcome.reason is ExitReason.FINISHED
    assert outcome.output.endswith("THE END\n")
    assert len(outcome.output) < 1_000_100
    assert (place / "out" / "log.txt").stat().st_size < 1_000_100
    assert peak - start < 20_000_000

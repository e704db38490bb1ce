"""Tests of output as it streams: who looks on sees it at once, the log can be read, and no flood costs more than its cap."""

import asyncio
from pathlib import Path

import psutil
import pytest

from sandbox import Breach, ExitReason, Sandbox, Usage
from tests.sandbox.conftest import Run, make_request


class Looker:
    """Keeps what it is shown; ends the execution after a word."""

    def __init__(self, word: bytes = b"\x00never") -> None:
        self.seen = b""
        self.usages: list[Usage] = []
        self._word = word

    def output(self, chunk: bytes) -> None:
        self.seen = (self.seen + chunk)[-10_000:]

    def usage(self, usage: Usage) -> Breach | None:
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

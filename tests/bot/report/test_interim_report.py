"""The report while a run goes on: it follows the run, and never stands in its way."""

import asyncio
import json
from functools import partial
from pathlib import Path

import pytest

from bot.execution.folder import RunFolder
from bot.execution.stopwatch import Stopwatch, StopwatchReading
from bot.replay.grading import report_so_far
from bot.report.interim_report import pause_of, written_meanwhile
from bot.report.result import read_latest
from bot.report.run_files import EndedRun
from sandbox import SandboxDescription
from state.errors import InfrastructureFailure
from tests.bot.engine.blended import WRONG, blended_run, score


async def until(file: Path) -> None:
    async with asyncio.timeout(120):
        while not file.is_file():
            await asyncio.sleep(0.05)


def test_a_page_costs_a_short_run_little_and_is_never_old_in_a_long_one() -> None:
    assert pause_of(120.0) == 60.0
    assert pause_of(5 * 3600.0) == 900.0


@pytest.mark.asyncio
@pytest.mark.integration
async def test_a_run_that_goes_on_has_a_page_of_what_is_known_so_far(tmp_path: Path) -> None:
    async with blended_run(tmp_path) as (context, _):
        await score(context, 1, WRONG[1])
        folder = RunFolder(tmp_path / "page", context.store.path)
        folder.path.mkdir()
        folder.config.write_text(json.dumps({"card": context.card.model_dump(mode="json")}))
        run = EndedRun(folder, context, SandboxDescription("process", ()), Stopwatch(StopwatchReading()), "running")
        async with written_meanwhile(context, partial(report_so_far, run, 7), 0.01):
            await until(folder.report)
        assert (
            "The run is in progress: the best so far is node 1 with a validation score of"
            in folder.report.read_text(encoding="utf-8")
        )
        so_far = read_latest(folder)
        assert (so_far.status, so_far.score, so_far.hidden_scores) == ("running", None, {}), "nothing is graded"
        assert so_far.validation_interval is not None
        assert not folder.result.exists()


@pytest.mark.asyncio
@pytest.mark.integration
async def test_a_page_is_drawn_again_when_a_node_has_ended_and_a_failure_costs_nothing(tmp_path: Path) -> None:
    drawn, failures = asyncio.Queue[int](), []

    async with blended_run(tmp_path) as (context, _):

        async def draw() -> None:
            drawn.put_nowait(1)
            if not failures:
                failures.append(1)
                raise InfrastructureFailure("the worker died")

        await score(context, 1, WRONG[1])
        async with written_meanwhile(context, draw, 0.01), asyncio.timeout(60):
            await drawn.get()
            await asyncio.sleep(0.2)
            assert drawn.empty(), "nothing has changed"
            await score(context, 2, WRONG[2])
            await drawn.get()

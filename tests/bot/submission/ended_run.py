"""A run of three scripts that is over: `python -m tests.bot.submission.ended_run FOLDER LIFE...`.

Its scripts are blended and chosen among, what is chosen is handed in and graded, and what came of it is printed as JSON.
It lives as often as it is told: to where its scripts are scored (`scored`), to its end (`ended`), or to a boundary where it
kills itself (`MOMENT LABEL`, see `tests.chaos.doomed`). A life that ends otherwise is the last.
"""

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from bot.engine.blending import Blending
from bot.engine.context import RunContext
from bot.evaluation.client.worker import Worker
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.execution.folder import RunFolder
from bot.models.recordings import RecordedModel
from bot.replay.grading import grade_and_report
from bot.report.run_files import EndedRun
from bot.submission.final_submission import make_final_submission
from sandbox.process import ProcessSandbox
from scrapers.snapshots.snapshot import Snapshot
from state.clock import ReplayClock
from state.files import sha256_of
from state.progress import end_run
from tests.bot.engine.blended import score
from tests.bot.engine.parts import RUN, opened_on
from tests.chaos.doomed import Doom, forked
from tests.tiny_snapshot import write_tiny
from tests.warm_workers import warm_workers

_WRONG = (2.0, 2.05, 2.1)
"""How wrong the script of each node is: their blend is better than each."""
_ROWS = 2000
_ALIKE = {
    *("chosen_node", "prediction_source", "prediction_note", "conservative_pick", "risky_pick"),
    *("validation_score", "final_score"),
    *("score", "win_rate", "hidden_scores", "selection", "selection_regret", "refit_regret", "blend", "nodes"),
    "guards",
}
"""What a kill must not change in a result."""


class _Still:
    """A stopwatch that stands still, so that a slow machine decides nothing."""

    def wall(self) -> float:
        return 0.0


@asynccontextmanager
async def run_of(folder: Path) -> AsyncIterator[RunContext]:
    """Give a run whose scripts have scores, at the time 0; one in the folder goes on."""
    if not (folder / "tiny").exists():
        write_tiny(folder / "tiny", rows=_ROWS)
    snapshot = Snapshot.load(folder / "tiny", METRIC_DIRECTIONS)
    clock, model = ReplayClock(snapshot.card.deadline), RecordedModel(folder)
    async with (
        aclosing(Worker()) as blender,
        opened_on(snapshot, folder, None, clock, model, community=False, baseline=False, worker=blender) as opened,
    ):
        context = replace(opened, blender=blender, budget=replace(opened.budget, elapsed=_Still()))
        for node, much in enumerate(_WRONG, 1):
            await score(context, node, f"{much} * math.sin({node} * 1000 * float(row['c']))")
        yield context


async def _end(context: RunContext, folder: Path) -> str:
    run, worker = RunFolder(folder / "run"), context.blender
    assert worker is not None
    handed = await make_final_submission(
        context, Blending(context, worker), run.submission, worker, hurried=False, over=True
    )
    with context.store.write() as tx:
        end_run(tx, RUN, "finished")
    ended = EndedRun(run, context, ProcessSandbox().describe(), context.executor.stopwatch, "finished")
    result = await grade_and_report(ended, handed, folder / "tiny", worker)
    return json.dumps(result.model_dump(mode="json", include=_ALIKE) | {"submitted_file": sha256_of(run.submission)})


async def _run(folder: Path, *, to_the_end: bool) -> None:
    async with run_of(folder) as context:
        if to_the_end:
            print(await _end(context, folder))


def _live(folder: Path, life: str) -> None:
    moment, _, boundary = life.partition(" ")
    if boundary:
        Doom(moment, boundary, 1)
    asyncio.run(_run(folder, to_the_end=life != "scored"))


def main(folder: Path, lives: Sequence[str]) -> None:
    """Live each life, until one ends otherwise than it should."""
    for life in lives:
        status = forked(partial(_live, folder, life))
        if status != (-signal.SIGKILL if " " in life else 0):
            sys.exit(f"{life}: its exit status is {status}")


if __name__ == "__main__":
    with warm_workers(at_once=True):
        main(Path(sys.argv[1]), sys.argv[2:])

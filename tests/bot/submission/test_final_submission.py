"""The final submission: the selected node's file is placed and confirmed, also when the run submits more than once."""

import asyncio
import os
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from bot.engine.budget import RunBudget
from bot.engine.context import RunContext
from bot.evaluation.client.worker import Worker
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.execution.folder import RunFolder
from bot.execution.record import EXECUTED, ExecutionRecord, kept_execution
from bot.submission.final_submission import FinalSubmission, make_final_submission
from bot.submission.refit import _stored_the_same, did_less, refit
from sandbox import ExitReason
from scrapers.snapshots.snapshot import Snapshot
from state.clock import ReplayClock
from state.progress import create_node, end_node
from state.steps import Key
from state.store import Store
from tests.bot.submission.parts import RUN, assert_events_match_rows, begin, rows
from tests.bot.submission.service_parts import run_context
from tests.tiny_snapshot import write_tiny

pytestmark = pytest.mark.asyncio(loop_scope="module")

KNOWS_HOW_MUCH_IT_LEARNT_FROM = """
import csv  # alone: pandas takes a while to import

def table(name):
    with open(f"data/{name}.csv", newline="") as file:
        return list(csv.DictReader(file))

rows = len(table("train"))
for sample, name in (("sample_submission", "submission"), ("sample_validation", "validation_predictions")):
    asked = table(sample)
    with open(f"{name}.csv", "w", newline="") as file:
        chances = [0.25 + 0.5 * i / len(asked) + rows * 1e-6 for i in range(len(asked))]
        csv.writer(file).writerows([("id", "label"), *((row["id"], chance) for row, chance in zip(asked, chances))])
"""


CHANCES = """
import csv, math, os, random, time
limit = float(os.environ["BOT_TIME_LIMIT"])
def table(name):
    with open(f"data/{name}.csv") as file:
        return list(csv.DictReader(file))
def chances(name):
    return [1 / (1 + math.exp(float(row["b"]) - 2 * float(row["a"]))) for row in table(name)]
def write(sample, name, values):
    with open(f"{name}.csv", "w") as file:
        csv.writer(file).writerows([["id", "label"], *zip([row["id"] for row in table(sample)], values)])
rows, asked, tested = len(table("train")), chances("validation"), chances("test")
"""
WRITES = """
write("sample_validation", "validation_predictions", asked)
write("sample_submission", "submission", tested)
"""
SHUFFLES_ITS_REFIT = CHANCES + "if rows == 240: random.Random(0).shuffle(tested)" + WRITES
READS_ITS_CLOCK = (
    CHANCES
    + """
seconds = 2.3 if rows < 240 or limit > 200 else 0.1
while time.process_time() < seconds:
    pass
"""
    + WRITES
)
WORKS = (
    CHANCES
    + """
models, rounds = 5, 9
if rows >= 240:
    SHORT
while time.process_time() < models * rounds * rows * 0.0004:
    pass
"""
    + WRITES
)


@pytest_asyncio.fixture(loop_scope="module")
async def run(tmp_path: Path, worker: Worker) -> AsyncIterator[tuple[RunContext, Worker]]:
    """Return a run whose only node has run on the hold-out view."""
    snapshot = Snapshot.load(write_tiny(tmp_path / "tiny-table"), METRIC_DIRECTIONS)
    folder, locks = RunFolder(tmp_path / "run"), tmp_path / "locks"
    for path in (folder.path, locks):
        path.mkdir()
    with Store.open(folder.database, ReplayClock(snapshot.card.deadline)) as store:
        begin(store)
        context = run_context(snapshot.card, folder, locks, store, worker, None, snapshot.data, RUN)
        with store.write() as tx:
            create_node(tx, RUN, action="draft", id=2, code=KNOWS_HOW_MUCH_IT_LEARNT_FROM)
        done = await context.executor.execute(2, KNOWS_HOW_MUCH_IT_LEARNT_FROM, "holdout", 60.0)
        assert done.score is not None, done.error
        with store.write() as tx:
            end_node(tx, RUN, 2, "valid", score=done.value)
        yield context, worker


async def submit_final(context: RunContext, worker: Worker, file: Path, *, hurried: bool = False) -> FinalSubmission:
    return await make_final_submission(context, None, file, worker, hurried=hurried)


@pytest.mark.integration
async def test_a_stopped_run_submits_and_again_when_it_was_resumed(run: tuple[RunContext, Worker]) -> None:
    context, worker = run
    scored = context.executor.submission_of(2, "holdout")
    file = scored.parents[2] / "submission.csv"

    for _ in range(2):
        stopped = await submit_final(context, worker, file, hurried=True)
        assert (stopped.node, stopped.source) == (2, "holdout")
        assert file.read_bytes() == scored.read_bytes()
        assert [(row.id, row.status, row.prediction_source) for row in rows(context.store)] == [
            ("1", "confirmed", "holdout")
        ]

    resumed = await submit_final(context, worker, file)
    assert (resumed.source, resumed.note) == ("refit", "the refit on all data, which agrees with the scored run")
    assert context.executor.final_score(2) is not None
    assert file.read_bytes() == context.executor.submission_of(2, "full").read_bytes() != scored.read_bytes()
    assert [(row.id, row.status, row.prediction_source) for row in rows(context.store)][1:] == [
        ("2", "confirmed", "refit")
    ]
    assert_events_match_rows(context.store)


async def test_a_run_without_a_score_submits_nothing(run: tuple[RunContext, Worker], tmp_path: Path) -> None:
    context, worker = run
    with context.store.write() as tx:
        end_node(tx, RUN, 2, "buggy")
    done = await submit_final(context, worker, tmp_path / "submission.csv")
    assert (done.node, done.source) == (None, None)
    assert rows(context.store) == []
    assert not (tmp_path / "submission.csv").exists()


async def scored(context: RunContext, node: int, script: str, seconds: float = 60.0) -> ExecutionRecord:
    """Run a script as a node."""
    with context.store.write() as tx:
        create_node(tx, RUN, action="draft", id=node, code=script)
    done = await context.executor.execute(node, script, "holdout", seconds)
    assert done.score is not None, done.error
    with context.store.write() as tx:
        end_node(tx, RUN, node, "valid", score=done.value)
    return done


async def test_a_refit_has_the_time_limit_of_the_scored_run(run: tuple[RunContext, Worker]) -> None:
    context, worker = run
    await scored(context, 3, KNOWS_HOW_MUCH_IT_LEARNT_FROM, 47.0)
    with context.store.read() as session:
        kept = kept_execution(session, RUN, 3)
    assert kept is not None and kept.limit == 47.0 and kept.cpu_seconds is not None
    assert (await refit(context, 3, worker)).source == "refit"
    with context.store.read() as session:
        again = kept_execution(session, RUN, 3, "full")
    assert again is not None and again.limit == 47.0


class Watch:
    """Seconds of a run that pass when they are set."""

    now = 0.0

    def wall(self) -> float:
        return self.now


async def test_a_refit_that_waited_for_a_core_until_too_little_time_was_left_is_not_run(run) -> None:
    context, worker = run
    watch, waits = Watch(), asyncio.Event()
    context = replace(context, budget=RunBudget(watch, 600.0, None))
    leasing = context.executor.leasing
    context.executor.leasing = replace(leasing, say=lambda line: waits.set())
    async with leasing.leases.hold(os.cpu_count() or 1, seconds=60.0):
        refitting = asyncio.create_task(refit(context, 2, worker))
        await waits.wait()
        watch.now = 590.0
    made = await refitting
    assert made.source == "holdout" and "too little time" in made.note
    with context.store.read() as session:
        assert kept_execution(session, RUN, 2, "full") is None


async def test_a_refit_of_shuffled_rows_is_not_submitted(run: tuple[RunContext, Worker]) -> None:
    context, worker = run
    await scored(context, 3, SHUFFLES_ITS_REFIT)
    made = await refit(context, 3, worker)
    assert made.source == "holdout" and made.file == context.executor.submission_of(3, "holdout")
    assert "the refit differs too much" in made.note


@pytest.mark.integration  # seconds of CPU time
async def test_a_refit_that_gave_something_up_is_run_again_with_more_time(run: tuple[RunContext, Worker]) -> None:
    context, worker = run
    done = await scored(context, 3, READS_ITS_CLOCK, 150.0)
    assert done.cpu_seconds is not None and done.cpu_seconds > 2
    made = await refit(context, 3, worker)
    first, second = (context.steps.find(EXECUTED, Key(3, "full", attempt)) for attempt in range(2))
    assert first is not None and second is not None
    assert first.limit == 150.0 and second.limit == 300.0
    assert made.source == "refit" and made.file.parent.name == second.id


@pytest.mark.integration  # seconds of CPU time
async def test_one_that_gives_it_up_again_is_not_trusted(run: tuple[RunContext, Worker]) -> None:
    context, worker = run
    await scored(context, 3, READS_ITS_CLOCK.replace("> 200", "> 1000"), 150.0)
    made = await refit(context, 3, worker)
    assert made.source == "holdout" and "so the refit did less work" in made.note


@pytest.mark.integration  # seconds of CPU time
@pytest.mark.parametrize("short", ["models = 1", "rows //= 2", "rounds //= 3", ""])
async def test_a_refit_that_drops_models_rows_or_rounds_is_not_submitted(run, short) -> None:
    context, worker = run
    await scored(context, 3, WORKS.replace("SHORT", short or "pass"), 150.0)
    made = await refit(context, 3, worker)
    assert (made.source == "refit") is (not short), made.note
    assert short == "" or "so the refit did less work" in made.note


MODELS = [f"model {name}: 0.5 after 1.2 s" for name in "ABCDE"]


async def test_a_brief_refit_that_stored_the_same_models_did_the_same_and_one_of_fewer_rows_less(tmp_path) -> None:
    scored = ExecutionRecord(
        id="a", view="holdout", reason=ExitReason.FINISHED, seconds=4, output="1,200 rows", fine=True, score=None,
        fault=None, error=None, cpu_seconds=4,
    )  # fmt: skip
    refitted = scored.model_copy(update={"output": "1500 rows", "cpu_seconds": 2.9})
    assert did_less(scored, refitted, 1.25) is not None
    assert did_less(scored, refitted, 1.25, stored_the_same=True) is None
    fewer = refitted.model_copy(update={"output": "600 rows", "cpu_seconds": 5})
    assert "600 rows" in (did_less(scored, fewer, 1.25, stored_the_same=True) or "")
    for name, sizes in (("a", (100, 50)), ("b", (120, 50)), ("c", (60, 50)), ("d", (120,))):
        for number, size in enumerate(sizes):
            (tmp_path / name / "weights").mkdir(parents=True, exist_ok=True)
            (tmp_path / name / f"weights/{number}").write_bytes(b"1" * size)
    assert [_stored_the_same(tmp_path / "a", tmp_path / name) for name in "bcde"] == [True, False, False, False]


@pytest.mark.parametrize(
    ("seconds", "lines", "is_less"),
    [
        (3.0, MODELS, False),
        (3.0, [*MODELS[:4], "blend of A and B"], False),
        (3.0, MODELS[:1], True),
        (3.0, [], True),
        (30.0, MODELS, True),
    ],
)
async def test_a_brief_refit_is_compared_by_what_it_printed(seconds: float, lines: list[str], is_less: bool) -> None:
    scored = ExecutionRecord(
        id="a", view="holdout", reason=ExitReason.FINISHED, seconds=seconds, output="\n".join(MODELS), fine=True, score=None,
        fault=None, error=None, cpu_seconds=seconds,
    )  # fmt: skip
    ran = scored.model_copy(update={"output": "\n".join(lines).replace("0.5", "0.61"), "cpu_seconds": 0.7 * seconds})
    assert (did_less(scored, ran, 1.25) is not None) is is_less


async def test_what_was_found_out_once_is_submitted_after_a_restart_with_less_time(run) -> None:
    context, worker = run
    first = await refit(context, 2, worker)
    late = replace(context, budget=RunBudget(context.executor.stopwatch, 1.0, None))
    assert await refit(late, 2, worker) == first
    assert first.source == "refit"

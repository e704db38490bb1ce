"""A package on its way to Kaggle: weights, notebook, run, output and submission, each once, at the stand-in that runs it."""

import csv
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import pytest_asyncio

from bot.configuration.competition import CompetitionSettings
from bot.evaluation.client.worker import Worker
from bot.notebooks.limits import NotebookLimits
from bot.simulator.site.faults import Fault, Faults
from bot.submission.notebook_lines import notebook_lines
from bot.submission.submission_service import SubmissionService
from sandbox.process import ProcessSandbox
from state.notebooks import NotebookState, failures_of, notebook_states
from state.progress import update_node
from tests.bot.submission.packed import ALL_SHOWN, BROKEN, NOTHING, ONE_ROW, SLOW, pack, pack_blend
from tests.bot.submission.service_parts import RUN, SENDING, Ground, Live, decide, ground, live

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.integration]

ASKING = CompetitionSettings(submit=True, rules_read=True, approve="ask")


@pytest.fixture(scope="module")
def notebooks(tmp_path_factory: pytest.TempPathFactory) -> Ground:
    return ground(tmp_path_factory.mktemp("notebooks"), kind="code")


@pytest_asyncio.fixture(loop_scope="module")
async def run(notebooks: Ground, tmp_path: Path, worker: Worker) -> AsyncIterator[Live]:
    async with live(notebooks, tmp_path, worker, settings=ALL_SHOWN, sandbox=ProcessSandbox()) as opened:
        yield opened


def stands(run: Live) -> list[NotebookState]:
    with run.store.read() as session:
        return list(notebook_states(session, RUN).values())


def asked(run: Live, name: str) -> int:
    return run.site.site.requests[name]


async def looked(run: Live, service: SubmissionService, times: int = 12) -> None:
    """Have the submission service send whenever it wants to be called, while the site works on."""
    for _ in range(times):
        await service.send()
        run.site.settle()
        if (due := service.next_check()) is None:
            return
        run.clock.time = max(due, run.clock.time)


async def test_a_notebook_is_pushed_followed_and_submitted_as_files_are(run: Live) -> None:
    run.node(2, 0.5)
    pack(run, 2)
    service = run.service()
    assert (await decide(service)).verdict == "send"
    assert asked(run, "SaveKernel") == 0
    await looked(run, service)
    run.site.settle()
    await service.scores.settle()
    (row,) = run.submissions()
    assert (row.status, row.prediction_source) == ("confirmed", "notebook")
    assert row.score is not None
    (sent,) = run.site.site.submissions
    assert sent.tag == row.tag
    (stand,) = stands(run)
    assert (stand.stage, stand.version, stand.node) == ("ran", 1, 2)
    assert stand.ref.startswith("rehearsal/bot-tiny-table-") and stand.data_set.startswith("rehearsal/bot-weights-")
    for name in ("CreateDataset", "SaveKernel", "CreateCodeSubmission"):
        assert asked(run, name) == 1, name
    assert (run.folder / "submissions" / f"{row.file_sha}.csv").is_file()
    (notice,) = run.notices("notebook.pushed")
    assert stand.ref in notice.body
    run.assert_events_match_rows()


async def test_the_notebook_of_a_blend_has_one_data_set_and_submits_what_its_scripts_predict_together(run) -> None:
    run.node(4, 0.5)
    pack_blend(run, 4, slopes={2: 0.2, 3: -0.1}, weights={2: 0.75, 3: 0.25})
    service = run.service()
    await service.consider()
    await looked(run, service)
    run.site.settle()
    await service.scores.settle()
    (row,) = run.submissions()
    assert (row.status, row.score is None) == ("confirmed", False)
    assert asked(run, "CreateDataset") == asked(run, "SaveKernel") == 1
    with (run.folder / "submissions" / f"{row.file_sha}.csv").open() as file:
        made = {one["id"]: float(one["label"]) for one in csv.DictReader(file)}
    with (run.context.executor.settings.data / "test.csv").open() as file:
        a = {one["id"]: float(one["a"]) for one in csv.DictReader(file)}
    expected = [
        0.75 * min(max(0.5 + 0.2 * a[id], 0.01), 0.99) + 0.25 * min(max(0.5 - 0.1 * a[id], 0.01), 0.99) for id in made
    ]
    assert list(made.values()) == pytest.approx(expected)


async def test_nothing_is_pushed_without_the_owners_word(run: Live) -> None:
    run.node(2, 0.5)
    pack(run, 2)
    for settings in (CompetitionSettings(rules_read=True), ASKING):
        await run.send_best(settings)
    assert [row.status for row in run.submissions()] == ["intended"]
    assert len(run.notices("approval.asked")) == 1
    assert not any(asked(run, name) for name in ("StartBlobUpload", "CreateDataset", "SaveKernel"))


@pytest.mark.parametrize(
    ("code", "hours", "why"),
    [(ONE_ROW, 9.0, "failed its local check"), (SLOW, 0.001, "within 2 s")],
    ids=["hard-coded rows", "too slow"],
)
async def test_what_the_notebook_check_refuses_is_never_pushed_and_the_owner_hears_why(run, code, hours, why) -> None:
    run.node(2, 0.5)
    with run.store.write() as tx:
        update_node(tx, RUN, 2, infer=code)
    strict = replace(run, context=replace(run.context, notebook_limits=NotebookLimits(hours=hours)))
    service = strict.service()
    decision = await decide(service)
    assert decision.verdict == "never"
    assert why in decision.reason
    await service.send()
    assert run.submissions() == []
    assert not any(asked(run, name) for name in ("StartBlobUpload", "CreateDataset", "SaveKernel"))
    (notice,) = run.notices("notebook.failed")
    assert why in notice.body
    with run.store.read() as session:
        (line,) = notebook_lines(session, RUN)
    assert line.settled and why in line.sentence


@pytest.mark.parametrize(
    ("code", "why", "log"),
    [
        (BROKEN, "ended on Kaggle with status error", "there is no such column"),
        (NOTHING, "ended on Kaggle with status error", "wrote no submission.csv"),
        (ONE_ROW, "cannot be submitted", ""),
    ],
)
async def test_what_fails_at_kaggle_is_given_up_once_with_its_log(run: Live, code: str, why: str, log: str) -> None:
    run.node(2, 0.5)
    pack(run, 2, code)
    service = run.service()
    await service.consider()
    await looked(run, service)
    assert run.states() == [(2, "withdrawn")]
    (stand,) = stands(run)
    assert stand.stage == "failed" and why in stand.reason and log in stand.log
    with run.store.read() as session:
        assert failures_of(session, RUN) == {2: stand.reason}
    (notice,) = run.notices("notebook.failed")
    assert why in notice.body
    run.clock.pass_by(days=2)
    decision = await run.service().consider()
    assert decision is None or decision.verdict == "never"
    assert asked(run, "SaveKernel") == 1
    assert len(run.notices("notebook.failed")) == 1
    assert not run.site.site.submissions


async def test_a_better_node_does_not_replace_a_notebook_that_runs(run: Live) -> None:
    run.node(2, 0.3)
    pack(run, 2)
    service = await run.send_best()
    run.clock.pass_by(minutes=10)
    await service.send()
    assert [one.stage for one in stands(run)] == ["pushed"]
    run.node(3, 0.9)
    pack(run, 3, slope=0.3)
    await service.consider()
    await looked(run, service, 20)
    assert (2, "confirmed") in run.states()
    assert all(count == 1 for count in Counter(one.ref for one in stands(run)).values())


async def test_while_kaggle_works_nothing_is_held_and_the_service_says_when_to_look(run: Live) -> None:
    run.node(2, 0.5)
    pack(run, 2)
    service = await run.send_best()
    before = run.clock.now()
    due = service.next_check()
    assert due is not None and timedelta(0) < due - before <= timedelta(minutes=10)
    calls = sum(run.site.site.requests.values())
    await service.send()
    assert sum(run.site.site.requests.values()) == calls, "Kaggle was asked before it was time"
    assert run.clock.now() == before, "the submission service waited"
    await service.give_up("stopped by the owner")
    assert run.states() == [(2, "withdrawn")]


async def test_gpu_time_is_asked_for_before_a_push(notebooks: Ground, tmp_path: Path, worker: Worker) -> None:
    site = ALL_SHOWN.model_copy(update={"gpu_hours": 1.0})
    async with live(notebooks, tmp_path, worker, settings=site, sandbox=ProcessSandbox()) as run:
        run.node(2, 0.5)
        pack(run, 2, accelerator="NvidiaTeslaT4")
        service = run.service()
        await service.consider()
        await looked(run, service, 6)
        assert asked(run, "GetAcceleratorQuotaStatistics") > 0
        assert asked(run, "SaveKernel") == 0
        assert service.next_check() is not None


@pytest.mark.parametrize("method", ["CreateDataset", "SaveKernel", "CreateCodeSubmission"])
async def test_an_answer_that_is_lost_repeats_nothing(notebooks, tmp_path, worker, method) -> None:
    lost = Faults([Fault(kind="cut", method=method, acts=True)])
    async with live(notebooks, tmp_path, worker, settings=ALL_SHOWN, sandbox=ProcessSandbox(), faults=lost) as run:
        run.node(2, 0.5)
        pack(run, 2)
        service = run.service()
        await service.consider()
        await looked(run, service, 30)
        assert run.states() == [(2, "confirmed")]
        assert len(run.site.site.kernels.pushed()) == 1
        assert len(run.site.site.submissions) == 1
        assert asked(run, method) == 1


async def test_weights_that_nothing_needs_are_removed_once_two_others_count(run: Live) -> None:
    service = run.service(SENDING)
    for node, quality in ((2, 0.2), (3, 0.5), (4, 0.9)):
        run.node(node, quality)
        pack(run, node, slope=node / 10)
        await service.consider()
        await looked(run, service)
        run.site.settle()
        await service.scores.settle()
        await service.tidy()
        run.clock.pass_by(days=1)
    assert [status for _, status in run.states()] == ["confirmed"] * 3
    assert sum(one.removed for one in stands(run)) == 1
    before = asked(run, "DeleteDataset")
    await service.tidy()
    assert asked(run, "DeleteDataset") == before == 1

"""Public kernels are run on withheld rows, within their share of the run; what cannot run here is named."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from sqlmodel import select

from bot.agents.builtin import BuiltinModel
from bot.coder.lab.cards import board
from bot.coder.lab.lab_files import write_community
from bot.community.reproduction.repair import RepairKernel
from bot.community.reproduction.reproducing import (
    KernelFigures,
    kernel_figures,
    record_refused,
    reproduce_batch,
    why_no_more,
)
from bot.community.reproduction.settings import ReproductionSettings
from bot.engine.attempts import code, load_tree
from bot.engine.context import RunContext
from bot.engine.tree import BASELINE
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.execution.record import REPRODUCED, kept_execution
from bot.models import CallLimits, Completion, Prompt, Usage
from sandbox import Sandbox
from sandbox.bubblewrap import BubblewrapSandbox
from sandbox.process import ProcessSandbox
from scrapers.snapshots.snapshot import Snapshot
from state.clock import Clock, ReplayClock, StreamClock
from state.knowledge import reproductions
from state.tables import Execution, Reproduction
from tests import needs
from tests.bot.community.reproduction.kernels import KERNELS, LATE, write_kernels
from tests.bot.engine.parts import RUN, opened_on

FIRST = 101
"""Id of the first kernel."""


class Heard(BuiltinModel):
    """The built-in model, which keeps what it is asked."""

    def __init__(self) -> None:
        super().__init__(0)
        self.asked: list[str] = []

    async def complete(self, prompt: Prompt[Any], *, role: str, limits: CallLimits) -> Completion[Any]:
        """Answer as the built-in model does."""
        self.asked.append("\n".join(one.content for one in prompt.messages()))
        return await super().complete(prompt, role=role, limits=limits)


@asynccontextmanager
async def run_on(
    folder: Path,
    *settings: BaseModel,
    clock: Callable[[Snapshot], Clock] | None = None,
    model: BuiltinModel | None = None,
    seconds: float = 2_000.0,
    sandbox: Sandbox | None = None,
) -> AsyncIterator[RunContext]:
    """Give a run on the made-up table with the twenty kernels; one in the folder goes on."""
    if sandbox is None:
        needs.bubblewrap()
        sandbox = BubblewrapSandbox()
    there = folder / "tiny-table"
    snapshot = Snapshot.load(there if there.is_dir() else write_kernels(there), METRIC_DIRECTIONS)
    at = clock(snapshot) if clock else ReplayClock(snapshot.card.deadline)
    async with opened_on(
        snapshot, folder, None, at, model or BuiltinModel(0), settings=settings, seconds=seconds, sandbox=sandbox
    ) as context:
        yield context


def rows(context: RunContext) -> dict[str, Reproduction]:
    return {row.title: row for row in reproductions(context.store, RUN, context.clock.as_of())}


@pytest.mark.integration
async def test_twenty_kernels_as_real_ones_are_run_or_are_named(tmp_path: Path) -> None:
    model = Heard()
    async with run_on(tmp_path, ReproductionSettings(kernels=20, share=0.5), model=model) as context:
        nodes = await reproduce_batch(context, 1)
        found = rows(context)
        for kernel in KERNELS:
            row = found[kernel.name]
            outcome = "repaired" if row.repaired and row.state == "ran" else row.state
            assert outcome == kernel.outcome, (kernel.name, row.reason)
            assert kernel.reason in row.reason
            assert (row.measured is not None and row.measured < 0.5) == (row.state == "ran"), kernel.name
            assert (row.node is None) == (row.state == "recognised")
        assert sorted(nodes) == sorted(row.node for row in found.values() if row.node is not None)
        tree = load_tree(context)
        assert [node.id for node in tree.reproduced] == nodes
        assert [node.id for node in tree.nodes] == [BASELINE], "they are no scripts of ours"
        assert tree.best_candidate() == tree[BASELINE]
        assert not list(context.executor.folder.bank.glob("*")), "nothing of them can be blended"
        assert LATE not in "".join(code(context, node) for node in nodes)
        # What a kernel printed, rows of the test set among it, is in no prompt.
        assert len(model.asked) == 3
        assert not any("r0240" in text for text in model.asked)
        written = write_community(context, tmp_path / "community")
        assert "measured here (published: 0.402)" in "\n".join(written.best_measured)
        script = (tmp_path / written.best_measured[0].split(" ")[0].removeprefix("/lab/")).read_text()
        assert script == code(context, max(tree.reproduced, key=lambda node: (node.fitness, -node.id)).id)
        assert "(published: 0.402)" in "\n".join(board(context, 1, with_kernels=True))
        assert 'does not run here: "it is written in Python 2' in (tmp_path / "community/index.md").read_text()


@pytest.mark.integration
async def test_a_lab_is_offered_no_kernel_that_cannot_run_here(tmp_path: Path) -> None:
    async with run_on(tmp_path) as context:
        for _ in range(2):
            await record_refused(context)
        refused = {kernel.name for kernel in KERNELS if kernel.outcome == "recognised"}
        assert {name: row.state for name, row in rows(context).items()} == dict.fromkeys(refused, "recognised")
        written = write_community(context, tmp_path / "community")
        assert written.kernels and not any(name in line for line in written.kernels for name in refused)
        assert kernel_figures(context) == KernelFigures(len(KERNELS), len(KERNELS) - len(refused), 0)


class Puzzled(BuiltinModel):
    """The built-in model, but it finds nothing to mend in a kernel."""

    async def complete(self, prompt: Prompt[Any], *, role: str, limits: CallLimits) -> Completion[Any]:
        """Return a kernel as it is."""
        if isinstance(prompt, RepairKernel):
            return Completion(prompt.script, prompt.script, Usage(1, 1), "puzzled", 0.0)
        return await super().complete(prompt, role=role, limits=limits)


@pytest.mark.integration
async def test_a_kernel_that_comes_back_as_it_was_is_not_run_again(tmp_path: Path) -> None:
    async with run_on(tmp_path, ReproductionSettings(kernels=4, share=0.5), model=Puzzled(0)) as context:
        await reproduce_batch(context, 1)
        row = rows(context)["cross-validation-module"]
        assert (row.state, row.repaired) == ("failed", False) and "sklearn.cross_validation" in row.reason
        with context.store.read() as session:
            runs = session.exec(select(Execution).where(Execution.node == row.node)).all()
        assert len(runs) == 1


@pytest.mark.integration
async def test_a_batch_that_is_asked_for_again_runs_nothing_twice_and_the_next_one_goes_on(tmp_path: Path) -> None:
    settings = ReproductionSettings(kernels=1, share=0.5)
    async with run_on(tmp_path, settings) as context:
        first = await reproduce_batch(context, 1)
        assert len(first) == 1
        assert await reproduce_batch(context, 1) == []
    async with run_on(tmp_path, settings) as context:
        assert await reproduce_batch(context, 1) == []
        second = await reproduce_batch(context, 2)
        assert len(second) == 1
        assert not set(first) & set(second)
        with context.store.read() as session:
            for node in (*first, *second):
                assert kept_execution(session, RUN, node, REPRODUCED) is not None
                assert kept_execution(session, RUN, node) is None, "it has no hold-out run"


@pytest.mark.integration
async def test_without_time_none_is_chosen(tmp_path: Path) -> None:
    async with run_on(tmp_path, seconds=1.0) as context:
        assert await reproduce_batch(context, 1) == []
        assert rows(context) == {}
        assert context.decisions.count == 0
        assert why_no_more(context) == "0 s remain, but a notebook needs at least 15 s"


@pytest.mark.integration
async def test_a_batch_ends_with_its_share_and_its_nodes_keep_their_numbers(tmp_path, monkeypatch) -> None:
    # After a kernel or two less is left of 6 s than one needs.
    monkeypatch.setattr("bot.community.reproduction.reproducing._MIN_SECONDS", 5.5)
    monkeypatch.setattr("bot.community.reproduction.reproducing._PER_KERNEL", 0.95)
    async with run_on(tmp_path, ReproductionSettings(kernels=5, share=0.05), seconds=120.0) as context:
        made = await reproduce_batch(context, 1)
        assert 1 <= len(made) < 5
        numbered = [number for number, action in context.decisions if action.kind == "reproduce"]
        assert numbered == [2, 3, 4, 5, 6]
        assert made == numbered[: len(made)]
        assert await context.decisions.reproduce(["kernel/101"]) == {"kernel/101": 2}


@pytest.mark.integration
async def test_nothing_is_run_where_it_is_turned_off(tmp_path: Path) -> None:
    async with run_on(tmp_path, ReproductionSettings(kernels=0)) as context:
        assert why_no_more(context) is None
        assert await reproduce_batch(context, 1) == []
        assert context.decisions.count == 0
        assert why_no_more(context) == "as configured"


async def test_strangers_code_is_not_run_where_nothing_contains_it(tmp_path: Path) -> None:
    async with run_on(tmp_path, sandbox=ProcessSandbox()) as context:
        assert await reproduce_batch(context, 1) == []
        assert rows(context) == {}
        assert "third-party code" in (why_no_more(context) or "")


@pytest.mark.integration
async def test_nothing_is_known_before_its_kernel_was_published(tmp_path: Path) -> None:
    async with run_on(tmp_path, clock=lambda one: StreamClock(one.card.enabled_at, one.card.deadline)) as context:
        assert await reproduce_batch(context, 1) == []
        assert rows(context) == {}

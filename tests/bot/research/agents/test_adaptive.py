"""Self-adaptive coding: simple plans at once, complex ones in substeps that are checked, run, rewritten and joined."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import select

from bot.agents.tree.settings import AdaptiveSettings
from bot.engine.attempts import attempt
from bot.engine.context import RunContext
from bot.engine.strategy import Action
from bot.evaluation.client.worker import Worker
from bot.research.agents.automind import automind
from bot.research.agents.automind_prompts import FailedSubstep, WriteSubstep
from state.tables import Execution
from tests.bot.research.agents.parts import HALVES, Told, a_run, as_json, fenced, play, row

pytestmark = pytest.mark.asyncio(loop_scope="module")

SUBSTEPS = ("Read the data into `rows`.", "Predict, and write both files.")


def told(**answers: Any) -> Told:
    """A planner of complex plans."""
    usual = {
        "plan_solution": lambda prompt: f"Halves.\nPlan it {prompt.action} by {prompt.action}.",
        "score_plan": as_json(complexity=4),
        "split_plan": as_json(substeps=SUBSTEPS),
        "write_substep": lambda prompt: fenced(
            "rows = 3" if prompt.number == 1 else f"assert rows == 3\n{HALVES.strip()}"
        ),
        "write_script": lambda prompt: fenced(HALVES),
    }
    return Told(usual | answers)


def executions(context: RunContext) -> list[str]:
    with context.store.read() as session:
        return [one.id for one in session.exec(select(Execution).order_by(Execution.started_at))]  # type: ignore[arg-type]


@pytest.mark.integration
async def test_a_simple_plan_is_written_at_once_and_equal_plans_are_judged_once(worker: Worker, tmp_path: Path):
    model = told(score_plan=as_json(complexity=3))
    async with a_run(worker, tmp_path, model) as context:
        strategy = automind(context)
        for node in (2, 3):
            assert (await play(context, strategy, Action("draft"), node)).status == "valid"
    assert model.names().count("score_plan") == 1
    assert "write_substep" not in model.names()
    assert [prompt.draft.splitlines()[-1] for prompt in model.of("write_script")] == ["Plan it draft by draft."] * 2


@pytest.mark.integration
async def test_a_complex_plan_is_written_in_substeps_and_only_the_clean_full_run_is_scored(worker, tmp_path) -> None:
    model = told()
    async with a_run(worker, tmp_path, model) as context:
        node = await play(context, automind(context), Action("draft"), 2)
        assert (node.status, node.plan) == ("valid", "Halves.\nPlan it draft by draft.")
        assert executions(context) == ["n2-sample-0", "n2-sample-1", "n2-holdout-0"]
        assert attempt(context, 2).code == f"rows = 3\n\n\nassert rows == 3\n{HALVES.strip()}\n"
    assert "write_script" not in model.names()
    assert {role for name, role, _ in model.asked if name == "write_substep"} == {"coder"}
    assert {role for name, role, _ in model.asked if name == "score_plan"} == {"analyzer"}


@pytest.mark.integration
async def test_a_substep_that_is_no_python_or_fails_is_rewritten_with_the_message(worker: Worker, tmp_path: Path):
    tries = iter(["rows = (", "print('look here')\nraise KeyError('rows')", "rows = 3"])

    def write(prompt: WriteSubstep) -> str:
        return fenced(next(tries) if prompt.number == 1 else HALVES)

    model = told(write_substep=write)
    async with a_run(worker, tmp_path, model) as context:
        assert (await play(context, automind(context), Action("draft"), 2)).status == "valid"
        assert executions(context)[-1] == "n2-holdout-0"
    _, second, third, last = (prompt.failed for prompt in model.of("write_substep"))
    assert isinstance(second, FailedSubstep) and "not valid Python" in second.error and second.code == "rows = (\n"
    assert isinstance(third, FailedSubstep) and "KeyError: 'rows'" in third.error and "look here" in third.output
    assert last is None, "the next substep has not failed"
    assert "KeyError: 'rows'" in model.text("write_substep", 2)


async def test_a_substep_beyond_its_rewrites_makes_the_node_buggy_and_names_itself(worker: Worker, tmp_path: Path):
    model = told(write_substep=lambda prompt: fenced("rows = 3" if prompt.number == 1 else "print('no files')"))
    async with a_run(worker, tmp_path, model, AdaptiveSettings(rewrites=1)) as context:
        node = await play(context, automind(context), Action("draft"), 2)
        assert node.status == "buggy"
        assert (node.error or "").startswith("substep 2: in the debug run on a sample")
        assert executions(context) == ["n2-sample-0", "n2-sample-1", "n2-sample-2"], "there is no scored run"
        failed = attempt(context, 2)
        assert (failed.code, failed.score) == ("rows = 3\n\n\nprint('no files')\n", None)
        assert "no files" in failed.output, "whoever repairs it sees the last run"
        # Its repair sees it.
        await play(context, automind(context), Action("debug", (2,)), 3)
    assert "print('no files')" in model.text("plan_solution")
    assert "substep 2" in model.text("plan_solution")


async def test_with_the_highest_threshold_nothing_is_judged_and_all_is_written_at_once(worker: Worker, tmp_path: Path):
    model = told()
    async with a_run(worker, tmp_path, model, AdaptiveSettings(threshold=5)) as context:
        assert (await play(context, automind(context), Action("draft"), 2)).status == "valid"
    assert model.names() == ["plan_solution", "write_script"]


@pytest.mark.integration
async def test_a_killed_run_goes_on_within_a_script_and_pays_and_runs_nothing_twice(worker: Worker, tmp_path: Path):
    def killed(prompt: WriteSubstep) -> str:
        if prompt.number == 2:
            raise asyncio.CancelledError
        return fenced("rows = 3")

    first, second = told(write_substep=killed), told()
    async with a_run(worker, tmp_path, first) as context:
        with pytest.raises(asyncio.CancelledError):
            await play(context, automind(context), Action("draft"), 2)
        assert row(context.store, 2).status == "running"
    async with a_run(worker, tmp_path, second) as context:
        assert (await play(context, automind(context), Action("draft"), 2)).status == "valid"
        assert executions(context) == ["n2-sample-0", "n2-sample-1", "n2-holdout-0"]
    assert second.names() == ["write_substep"]

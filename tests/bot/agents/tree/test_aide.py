"""AIDE as its paper has it: what each kind of script is asked for, and what it is shown of the earlier ones."""

from pathlib import Path
from typing import Any

import pytest

from bot.agents.tree.aide import aide
from bot.engine.strategy import Action
from bot.evaluation.client.worker import Worker
from tests.bot.research.agents.conftest import worker as worker
from tests.bot.research.agents.parts import HALVES, Told, a_run, as_json, fenced, play

pytestmark = pytest.mark.asyncio(loop_scope="module")

FAILS = "print('halfway')\nraise ValueError('no such column')"
DRAFT = Action("draft")


def told(*codes: str) -> Told:
    """A model that writes these scripts, one after the other."""
    left = list(codes)

    def write(prompt: Any) -> str:
        return f"Design of script {len(codes) - len(left) + 1}.\n\n" + fenced(left.pop(0))

    return Told({"write_tree_script": write, "review_run": as_json(summary="It measured 0.7.")})


@pytest.mark.integration
async def test_each_script_sees_what_the_paper_shows_it(worker: Worker, tmp_path: Path):
    model = told(HALVES, HALVES + "#2", FAILS, HALVES + "#4")
    async with a_run(worker, tmp_path, model) as context:
        strategy = aide(context)
        for node, action in enumerate((DRAFT, Action("improve", (2,)), DRAFT, Action("debug", (4,))), 2):
            await play(context, strategy, action, node)
    first, improvement, second, repair = (model.text("write_tree_script", number) for number in range(4))
    assert "Memory" not in first, "the engine's baseline, node 1, is none of AIDE's solutions"
    for text in (first, second):
        assert "one model, no ensemble, no search of hyper-parameters" in text and "# The data" in text
    assert "a single change" in improvement and '"submission.csv", "sample_submission.csv"' in improvement
    assert "It printed" not in improvement, "what it showed is in the memory"
    memory = second.split("# Memory")[1]
    assert memory.index("Node 2. Design: Design of script 1.") < memory.index("Node 3. Design: Design of script 2.")
    assert memory.count("Findings: It measured 0.7.") == 2 and memory.count("Score: ") == 2
    assert "ValueError: no such column" in repair and "halfway" in repair and "Memory" not in repair
    assert all("cheap experiments" not in text and "blend" not in text for text in (first, improvement, second, repair))


async def test_a_script_that_failed_is_no_part_of_the_memory(worker: Worker, tmp_path: Path):
    model = told(FAILS, HALVES)
    async with a_run(worker, tmp_path, model) as context:
        strategy = aide(context)
        assert (await play(context, strategy, DRAFT, 2)).status == "buggy"
        await play(context, strategy, DRAFT, 3)
    assert "Memory" not in model.text("write_tree_script") and "review_run" not in model.names()

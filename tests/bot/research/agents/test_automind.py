"""AutoMind: plans first, from papers or tricks where the policy says so; its roles are models of their own."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bot.agents.tree.settings import AdaptiveSettings
from bot.engine.attempts import load_tree
from bot.engine.context import RunContext
from bot.engine.strategy import Action
from bot.evaluation.client.worker import Worker
from bot.knowledge.base import KnowledgeBase
from bot.knowledge.entry import Entry, EntrySource, PaperFields
from bot.knowledge.retrieval import Retriever, TaskQuery
from bot.knowledge.similarity import WordSimilarity
from bot.research.agents.automind import AutoMindBriefing, automind
from state.errors import ModelRefused
from tests.bot.engine.parts import RUN
from tests.bot.research.agents.parts import HALVES, Told, a_run, fenced, play

pytestmark = pytest.mark.asyncio(loop_scope="module")

AT_ONCE = AdaptiveSettings(threshold=5)


TRICK = Entry(
    id="scale-first",
    kind="trick",
    title="Scale first",
    labels=("tabular/classification",),
    known_at=datetime(2019, 1, 1, tzinfo=UTC),
    sources=(EntrySource(title="A source", path="runs/one", licence="CC0-1.0"),),
    support="reported",
    evidence="One source.",
    claim="Scale the columns before a linear model is fitted.",
)
FIELDS = PaperFields(
    data_type="tables", data_domain="many", task="classes", technique="boosting", contribution="a gain"
)
PAPER = Entry(
    **TRICK.model_dump() | {"id": "boosting-wins", "kind": "paper", "title": "Boosting wins", "paper": FIELDS}
)


def told() -> Told:
    plans: dict[str, Callable[[Any], str]] = {
        "plan_solution": lambda prompt: f"A plan for {prompt.action}.",
        "write_script": lambda prompt: fenced("raise ValueError" if "for debug" in prompt.draft else HALVES),
    }
    return Told(plans)


def with_knowledge(context: RunContext, *entries: Entry) -> RunContext:
    task, base = TaskQuery("tiny-table", "Tiny", "Tell labels apart.", "log_loss"), KnowledgeBase(entries)
    services = (context.asker, context.steps, RUN, context.clock, context.say)
    return replace(context, knowledge=Retriever(task, base, WordSimilarity(), *services))


async def test_a_draft_sees_papers_and_an_improvement_tricks_where_the_policy_says_so_and_a_repair_neither(
    worker: Worker, tmp_path: Path
):
    model = told()
    async with a_run(worker, tmp_path, model) as opened:
        context = with_knowledge(opened, PAPER, TRICK)
        briefing, tree = AutoMindBriefing(context), load_tree(context)
        shown = []
        for node, action in enumerate(
            (
                Action("draft", knowledge=True),
                Action("draft"),
                Action("improve", (1,), knowledge=True),
                Action("improve", (1,)),
                Action("debug", (1,)),
            ),
            2,
        ):
            assignment = await briefing.assign(action, node, tree)
            prompt = model.of("plan_solution")[-1]
            assert assignment.known_items == prompt.known_items and set(prompt.known_items) <= set(prompt.items())
            shown.append([item.id for item in prompt.known_items])
            assert all(item.id in model.text("plan_solution") for item in prompt.known_items)
    assert shown == [[PAPER.item], [], [TRICK.item], [], []]


@pytest.mark.integration
async def test_the_roles_plan_improve_verify_and_write(worker: Worker, tmp_path: Path):
    model = told()
    async with a_run(worker, tmp_path, model, AT_ONCE) as context:
        strategy = automind(context)
        assert (await play(context, strategy, Action("draft"), 2)).status == "valid"
        assert (await play(context, strategy, Action("improve", (2,)), 3)).status == "valid"
        assert (await play(context, strategy, Action("debug", (3,)), 4)).status == "buggy"
    assert [(name, role) for name, role, _ in model.asked] == [
        ("plan_solution", "planner"),
        ("write_script", "coder"),
        ("review_run", "verifier"),
        ("plan_solution", "improver"),
        ("write_script", "coder"),
        ("plan_solution", "planner"),
        ("write_script", "coder"),
    ]
    texts = [model.text("write_script", number) for number in range(3)]
    assert all("carries out the plan" in text and "Results of this run" not in text for text in texts)


@pytest.mark.integration
async def test_without_a_plan_the_coder_makes_its_own(worker: Worker, tmp_path: Path):
    def refuses(prompt: Any) -> str:
        raise ModelRefused("not this")

    model = told()
    model.answers = {**model.answers, "plan_solution": refuses}
    async with a_run(worker, tmp_path, model) as context:
        node = await play(context, automind(context), Action("draft"), 2)
    assert (node.status, node.plan) == ("valid", "Here.")
    assert model.names() == ["plan_solution", "write_script"]


@pytest.mark.integration
async def test_a_draft_sees_earlier_plans_an_improvement_what_was_built_on_its_parent_and_a_repair_its_parent_alone(
    worker: Worker, tmp_path: Path
):
    model = told()
    async with a_run(worker, tmp_path, model, AT_ONCE) as context:
        strategy = automind(context)
        for node, action in enumerate(
            (Action("draft"), Action("improve", (2,)), Action("improve", (2,)), Action("debug", (4,)), Action("draft")),
            2,
        ):
            await play(context, strategy, action, node)
    first, _, again, repair, last = model.of("plan_solution")
    assert first.earlier == "" and first.results == ()
    assert [one.node for one in again.results] == [3] and again.earlier == ""
    assert repair.results == () and repair.earlier == "" and repair.parent.node == 4
    assert last.parent is None
    assert [f"Node {node}." in last.earlier for node in range(1, 6)] == [False, True, True, True, False]

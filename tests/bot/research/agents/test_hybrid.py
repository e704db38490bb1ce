"""The hybrid in labs: short ones that differ until half of the money is spent, then a long one on from the best."""

import asyncio
import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import select

from bot.agents.builtin import BuiltinModel
from bot.budgets.levels import Level
from bot.budgets.settings import Caps
from bot.coder.coder_config import ChosenCoder
from bot.community.drafts.prompts import PlanDrafts
from bot.engine.attempts import load_tree
from bot.engine.search import SolutionSearch
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.knowledge.base import KnowledgeBase
from bot.knowledge.retrieval import Retriever, TaskQuery
from bot.knowledge.similarity import WordSimilarity
from bot.models import CallLimits, Completion, Prompt, Usage
from bot.research.agents.hybrid import hybrid
from sandbox.bubblewrap import BubblewrapSandbox
from scrapers.snapshots.snapshot import Snapshot
from state.clock import ReplayClock
from state.errors import BudgetExceeded
from state.tables import Draft, Event
from tests import needs
from tests.bot.coder.lab.scripted import logged, sh
from tests.bot.engine.parts import RUN, opened_on
from tests.bot.knowledge.parts import entry
from tests.tiny_snapshot import write_tiny

pytestmark = pytest.mark.integration


class Coders:
    """Rules plan; each coder logs one experiment, worse from lab to lab; the second one's reply costs most of the money."""

    def __init__(self, money: Level) -> None:
        self.money = money
        self.heads: list[str] = []
        self.plans: list[PlanDrafts] = []

    async def complete(self, prompt: Prompt[Any], *, role: str, limits: CallLimits) -> Completion[Any]:
        """Answer, until a third plan would be made."""
        if isinstance(prompt, PlanDrafts) and "on the task alone" not in prompt.start:
            if len(self.plans) == 2:
                raise BudgetExceeded("no more plans")
            self.plans.append(prompt)
        if prompt.name != "lab_turn":
            return await BuiltinModel(0).complete(prompt, role=role, limits=limits)
        said = [message.content for message in prompt.messages()]
        if said[1] not in self.heads:
            self.heads.append(said[1])
        number, turn = len(self.heads), len(said) // 2
        if number == 2 and turn == 1:
            self.money.spend(tokens=600)
        text = sh(logged(f"m{number}", 1.0 / number)) if turn == 1 else sh("lab done")
        return Completion(prompt.parse(text), text, Usage(100, 10), "scripted", 0.0)


async def test_a_run_in_labs_is_wide_with_papers_then_deep_with_tricks_from_its_best_script(tmp_path: Path) -> None:
    needs.bubblewrap()
    tmp_path.chmod(0o755)
    snapshot = Snapshot.load(write_tiny(tmp_path / "tiny"), METRIC_DIRECTIONS)
    clock, box, coder = ReplayClock(snapshot.card.deadline), BubblewrapSandbox(), (ChosenCoder(labs=True),)
    old = snapshot.card.deadline - timedelta(days=1)
    base = KnowledgeBase((entry("a-paper", kind="paper", known_at=old), entry("a-trick", known_at=old)))
    money = Level("run", Caps(tokens=1000))
    model = Coders(money)
    async with (
        asyncio.timeout(300),
        opened_on(
            snapshot, tmp_path, None, clock, model, settings=coder, sandbox=box, seconds=7200.0, labs=True
        ) as opened,
    ):
        store, asker, steps = opened.store, opened.asker, opened.steps
        task = TaskQuery(snapshot.card.slug, "Tiny", "A table.", "log loss")
        found = Retriever(task, base, WordSimilarity(), asker, steps, RUN, clock, opened.say)
        context = replace(opened, spending=money, knowledge=found)
        await SolutionSearch(context, hybrid(context)).run()
        tree = load_tree(context)
        with store.read() as session:
            drafts = {row.id: row for row in session.exec(select(Draft).where(Draft.run_id == RUN)).all()}
            events = session.exec(select(Event).where(Event.run_id == RUN, Event.type == "phase.began")).all()
    best = tree[2].id
    first, second, third = model.heads
    for head in (first, second):
        assert "The run starts wide" in head
        assert "600 s from now" in head
    assert "The run now goes deep" in third
    (seconds,) = re.findall(r"(\d+) s from now", third)
    assert 6900 < int(seconds) < 7200, "a run of two hours is not divided: the long lab has all that is left"
    assert "`/lab/work/` holds what the earlier lab left: " in third and '"predict.py"' in third
    papers, tricks = model.plans
    assert [one.item.id for one in papers.open_drafts] == ["draft/1"], "it is to differ from the closed one, too"
    assert [one.id for one in papers.entries] == ["knowledge/a-paper"]
    assert papers.room.seconds == pytest.approx(600)
    assert [one.id for one in tricks.entries] == ["knowledge/a-trick"]
    assert tricks.parents == (best,)
    assert drafts["2"].share == pytest.approx(600 / 7200)
    assert drafts["3"].codebase_node == best
    assert [event.data["phase"] for event in events] == ["wide", "deep"]
    assert events[1].data["draft"] == 3
    assert "40% of the money or token budget" in events[1].data["sentence"]

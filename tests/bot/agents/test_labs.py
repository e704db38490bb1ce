"""CoMind's labs together: side by side without waiting for one another, each child with what its parent left."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import col, select

from bot.agents.builtin import BuiltinModel
from bot.agents.comind.briefing import comind
from bot.coder.coder_config import ChosenCoder
from bot.community.drafts.prompts import PlanDrafts
from bot.community.ideas.evidence import WHOLE_DRAFT
from bot.engine.attempts import load_tree
from bot.engine.search import SolutionSearch
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.models import CallLimits, Completion, Prompt, Usage
from sandbox.bubblewrap import BubblewrapSandbox
from scrapers.snapshots.snapshot import Snapshot
from state.clock import ReplayClock
from state.labs import labs
from state.tables import Draft, Event, Report
from tests import needs
from tests.bot.coder.lab.scripted import logged, sh
from tests.bot.engine.parts import RUN, opened_on
from tests.tiny_snapshot import write_tiny

pytestmark = pytest.mark.integration


class Coders:
    """A model for several labs: the second plan waits for a third one to be asked for, the third lab for the fourth to open.

    Whoever waited for a barrier, or held a lease or a lock meanwhile, would wait for ever.
    """

    def __init__(self) -> None:
        self.heads: list[str] = []
        """The text that each lab opened with, in the order in which they did."""
        self.plans: list[PlanDrafts] = []
        self.two_plans, self.all_open = asyncio.Event(), asyncio.Event()
        self.seen: dict[str, list[str]] = {}

    async def complete(self, prompt: Prompt[Any], *, role: str, limits: CallLimits) -> Completion[Any]:
        """Have rules plan, and each coder keep a note, log one experiment and end its lab."""
        if prompt.name != "lab_turn":
            if isinstance(prompt, PlanDrafts) and "on the task alone" not in prompt.start:
                self.plans.append(prompt)
                if len(self.plans) == 2:
                    self.two_plans.set()
                await self.two_plans.wait()
            return await BuiltinModel(0).complete(prompt, role=role, limits=limits)
        said = [message.content for message in prompt.messages()]
        head, turn = said[1], len(said) // 2
        if head not in self.heads:
            self.heads.append(head)
            if len(self.heads) == 4:
                self.all_open.set()
        number = self.heads.index(head) + 1
        self.seen[head] = said[3::2]
        if number == 2:
            await self.all_open.wait()
        replies = [
            sh(f"ls; echo 'lab {number}' >> notes.md; ln -s data/train.csv link.csv; lab board; lab ideas"),
            sh(logged(f"m{number}", 0.01 * number, f"--files predict.py --note 'lab {number}'")),
        ]
        report = "method: b matters\ncomponents: it is the signal\nlimitations: few rows"
        text = replies[turn - 1] if turn <= 2 else sh(f"echo '{report}' | lab done")
        return Completion(prompt.parse(text), text, Usage(100, 10), "scripted", 0.0)


async def test_two_labs_plan_log_and_close_without_waiting_for_each_other(tmp_path: Path) -> None:
    needs.bubblewrap()
    tmp_path.chmod(0o755)
    model = Coders()
    snapshot = Snapshot.load(write_tiny(tmp_path / "tiny"), METRIC_DIRECTIONS)
    clock, box, coder = ReplayClock(snapshot.card.deadline), BubblewrapSandbox(), (ChosenCoder(labs=True),)
    async with (
        asyncio.timeout(300),
        opened_on(
            snapshot, tmp_path, 5, clock, model, settings=coder, sandbox=box, seconds=7200.0, labs=True
        ) as context,
    ):
        await SolutionSearch(context, comind(context), slots=2).run()
        tree, rows = load_tree(context), labs(context.store, RUN)
        with context.store.read() as session:
            reports = session.exec(select(Report).where(Report.run_id == RUN).order_by(col(Report.id))).all()
            drafts = {row.id: row for row in session.exec(select(Draft).where(Draft.run_id == RUN)).all()}
            events = session.exec(select(Event).where(Event.run_id == RUN)).all()
            order = [(event.type, event.data["lab"]) for event in events if event.type in ("lab.opened", "lab.closed")]
    assert [node.state for node in tree.nodes] == ["valid"] * 5
    assert [row.reason for row in rows] == ["its coder finished"] * 4
    [waited] = [row.id for row in rows if f"# Your assignment: {row.title}\n" in model.heads[1]]
    assert order.index(("lab.closed", 2)) < order.index(("lab.opened", 3)), (
        "its plan was waited for, and held up nobody"
    )
    assert order.index(("lab.opened", 5)) < order.index(("lab.closed", waited))
    # Its plan was made from what the closed labs found, beside those that are open, and within its room.
    parent = next(iter(rows[3].parents))
    last = model.plans[-1]
    assert 'lab 2 method: "b matters", components: "it is the signal", limitations: "few rows"' in last.insights[0]
    assert len(last.open_drafts) == 1
    assert last.room.lab
    assert drafts["4"].codebase_node == parent
    assert drafts["4"].share == pytest.approx(last.room.usual_share * last.room.of_run)
    # What came of the labs, by code.
    assert [report.draft_id for report in reports] == [None, "1", "2", "3", "4"]
    fourth = reports[-1]
    assert f"node/{parent}" in fourth.lineage
    assert fourth.artifacts[:1] == ["notes.md"]
    assert fourth.components[0]["name"] == WHOLE_DRAFT
    assert fourth.components[0]["gain_error"] is not None
    assert fourth.numbers.startswith(f"node {rows[3].id} (draft): ")
    # The fourth starts from an experiment, with what its lab left.
    assert parent == tree[rows[3].id].parents[0]
    head = model.heads[-1]
    first, name = model.seen[head][0], {one.node: one.name for one in context.experiments.all()}[parent]
    assert "`/lab/work/` holds what the earlier lab left: " in head and '"notes.md"' in head
    assert {"notes.md", "predict.py", "oof.npy"} <= set(first.split())
    assert "link.csv" not in first
    assert f"{name} · " in first
    assert re.search(r"- idea \d+ \(support \d\.\d of 10, (not judged|claimed|draft measured)", first)

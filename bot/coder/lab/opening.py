"""A lab's opening: the files that its coder finds, and the head of its conversation."""

import asyncio
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.coder.lab.assignment import LabAssignment
from bot.coder.lab.cards import board, kin, lab_cards, lab_notes
from bot.coder.lab.failures import failures
from bot.coder.lab.looks import NoLook, look_seconds
from bot.coder.lab.news import LabNews
from bot.coder.lab.places import Community, copy_work, write_bank, write_community, write_knowledge
from bot.coder.lab.prompts import LabTask
from bot.coder.lab.settings import LabSettings
from bot.engine.attempts import code, infer_code, load_tree
from bot.engine.context import RunContext
from bot.engine.scripts import best_seconds
from bot.knowledge.retrieval import Found
from state.errors import BudgetExceeded
from state.labs import lab

SOLUTION, INFER = "solution.py", "infer.py"
SCRIPTS = (SOLUTION, INFER)
_COMMAND_SHARE = 0.25
"""Of a lab's time, that one command may take; what runs in the background may take longer."""
_SHORTEST_COMMAND = 60.0


def command_seconds(total: float) -> float:
    """Return the most seconds that a command may take in a lab of so many."""
    return max(_SHORTEST_COMMAND, _COMMAND_SHARE * total)


@dataclass(frozen=True)
class Opening:
    """The opening of one lab."""

    context: RunContext
    settings: LabSettings
    assignment: LabAssignment
    number: int
    folder: Path
    """The lab's, which is written anew."""
    owned: bool
    """Whether an agent of the owner's works in it."""

    async def write(self) -> dict[str, Any]:
        """Write the lab's files, and return the head of its conversation; once, so that it never changes."""
        context, folder = self.context, self.folder
        await asyncio.to_thread(shutil.rmtree, folder, True)
        for name in ("work", "logs", "socket", "bank", "community"):
            (folder / name).mkdir(parents=True)
        folder.parent.chmod(0o700)
        alone = self.assignment.alone
        community = Community() if alone else await asyncio.to_thread(write_community, context, folder / "community")
        inherited: list[str] = []
        if not alone:
            await asyncio.to_thread(write_bank, context, folder / "bank", kin(context, self.number))
        if self.assignment.codebase is not None:
            (folder / "work" / SOLUTION).write_text(code(context, self.assignment.codebase), encoding="utf-8")
            if (infer := infer_code(context, self.assignment.codebase)) is not None:
                (folder / "work" / INFER).write_text(infer, encoding="utf-8")
            inherited = await asyncio.to_thread(self._inherit, self.assignment.codebase)
        knowledge = Found() if alone else await self._knowledge()
        folds = None if alone else await context.executor.folds()
        if folds is not None:
            await asyncio.to_thread(shutil.copyfile, folds, folder / "folds.csv")
        # Labs may use all of the run's time but what handing in needs.
        room = context.budget.usable(best_seconds(context, load_tree(context)))
        own = self.settings.seconds(context.budget.seconds, room, self.assignment.seconds)
        seconds = room if alone else min(own, self.assignment.most)
        try:
            limit = look_seconds(context, seconds)
        except NoLook as error:
            raise BudgetExceeded(str(error)) from None
        prompt = LabTask(
            task=context.task,
            preview=context.preview,
            machine=context.machine,
            title=self.assignment.title,
            draft=self.assignment.draft,
            codebase=None
            if self.assignment.codebase is None
            else f"/lab/bank/node{self.assignment.codebase}/{SOLUTION}",
            inherited=tuple(inherited),
            board=() if alone else tuple(board(context, self.number)),
            cards=() if alone else lab_cards(context, self.number),
            failures=() if alone else failures(context),
            notes=() if alone else lab_notes(context, self.number),
            kernels=community.kernels,
            measured=community.measured,
            public=any(node.id == self.assignment.codebase for node in load_tree(context).reproduced),
            topics=community.topics,
            posts=len(community.items),
            knowledge=len(knowledge.entries),
            folds=folds is not None,
            seconds=seconds,
            turns=self.settings.turns,
            looks=self.settings.looks,
            again=context.budget.again,
            again_most=context.budget.again_most,
            race=context.budget.race_most,
            score_seconds=limit,
            command_seconds=command_seconds(seconds),
            ideas=not alone,
            blends=context.blender is not None,
            lab=not alone,
            own=self.owned,
        )
        head = prompt.messages()
        # The shell coder is sent the rest as its system message; for an agent of the owner's its session writes all of it.
        (folder / "TASK.md").write_text(head[-1].content, encoding="utf-8")
        known = {
            item.id: item.time for item in (*prompt.items(), *self.assignment.known, *community.items, *knowledge.items)
        }
        return {
            "head": [{"role": m.role, "content": m.content} for m in head],
            "known": [[id, at.isoformat()] for id, at in known.items()],
            "ends_at": context.budget.elapsed.wall() + seconds,
            "seconds": seconds,
            "news": LabNews(context, folder / "community").begin(),
        }

    async def _knowledge(self) -> Found:
        """Write what the knowledge base has for this task and draft, and return it."""
        if self.context.knowledge is None:
            return Found()
        found = await self.context.knowledge.for_lab(self.number, f"{self.assignment.title}\n{self.assignment.draft}")
        await asyncio.to_thread(write_knowledge, found, self.folder / "knowledge")
        return found

    def _inherit(self, node: int) -> list[str]:
        """Copy what the lab of a node left, and return those files; none where that lab is still open."""
        context = self.context
        number = context.decisions.lab_of(node)
        before = None if number is None else lab(context.store, context.run_id, number)
        if before is None or before.ended_at is None:
            return []
        return copy_work(self.folder.parent / f"lab{before.id}" / "work", self.folder / "work")

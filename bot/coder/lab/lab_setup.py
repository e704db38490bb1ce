"""A lab's opening: the files that its coder finds, and the head of its conversation."""

import asyncio
import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from bot.coder.lab.assignment import LabAssignment
from bot.coder.lab.cards import board, lab_cards, lab_notes
from bot.coder.lab.failures import failures
from bot.coder.lab.lab_files import LabCommunityFiles, copy_work, write_community, write_knowledge
from bot.coder.lab.marking import draw_mark
from bot.coder.lab.news import LabNews
from bot.coder.lab.prompts import FoldFacts, LabTask
from bot.coder.lab.settings import LabSettings
from bot.coder.lab.steps import OpenedLab
from bot.engine.attempts import code, infer_code, load_tree
from bot.engine.context import RunContext
from bot.evaluation.metrics.registry import METRICS, prediction_kind
from bot.knowledge.retrieval import RetrievedEntries
from bot.models import Item
from bot.models.quoting import line
from scrapers.snapshots.card import TaskCard
from state.labs import lab

SOLUTION, INFER = "solution.py", "infer.py"
_FOLDS = ("folds.csv", "folds.json", "classes.json")
_COMMAND_SHARE = 0.25
"""Of a lab's time, that one command may take; what runs in the background may take longer."""
_SHORTEST_COMMAND = 60.0


def fold_facts(data: Path) -> FoldFacts:
    """Return what folds.json says."""
    return FoldFacts(**json.loads((data / "folds.json").read_text(encoding="utf-8")))


def array_shape(card: TaskCard, data: Path) -> str:
    """Return the shape of an experiment's arrays, in a phrase.

    Args:
        card: the task.
        data: the folder with folds.csv, and classes.json where there are classes.
    """
    metric, columns = METRICS.get(card.metric.name), card.prediction_columns
    kind, classes = prediction_kind(card), data / "classes.json"
    if metric is not None and "ordinal" in metric.spaces and kind == "label":
        return "`(rows,)`, a number; the engine fits the cut points between the labels"
    if kind == "label" and len(columns) == 1 and classes.is_file():
        class_count = len(json.loads(classes.read_text(encoding="utf-8")))
        in_order = f"`(rows, {class_count})`, probabilities in the order of `/lab/classes.json`"
        return f"{in_order}; class indices `(rows,)` are accepted, but combine less well"
    if kind != "number":
        return "CSV files in the submission format, with one row for each row to predict"
    if len(columns) == 1:
        return f"`(rows,)`, for the column `{line(columns[0], 80)}`"
    column_names = line(", ".join(columns[:12]), 300) + (", …" if len(columns) > 12 else "")
    return f"`(rows, {len(columns)})`, for the columns {column_names}"


def command_seconds(total: float) -> float:
    """Return the maximum seconds of a command in a lab of so many seconds."""
    return max(_SHORTEST_COMMAND, _COMMAND_SHARE * total)


@dataclass(frozen=True)
class LabSetup:
    """The opening of one lab."""

    context: RunContext
    settings: LabSettings
    assignment: LabAssignment
    number: int
    folder: Path
    """The lab's, which is written anew."""
    owned: bool
    """Whether an agent of the owner's works in it."""

    async def write(self) -> OpenedLab:
        """Write the lab's files, and return the head of its conversation; once, so that it never changes."""
        context, folder = self.context, self.folder
        await asyncio.to_thread(shutil.rmtree, folder, True)
        for name in ("work", "logs", "socket", "community"):
            (folder / name).mkdir(parents=True)
        folder.parent.chmod(0o700)
        is_alone = self.assignment.alone
        community = (
            LabCommunityFiles() if is_alone else await asyncio.to_thread(write_community, context, folder / "community")
        )
        inherited: list[str] = []
        if self.assignment.codebase is not None:
            inherited = await asyncio.to_thread(self._inherit, self.assignment.codebase)
            # An experiment's files lie in experiments/; a script, or a public notebook that ran here, is its whole text.
            if not self._is_experiment(self.assignment.codebase):
                (folder / "work" / SOLUTION).write_text(code(context, self.assignment.codebase), encoding="utf-8")
            if (infer := infer_code(context, self.assignment.codebase)) is not None:
                (folder / "work" / INFER).write_text(infer, encoding="utf-8")
        knowledge = RetrievedEntries() if is_alone else await self._knowledge()
        folds = None if is_alone else await context.executor.fold_view()
        if folds is not None:
            for name in _FOLDS:
                if (folds.data / name).is_file():
                    await asyncio.to_thread(shutil.copyfile, folds.data / name, folder / name)
        # Labs may use all of the run's time but what the final selection needs.
        room = context.budget.usable(None)
        own_seconds = self.settings.seconds(context.budget.seconds, room, self.assignment.seconds)
        seconds = room if is_alone else min(own_seconds, self.assignment.max_seconds)
        prompt = LabTask(
            task=context.task,
            preview=context.preview,
            machine=context.machine,
            title=self.assignment.title,
            draft=self.assignment.draft,
            codebase=self.assignment.codebase is not None and (folder / "work" / SOLUTION).is_file(),
            inherited=tuple(inherited),
            board=() if is_alone else tuple(board(context)),
            cards=() if is_alone else lab_cards(context, self.number),
            failures=() if is_alone else failures(context),
            notes=() if is_alone else lab_notes(context, self.number),
            kernels=community.kernels,
            best_measured=community.best_measured,
            public=any(node.id == self.assignment.codebase for node in load_tree(context).reproduced),
            topics=community.topics,
            posts=len(community.items),
            knowledge=len(knowledge.entries),
            folds=None if folds is None else fold_facts(folds.data),
            arrays=None if folds is None or context.experiments is None else array_shape(context.card, folds.data),
            scripts=context.needs_scripts and not is_alone,
            fits=context.fits is not None and folds is not None and not is_alone,
            seconds=seconds,
            turns=self.settings.turns,
            command_seconds=command_seconds(seconds),
            ideas=not is_alone,
            blends=context.blender is not None,
            lab=not is_alone,
            own=self.owned,
            mark=(mark := draw_mark()),
        )
        head = prompt.messages()
        # The shell coder is sent the rest as its system message; for an agent of the owner's its session writes all of it.
        (folder / "TASK.md").write_text(head[-1].content, encoding="utf-8")
        known_at = {
            item.id: item.time
            for item in (*prompt.items(), *self.assignment.known_items, *community.items, *knowledge.items)
        }
        return OpenedLab(
            head=tuple(head),
            known_items=tuple(Item(id, time) for id, time in known_at.items()),
            ends_at=context.budget.elapsed.wall() + seconds,
            seconds=seconds,
            news=LabNews(context, folder / "community", lab=self.number).begin(),
            mark=mark,
        )

    async def _knowledge(self) -> RetrievedEntries:
        """Write what the knowledge base has for this task and draft, and return it."""
        if self.context.knowledge is None:
            return RetrievedEntries()
        entries = await self.context.knowledge.for_lab(self.number, f"{self.assignment.title}\n{self.assignment.draft}")
        await asyncio.to_thread(write_knowledge, entries, self.folder / "knowledge")
        return entries

    def _is_experiment(self, node: int) -> bool:
        log = self.context.experiments
        return log is not None and any(experiment.node == node for experiment in log.all())

    def _inherit(self, node: int) -> list[str]:
        """Copy the files that a node's lab left, and return these; empty if that lab is still open."""
        context = self.context
        number = context.decisions.lab_of(node)
        before = None if number is None else lab(context.store, context.run_id, number)
        if before is None or before.ended_at is None:
            return []
        return copy_work(self.folder.parent / f"lab{before.id}" / "work", self.folder / "work")

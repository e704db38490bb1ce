"""The coordinator's prompt, and its answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from bot.community.shown import IdeaText, Reply, ReportText
from bot.engine.budget import DraftLeft
from bot.engine.results import BlendSoFar, Result
from bot.execution.machine import Machine
from bot.execution.task import TaskText
from bot.models import Item
from bot.models.parsing import json_answer
from bot.models.template import TemplatePrompt
from state.errors import Unparsable


class DraftPlan(Reply):
    """A high-level plan made of selected ideas."""

    title: str = Field(min_length=1, max_length=80)
    description: str = Field(min_length=10, max_length=6_000)
    ideas: tuple[int, ...] = ()
    codebase: int | None = None
    """The node whose script it extends."""


class DraftsAnswer(Reply):
    """As many plans as were asked for."""

    drafts: tuple[DraftPlan, ...]


@dataclass(frozen=True)
class PlanDrafts(TemplatePrompt[DraftsAnswer]):
    """Ask for `count` distinct drafts: one extends the best report, one is absent from all reports."""

    template: ClassVar[str] = "plan_drafts.j2"

    volatile: ClassVar[Mapping[str, object]] = {
        "left": (),
        "results": (),
        "blend": None,
        "execution_seconds": 0.0,
        "lab_seconds": None,
    }

    task: TaskText
    preview: str
    machine: Machine
    ideas: tuple[IdeaText, ...]
    reports: tuple[ReportText, ...]
    results: tuple[Result, ...]
    """What the run has scored so far."""
    left: tuple[str, ...]
    """What is left of time and money, a line each."""
    draft: DraftLeft
    """What one draft may use."""
    execution_seconds: float
    """Time limit of one script."""
    count: int
    lab_seconds: float | None = None
    """Time of a lab that works on one draft; None: scripts alone."""
    start: str = ""
    """A sentence on what the draft starts from, where that is fixed."""
    blends: bool = False
    """Whether the engine blends what is scored."""
    blend: BlendSoFar | None = None
    parents: tuple[int, ...] = ()
    """The nodes that the draft starts from, where that is fixed."""

    def parse(self, text: str) -> DraftsAnswer:
        """Read the JSON answer; raises Unparsable with the rule that it breaks."""
        answer = json_answer(text, DraftsAnswer)
        if len(answer.drafts) != self.count:
            raise Unparsable(f"exactly {self.count} drafts are asked for, not {len(answer.drafts)}")
        ideas, nodes = {i.number for i in self.ideas}, self.nodes()
        for draft in answer.drafts:
            if not set(draft.ideas) <= ideas:
                raise Unparsable(
                    f"draft {draft.title!r} names an idea that does not exist: {sorted(set(draft.ideas) - ideas)}"
                )
            if draft.codebase is not None and draft.codebase not in nodes:
                raise Unparsable(
                    f"draft {draft.title!r} extends node {draft.codebase}: `codebase` is one of {sorted(nodes)}, or null"
                )
        self._check_mix(answer.drafts)
        return answer

    def nodes(self) -> set[int]:
        """Return the nodes that a draft may extend."""
        return {report.node for report in self.reports if report.node is not None} | {*self.parents}

    def _check_mix(self, drafts: Sequence[DraftPlan]) -> None:
        if self.count < 2 or all(report.baseline for report in self.reports):
            return
        if all(draft.codebase is None for draft in drafts):
            raise Unparsable("one draft must extend the best report: give its node as `codebase`")
        if all(draft.codebase is not None for draft in drafts):
            raise Unparsable("one draft must be new: `codebase` null, and an approach absent from the reports")

    def items(self) -> Sequence[Item]:
        """Return ideas and reports, and the owner's notes."""
        return [*(i.item for i in self.ideas), *(r.item for r in self.reports), *self.task.items()]

"""The prompts on the pools: propose ideas, plan drafts, report on a draft."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field

from bot.community.reading import AnalysisText
from bot.engine.attempts import Attempt
from bot.engine.budget import DraftLeft
from bot.engine.results import BlendSoFar, Result
from bot.execution.machine import Machine
from bot.execution.task import TaskText
from bot.models import Item
from bot.models.parsing import json_answer
from bot.models.template import TemplatePrompt
from state.errors import Unparsable


class _Reply(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


@dataclass(frozen=True)
class IdeaText:
    """An idea as a prompt shows it, with its evidence."""

    item: Item
    """`idea/<number>`."""
    number: int
    text: str
    support: float
    """0 to 10, as of `Evidence`."""
    times_used: int
    gains: tuple[float, ...] = ()
    """Measured of the idea itself, as of `Evidence`."""


class ComponentNote(_Reply):
    """One main component of a solution, and its effect."""

    name: str
    analysis: str
    idea: int | None = None
    """Number of the draft's idea that it carries out, if any."""
    gain: float | None = None
    """Gain of the score, above 0 is better, from a comparison that differs in this component alone."""
    gain_error: float | None = None
    """Standard error of the gain, where the engine has measured it."""


class ReportAnswer(_Reply):
    """The report on a draft."""

    method: str = Field(min_length=1, max_length=6_000)
    components: tuple[ComponentNote, ...] = ()
    numbers: str = ""
    limitations: str = ""
    next_steps: str = ""


class ReportText(ReportAnswer):
    """A report as a prompt shows it."""

    item: Item
    """`report/<number>`."""
    number: int
    title: str
    score: float | None
    node: int | None = None
    """The draft's best."""
    baseline: bool = False
    """Whether it is the safe baseline's, which has no draft."""


class ProposedIdea(_Reply):
    """One new atomic idea, and the items that it comes from (`message/1`, `report/3`); none if it is the model's own."""

    text: str = Field(min_length=3, max_length=1_500)
    sources: tuple[str, ...] = ()


class IdeasAnswer(_Reply):
    """New ideas for the pool."""

    ideas: tuple[ProposedIdea, ...]


@dataclass(frozen=True)
class ProposeIdeas(TemplatePrompt[IdeasAnswer]):
    """Ask for atomic ideas that the pool does not have."""

    template: ClassVar[str] = "propose_ideas.j2"
    volatile: ClassVar[Mapping[str, object]] = {"left": (), "execution_seconds": 0.0}

    task: TaskText
    machine: Machine
    analyses: tuple[AnalysisText, ...]
    ideas: tuple[IdeaText, ...]
    reports: tuple[ReportText, ...]
    left: tuple[str, ...]
    """What is left of time and money, a line each."""
    execution_seconds: float
    """Time limit of one script."""

    def parse(self, text: str) -> IdeasAnswer:
        """Read the JSON answer; every source must be an item of this prompt."""
        answer = json_answer(text, IdeasAnswer)
        known = {item.id for item in self.items()}
        for idea in answer.ideas:
            unknown = [source for source in idea.sources if source not in known]
            if unknown:
                raise Unparsable(f"unknown source {unknown[0]!r}: name only ids that the text above shows")
        return answer

    def items(self) -> Sequence[Item]:
        """Return analysed posts, ideas and reports, and the owner's notes."""
        pools = (*(a.item for a in self.analyses), *(i.item for i in self.ideas), *(r.item for r in self.reports))
        return [*pools, *self.task.items()]


class DraftPlan(_Reply):
    """A high-level plan made of selected ideas."""

    title: str = Field(min_length=1, max_length=80)
    description: str = Field(min_length=10, max_length=6_000)
    ideas: tuple[int, ...] = ()
    codebase: int | None = None
    """Number of the report whose code it extends."""


class DraftsAnswer(_Reply):
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

    def parse(self, text: str) -> DraftsAnswer:
        """Read the JSON answer; raises Unparsable with the rule that it breaks."""
        answer = json_answer(text, DraftsAnswer)
        if len(answer.drafts) != self.count:
            raise Unparsable(f"exactly {self.count} drafts are asked for, not {len(answer.drafts)}")
        ideas, reports = {i.number for i in self.ideas}, {r.number for r in self.reports}
        for draft in answer.drafts:
            if not set(draft.ideas) <= ideas:
                raise Unparsable(
                    f"draft {draft.title!r} names an idea that does not exist: {sorted(set(draft.ideas) - ideas)}"
                )
            if draft.codebase is not None and draft.codebase not in reports:
                raise Unparsable(f"draft {draft.title!r} names report {draft.codebase}, which does not exist")
        self._check_mix(answer.drafts)
        return answer

    def _check_mix(self, drafts: Sequence[DraftPlan]) -> None:
        if self.count < 2 or all(report.baseline for report in self.reports):
            return
        if all(draft.codebase is None for draft in drafts):
            raise Unparsable("one draft must extend the best report: give its number as `codebase`")
        if all(draft.codebase is not None for draft in drafts):
            raise Unparsable("one draft must be new: `codebase` null, and an approach absent from the reports")

    def items(self) -> Sequence[Item]:
        """Return ideas and reports, and the owner's notes."""
        return [*(i.item for i in self.ideas), *(r.item for r in self.reports), *self.task.items()]


@dataclass(frozen=True)
class WriteReport(TemplatePrompt[ReportAnswer]):
    """Ask for the report on a finished draft."""

    template: ClassVar[str] = "write_report.j2"

    task: TaskText
    title: str
    draft: str
    attempts: tuple[Attempt, ...]
    ideas: tuple[IdeaText, ...] = ()
    """Of the pool."""
    made_of: tuple[int, ...] = ()
    """Numbers of the draft's ideas."""
    known: tuple[Item, ...] = ()

    def parse(self, text: str) -> ReportAnswer:
        """Read the JSON answer; a component carries out an idea of the pool, or none."""
        answer = json_answer(text, ReportAnswer)
        known = {idea.number for idea in self.ideas}
        unknown = [part.idea for part in answer.components if part.idea is not None and part.idea not in known]
        if unknown:
            raise Unparsable(f"there is no idea {unknown[0]}: `idea` is one of {sorted(known)}, or null")
        return answer

    def items(self) -> Sequence[Item]:
        """Return the draft's sources, the pool's ideas and the owner's notes."""
        return (*self.known, *(idea.item for idea in self.ideas), *self.task.items())


def item_time(items: Sequence[Item], fallback: datetime) -> datetime:
    """Return the latest time of the items, the fallback if there are none."""
    return max((item.time for item in items), default=fallback)

"""The coordinator's prompt, and its answer."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from bot.community.prompt_views import IdeaText, JsonAnswer, ReportText
from bot.engine.results import BlendSoFar, Result
from bot.execution.machine import Machine
from bot.execution.task import TaskText
from bot.models import Item
from bot.models.parsing import json_answer
from bot.models.template import TemplatePrompt
from state.errors import Unparsable

_MAX_OVERLAP = 0.5
"""Share of their ideas, or of the words of their aims, above which two drafts are too similar."""


class DraftPlan(JsonAnswer):
    """A high-level plan made of selected ideas."""

    title: str = Field(min_length=1, max_length=80)
    aim: str = Field(default="", max_length=400)
    """Its goal, in one sentence."""
    description: str = Field(min_length=10, max_length=6_000)
    ideas: tuple[int, ...] = ()
    codebase: int | None = None
    """The node whose script it extends."""
    share: float | None = Field(default=None, gt=0, le=1)
    """Share of the remaining budget; None: the usual one."""


class DraftsAnswer(JsonAnswer):
    """One plan or more."""

    drafts: tuple[DraftPlan, ...]


@dataclass(frozen=True)
class OpenDraft:
    """A draft that is open, or was planned for the same round: new ones must differ from it."""

    item: Item
    """`draft/<number>`."""
    title: str
    aim: str
    ideas: tuple[int, ...]
    codebase: int | None


@dataclass(frozen=True)
class KernelText:
    """A public kernel that was run here."""

    item: Item
    node: int
    title: str
    validation: float
    noise: float | None
    published: float | None
    seconds: float


@dataclass(frozen=True)
class Room:
    """The budget that remains for drafts, and the share that one of them may get."""

    max_drafts: int
    """Drafts that may be planned now."""
    usual_share: float
    """Share of the remaining budget for a draft whose plan names none."""
    min_share: float
    """Share of the remaining budget that one short script or one lab needs."""
    of_run: float
    """What remains for drafts, as a share of the run's budget."""
    execution_seconds: float
    """Time limit of one script."""
    seconds: float | None = None
    """Remaining seconds for drafts, over all slots; None: scripts are counted."""
    scripts: int | None = None
    """Remaining scripts for drafts; None: time is the budget."""
    gainless: int = 2
    """Scored scripts in a row without a gain, after which a draft closes."""
    answer_seconds: float = 0.0
    """Expected time in which a coder writes one script."""
    lab: bool = False
    """Whether coders work in labs; otherwise they write whole scripts."""


@dataclass(frozen=True)
class PlanDrafts(TemplatePrompt[DraftsAnswer]):
    """Ask for one draft, or for some that differ."""

    template: ClassVar[str] = "plan_drafts.j2"

    volatile: ClassVar[Mapping[str, object]] = {
        "remaining": (),
        "results": (),
        "blend": None,
        "room": Room(1, 1.0, 0.0, 1.0, 0.0, seconds=0.0),
    }

    task: TaskText
    preview: str
    machine: Machine
    ideas: tuple[IdeaText, ...]
    reports: tuple[ReportText, ...]
    results: tuple[Result, ...]
    """What the run has scored so far."""
    remaining: tuple[str, ...]
    """Remaining time and money, a line each."""
    room: Room
    kernels: tuple[KernelText, ...] = ()
    """Public kernels that ran here, best first."""
    open_drafts: tuple[OpenDraft, ...] = ()
    insights: tuple[str, ...] = ()
    """What closed labs found, a line for each direction of research."""
    blends: bool = False
    """Whether the engine fits an ensemble of scored scripts."""
    blend: BlendSoFar | None = None
    ensemble_gaps: str = ""
    """What the ensemble lacks, in a sentence; empty if unknown."""
    start: str = ""
    """Fixed properties of the draft, such as its start, in a sentence or two."""
    parents: tuple[int, ...] = ()
    """The nodes that the draft starts from, if these are fixed."""
    knowledge: str = ""
    """Quoted entries of the knowledge base: papers, or tricks and lessons for a draft that extends a script."""
    entries: tuple[Item, ...] = ()

    def parse(self, text: str) -> DraftsAnswer:
        """Read the JSON answer; raises Unparsable with the rule that it breaks."""
        answer = json_answer(text, DraftsAnswer)
        if not 1 <= len(answer.drafts) <= (limit := self.room.max_drafts):
            count = "exactly one draft" if limit == 1 else f"1 to {limit} drafts"
            raise Unparsable(f"expected {count}, got {len(answer.drafts)}")
        ideas, nodes = {i.number for i in self.ideas}, self.nodes()
        for draft in answer.drafts:
            if unknown := sorted(set(draft.ideas) - ideas):
                raise Unparsable(f"draft {draft.title!r} names unknown ideas: {unknown}")
            if draft.codebase is not None and draft.codebase not in nodes:
                raise Unparsable(
                    f"draft {draft.title!r} extends unknown node {draft.codebase}: set `codebase` to one of "
                    f"{sorted(nodes)}, or to null"
                )
            if self.share(draft) < (min_share := self.room.min_share) - 0.005:
                share = draft.share
                raise Unparsable(
                    f"draft {draft.title!r} has a share of {share}, but a draft needs at least {min_share:.2f}"
                )
        if (total := sum(map(self.share, answer.drafts))) > 1.005:
            raise Unparsable(
                f"the shares sum to {total:.2f}: they are fractions of what is left, and may total at most 1"
            )
        other_drafts: list[DraftPlan | OpenDraft] = list(self.open_drafts)
        for draft in answer.drafts:
            for other_draft in other_drafts:
                titles = f"drafts {draft.title!r} and {other_draft.title!r}"
                if _are_similar({*draft.ideas}, {*other_draft.ideas}):
                    raise Unparsable(f"{titles} share more than half of their ideas")
                # The node that a draft starts from may be fixed, and not its plan's choice.
                same_codebase = draft.codebase == other_draft.codebase and not self.parents
                if same_codebase and _are_similar(_words(draft.aim), _words(other_draft.aim)):
                    raise Unparsable(f"{titles} extend the same node with the same aim")
            other_drafts.append(draft)
        return answer

    def share(self, draft: DraftPlan) -> float:
        """Return the share of the remaining budget that a plan gives to its draft."""
        return self.room.usual_share if draft.share is None else draft.share

    def nodes(self) -> set[int]:
        """Return the nodes that a draft may extend."""
        reported = {report.node for report in self.reports if report.node is not None}
        return reported | {kernel.node for kernel in self.kernels} | {*self.parents}

    def items(self) -> Sequence[Item]:
        """Return ideas, reports, kernels, open drafts, entries of the knowledge base, and the owner's notes."""
        pools = (*(i.item for i in self.ideas), *(r.item for r in self.reports), *(k.item for k in self.kernels))
        return [*pools, *(d.item for d in self.open_drafts), *self.entries, *self.task.items()]


def _are_similar(first: set[int] | set[str], second: set[int] | set[str]) -> bool:
    return bool(first and second) and len(first & second) > _MAX_OVERLAP * max(len(first), len(second))


def _words(aim: str) -> set[str]:
    return set(re.findall(r"\w{4,}", aim.lower()))

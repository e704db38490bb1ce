"""AutoMind's prompts: a plan, its complexity, its substeps, and the code of one substep."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field

from bot.coder.prompts import PLAN_CHARACTERS
from bot.engine.attempts import NodeFeedback
from bot.engine.results import Result
from bot.engine.strategy import ActionKind
from bot.execution.machine import Machine
from bot.execution.task import TaskText
from bot.models import Item
from bot.models.parsing import json_answer, one_code_block
from bot.models.template import TemplatePrompt
from state.errors import Unparsable

MIN_SUBSTEPS, MAX_SUBSTEPS = 2, 6


@dataclass(frozen=True)
class PlanSolution(TemplatePrompt[str]):
    """Ask for the plan of a script: of a first one, of an improvement, or of a repair."""

    template: ClassVar[str] = "plan_solution.j2"
    volatile: ClassVar[Mapping[str, object]] = {"results": (), "seconds": 0.0, "seconds_left": 0.0}

    task: TaskText
    preview: str
    machine: Machine
    action: ActionKind
    knowledge: str
    """Entries of the knowledge base, quoted; empty without any."""
    earlier: str
    """Of a draft: earlier solutions, which it is to differ from."""
    parent: NodeFeedback | None
    """Of an improvement or a repair: the script it starts from."""
    review: str
    """What a model noted of the parent."""
    results: tuple[Result, ...]
    """Of an improvement: earlier scripts that build on its parent."""
    seconds: float
    """Time limit of the script."""
    seconds_left: float
    """Of the run."""
    known_items: tuple[Item, ...] = ()
    """The entries, for the audit."""

    def parse(self, text: str) -> str:
        """Return the plan; raises Unparsable if there is none."""
        plan = text.strip()
        if not plan:
            raise Unparsable("no plan found: answer in prose")
        return plan[:PLAN_CHARACTERS]

    def items(self) -> Sequence[Item]:
        """Return the entries that are shown, and the owner's notes."""
        return (*self.known_items, *self.task.items())


class Complexity(BaseModel):
    """How complex a plan is to carry out."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    complexity: int = Field(ge=1, le=5)


@dataclass(frozen=True)
class ScorePlan(TemplatePrompt[Complexity]):
    """Ask for a plan's complexity, from 1 to 5."""

    template: ClassVar[str] = "score_plan.j2"

    plan: str
    known_items: tuple[Item, ...] = ()
    """The plan's sources, for the audit."""

    def parse(self, text: str) -> Complexity:
        """Read the JSON answer."""
        return json_answer(text, Complexity)

    def items(self) -> Sequence[Item]:
        """Return the plan's sources."""
        return self.known_items


class Substeps(BaseModel):
    """A plan in parts, which are carried out one after the other."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    substeps: tuple[str, ...] = Field(min_length=MIN_SUBSTEPS, max_length=MAX_SUBSTEPS)


@dataclass(frozen=True)
class SplitPlan(TemplatePrompt[Substeps]):
    """Ask for the substeps of a plan."""

    template: ClassVar[str] = "split_plan.j2"

    task: TaskText
    preview: str
    plan: str
    codebase: str
    """Source of the script that the plan changes; empty: it changes none."""
    known_items: tuple[Item, ...] = ()

    def parse(self, text: str) -> Substeps:
        """Read the JSON answer."""
        return json_answer(text, Substeps)

    def items(self) -> Sequence[Item]:
        """Return the plan's sources and the owner's notes."""
        return (*self.known_items, *self.task.items())


@dataclass(frozen=True)
class FailedSubstep:
    """The code of a substep that failed, and why."""

    code: str
    error: str
    output: str


@dataclass(frozen=True)
class WorkingSubsteps:
    """The code of the substeps that work, its output on the sample, and its seconds."""

    code: str
    output: str
    seconds: float


@dataclass(frozen=True)
class WriteSubstep(TemplatePrompt[str]):
    """Ask for the code of one substep, which is run behind that of the substeps before it."""

    template: ClassVar[str] = "write_substep.j2"
    volatile: ClassVar[Mapping[str, object]] = {"seconds": 0.0, "sample_seconds": 0.0}

    task: TaskText
    preview: str
    machine: Machine
    plan: str
    substeps: tuple[str, ...]
    number: int
    """Of the substep to write, from 1."""
    earlier_substeps: WorkingSubsteps | None
    """The substeps before it; None before the first."""
    failed: FailedSubstep | None
    """The last code of this substep; None: it was not written yet."""
    parent: NodeFeedback | None
    seconds: float
    """Time limit of the whole script's scored run."""
    sample_seconds: float
    """Of its runs on a sample."""
    known_items: tuple[Item, ...] = ()

    def parse(self, text: str) -> str:
        """Return the code between the fences, valid or not: running it shows what is wrong."""
        return one_code_block(text)

    def items(self) -> Sequence[Item]:
        """Return the plan's sources and the owner's notes."""
        return (*self.known_items, *self.task.items())

"""The prompts of a coder that writes scripts: write one, and review a run in a few sentences."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from bot.coder.brief import CoderBudget
from bot.engine.attempts import NodeFeedback
from bot.engine.results import BlendSoFar, Result
from bot.execution.machine import Machine
from bot.execution.task import TaskText
from bot.models import Item
from bot.models.parsing import code_blocks, json_answer, one_code_block
from bot.models.template import TemplatePrompt
from state.errors import Unparsable

PLAN_CHARACTERS = 4_000
_HEADING = re.compile(r"\A[#*\s]*plan\b[:*\s]+", re.IGNORECASE)
INFER_MARK = "# infer.py"
"""The first line of the script that predicts in a notebook, by which it is told from the one that trains."""


@dataclass(frozen=True)
class ScriptAnswer:
    """A plan in prose and one whole script."""

    plan: str
    code: str
    infer: str | None = None
    """The script that predicts in a notebook; None: there is none."""


@dataclass(frozen=True)
class WriteScript(TemplatePrompt[ScriptAnswer]):
    """Ask for one script: a first one for a draft, a repair of a failed one, or an improvement of a scored one."""

    template: ClassVar[str] = "write_script.j2"
    volatile: ClassVar[Mapping[str, object]] = {
        "budget": CoderBudget(0.0, 0.0),
        "results": (),
        "blend": None,
    }

    task: TaskText
    preview: str
    machine: Machine
    action: Literal["draft", "debug", "improve"]
    title: str
    draft: str
    codebase: str | None
    attempts: tuple[NodeFeedback, ...]
    """Oldest first; debug and improve start from the last one."""
    budget: CoderBudget
    results: tuple[Result, ...] = ()
    """What the whole run has scored so far."""
    blend: BlendSoFar | None = None
    """The engine's newest blend of it."""
    known_items: tuple[Item, ...] = ()
    """Sources of the draft, for the audit."""
    shown_scripts: int = 3
    """How many of the attempts are shown with their code, the newest."""
    alone: bool = False
    """Whether it is written as in the papers: one pipeline, without a comparison of several."""
    planned: bool = False
    """Whether `draft` is a plan that the script carries out."""
    codebase_infer: str | None = None
    """The second script of `codebase`, if it has one."""
    public: str | None = None
    """The public kernel that `codebase` is of; None: a script of the run."""

    def parse(self, text: str) -> ScriptAnswer:
        """Read the plan before the fenced scripts; raises Unparsable when there is none that compiles."""
        code, infer = (
            scripts_in(text) if self.task.notebook or self.task.stores_models else (one_code_block(text), None)
        )
        for name, script in (("solution.py", code), ("infer.py", infer or "")):
            try:
                compile(script, name, "exec")
            except (SyntaxError, ValueError) as error:
                subject = "the script" if infer is None else name
                what_to_send = "the whole script" if infer is None else "both whole scripts"
                raise Unparsable(f"{subject} does not compile: {error}; send {what_to_send} again") from error
        plan = _HEADING.sub("", text.split("```", 1)[0]).strip()[:PLAN_CHARACTERS]
        return ScriptAnswer(plan=plan or self.title, code=code, infer=infer)

    def items(self) -> Sequence[Item]:
        """Return the draft's sources, and the owner's notes."""
        return (*self.known_items, *self.task.items())


def scripts_in(text: str) -> tuple[str, str | None]:
    """Return the script that trains, and the one that predicts in a notebook; None: a reply holds no such.

    Raises:
        Unparsable: there is no block of code, or none beside the second script.
    """
    blocks = code_blocks(text)
    marked = [code for code in blocks if code.lstrip().startswith(INFER_MARK)]
    unmarked = [code for code in blocks if code not in marked]
    if not unmarked:
        raise Unparsable(f"found only the block that starts with `{INFER_MARK}`: send solution.py before it")
    return max(unmarked, key=len), max(marked, key=len, default=None)


class RunReview(BaseModel):
    """A review of a run, in two or three sentences."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    summary: str = Field(min_length=1, max_length=2_000)


@dataclass(frozen=True)
class ReviewRun(TemplatePrompt[RunReview]):
    """Ask for a review of a run (AIDE's analysis), a hint for later prompts."""

    template: ClassVar[str] = "review_run.j2"

    task: TaskText
    attempt: NodeFeedback

    def parse(self, text: str) -> RunReview:
        """Read the JSON answer."""
        return json_answer(text, RunReview)

    def items(self) -> Sequence[Item]:
        """Return the owner's notes: a run holds nothing of the community."""
        return self.task.items()

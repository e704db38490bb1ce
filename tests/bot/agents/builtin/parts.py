"""What the tests of the built-in model share: small tasks, prompts and attempts."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from bot.agents.builtin import BuiltinModel
from bot.agents.tree.prompts import WriteTreeScript
from bot.coder.brief import CoderBudget
from bot.coder.prompts import WriteScript
from bot.community.drafts.prompts import OpenDraft, PlanDrafts, Room
from bot.community.ideas.prompts import Failure, ProposeIdeas
from bot.community.prompt_views import IdeaText, ReportText
from bot.community.reading.batches import AnalysisText
from bot.community.reading.documents import Document
from bot.engine.attempts import NodeFeedback
from bot.engine.budget import DraftLeft
from bot.engine.results import Result
from bot.evaluation.answers import NodeScore
from bot.execution.machine import Machine
from bot.execution.task import TaskText
from bot.models import AnswerT, CallLimits, Item, Prompt
from state.community import Post

NOW = datetime(2018, 1, 1, tzinfo=UTC)
TASK = TaskText("Leaves", "Sort leaves by columns.", "log_loss", "minimize", "id", ("a", "b", "c"), "submission.csv")
HOURS = TaskText("Hours", "Predict a count from a table.", "rmsle", "minimize", "when", ("count",), "submission.csv")
TABLE = "train.csv\nid: text of 5 characters\nwidth: number, 0 to 1"
TEXTS = "train.csv\nid: text of 5 characters\ntext: text of 21 to 870 characters\nauthor: text of 3 characters"
MACHINE = Machine("3.11.7", 2, 8.0, 0, ("numpy 2.0",))
LEFT = DraftLeft(scripts=3, seconds=80.0, gainless=2, failed=4)
RESULT = Result(1, "draft", "A plain model", (), NodeScore(0.5, 0.02), 2.0, None)
OUTPUT = """90 rows; views: table, square roots
linear model C=1 on table                       0.20000      1.2
linear model C=10 on square roots               0.10000      1.1
LDA on table                                    0.90000      0.1
SVM on table                                  skipped
blend: 0.09000 of linear model C=10 on square roots + linear model C=1 on table
cross-validated log_loss: 0.09000
"""


async def answer(prompt: Prompt[AnswerT], seed: int = 0) -> AnswerT:
    """Ask the built-in model."""
    return (await BuiltinModel(seed).complete(prompt, role="any", limits=CallLimits())).answer


def post(body: str, tier: str | None = "EXPERT", votes: int | None = None, title: str = "Thread") -> Post:
    """A message."""
    return Post("message", "1", NOW, title, body, None, tier, votes)


def document(*posts: Post) -> Document:
    """A topic of these messages, or a kernel."""
    return Document(f"topic/{posts[0].id}" if posts[0].kind == "message" else posts[0].item, NOW, posts, posts[0].votes)


def analysis(number: int, effectiveness: float, *suggestions: str) -> AnalysisText:
    """An analysis of message `number`."""
    item = Item(f"message/{number}", NOW)
    return AnalysisText(
        item=item,
        title="Thread",
        summary="Says something.",
        suggestions=suggestions,
        novelty=5,
        feasibility=5,
        effectiveness=effectiveness,
        efficiency=5,
        votes=None,
        public_score=None,
    )


def idea(number: int, text: str, support: float = 5.0, used: int = 0, gains: tuple[float, ...] = ()) -> IdeaText:
    """An idea of the pool."""
    return IdeaText(Item(f"idea/{number}", NOW), number, text, support, used, gains)


def report(number: int, score: float | None, method: str = "A plain model.", next_steps: str = "") -> ReportText:
    """A report of the pool."""
    item = Item(f"report/{number}", NOW)
    return ReportText(
        item=item,
        number=number,
        title=f"Draft {number}",
        method=method,
        score=score,
        node=number,
        next_steps=next_steps,
    )


def attempt(
    code: str, score: float | None = 0.1, error: str | None = None, output: str = OUTPUT, node: int = 1
) -> NodeFeedback:
    """A script that was run."""
    return NodeFeedback(node, "draft", "A plan.", code, None if score is None else NodeScore(score), error, output, 9.0)


def write_script(
    action: str = "draft",
    draft: str = "Use extra trees.",
    attempts: Sequence[NodeFeedback] = (),
    codebase: str | None = None,
    task: TaskText = TASK,
    seconds_left: float = 100.0,
    memory: str | None = None,
    preview: str = TABLE,
    title: str = "A draft",
) -> WriteScript:
    """A prompt for a script: of a tree search if there is a memory."""
    shared: Any = (task, preview, MACHINE, action, title, draft, codebase, tuple(attempts))
    if memory is not None:
        return WriteTreeScript(*shared, CoderBudget(60.0, seconds_left), memory=memory)
    return WriteScript(*shared, CoderBudget(60.0, seconds_left, draft=LEFT), (RESULT,))


def propose_ideas(
    analyses: Sequence[AnalysisText],
    ideas: Sequence[IdeaText],
    reports: Sequence[ReportText],
    task: TaskText = TASK,
    failures: Sequence[Failure] = (),
) -> ProposeIdeas:
    """A prompt for ideas; the failures were measured here and elsewhere."""
    failed = tuple(failures)
    left = ("90 s of 100 s",)
    return ProposeIdeas(task, MACHINE, tuple(analyses), tuple(ideas), tuple(reports), left, 60.0, failed, failed)


def plan_drafts(
    ideas: Sequence[IdeaText],
    reports: Sequence[ReportText],
    most: int,
    task: TaskText = TASK,
    beside: Sequence[OpenDraft] = (),
) -> PlanDrafts:
    """A prompt for drafts."""
    room = Room(most, 1 / most, 0.1, 0.9, 60.0, seconds=80.0)
    shown = (tuple(ideas), tuple(reports), (RESULT,), ("90 s of 100 s",), room)
    return PlanDrafts(task, TABLE, MACHINE, *shown, open_drafts=tuple(beside))


def open_draft(number: int, codebase: int | None, *ideas: int, aim: str = "A gain.") -> OpenDraft:
    """A draft that is worked on."""
    return OpenDraft(Item(f"draft/{number}", NOW), f"Draft {number}", aim, ideas, codebase)

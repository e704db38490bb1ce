"""A run with one lab whose coder follows a script; everything else in it is real."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from sqlmodel import Session

from bot.coder.coder_config import ChosenCoder
from bot.coder.lab.assignment import LabAssignment
from bot.coder.lab.playbook import LabPlaybook
from bot.coder.lab.settings import LabSettings
from bot.engine.context import RunContext
from bot.engine.run_record import LabStory, RunRecord
from bot.engine.search import SolutionSearch
from bot.engine.strategy import Action, Strategy
from bot.engine.tree import Tree
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.models import CallLimits, Completion, Message, Model, Prompt, Usage
from sandbox import Sandbox
from sandbox.bubblewrap import BubblewrapSandbox
from scrapers.snapshots.snapshot import Snapshot
from state.clock import ReplayClock
from state.tables import Step
from tests.bot.engine.parts import RUN, opened_on
from tests.bot.replay.scripted_answers import FILES, INTERRUPTED, PREDICT, SCRIPT, typed
from tests.tiny_snapshot import write_tiny

AnswerT = TypeVar("AnswerT")

SOLUTION = SCRIPT.format(c="STRENGTH")


def only_story(session: Session) -> LabStory:
    """Return what happened in the run's one lab."""
    run = RunRecord.load(session, RUN)
    (lab,) = run.labs
    return run.lab(lab)


def sh(command: str) -> str:
    """Return a reply that is one command."""
    return f"```sh\n{command}\n```"


def written(name: str, text: str, then: str, strength: float = 1.0) -> str:
    """Return a reply that writes a script and then runs a command."""
    return sh(typed(name, text.replace("STRENGTH", str(strength)), then))


def logged(name: str, strength: float, more: str = "") -> str:
    """Return a command that writes a script of a formula's strength, runs it, and logs what it predicts."""
    return typed("predict.py", PREDICT, f"python predict.py {strength} && lab log {name} {FILES} {more}")


class Scripted:
    """A model whose replies are given, one a turn; it keeps the conversations that it was sent."""

    def __init__(self, replies: Sequence[str]) -> None:
        self.replies = list(replies)
        self.sent: list[Sequence[Message]] = []

    async def complete(self, prompt: Prompt[AnswerT], *, role: str, limits: CallLimits) -> Completion[AnswerT]:
        """Give the next reply, again what was interrupted; `lab done`, twice, when there is none."""
        self.sent.append(prompt.messages())
        said = [message.content for message in prompt.messages()]
        seen = [
            text for message, text in zip(prompt.messages()[1:], said[2:], strict=False) if message.role == "assistant"
        ]
        turn = sum(not INTERRUPTED.search(text) for text in seen)
        text = self.replies[turn] if turn < len(self.replies) else sh("lab done; lab done")
        return Completion(prompt.parse(text), text, Usage(100, 10), "scripted", 0.0)


class FewLabs:
    """A policy and a briefing for one lab, or a few side by side."""

    def __init__(self, labs: int = 1) -> None:
        self.labs = labs

    def next_actions(self, tree: Tree, budget: object, free_slots: int, rng: object) -> Sequence[Action]:
        """Open them once."""
        return [Action("lab", draft_id=1 + n) for n in range(self.labs)] if len(tree.nodes) == 1 else []

    async def lab(self, action: Action, node: int, tree: Tree) -> LabAssignment:
        """Return its task."""
        return LabAssignment(title="a test", draft="Do as the script says.")

    async def closed(self, action: Action, node: int, tree: Tree) -> None:
        """Do nothing."""


@asynccontextmanager
async def lived(
    folder: Path,
    model: Model,
    settings: LabSettings | None = None,
    agent: Callable[[RunContext], Strategy] | None = None,
    *,
    labs: int = 1,
    cpus: int = 1,
    sandbox: Sandbox | None = None,
    coder: ChosenCoder | None = None,
    seconds: float = 600.0,
) -> AsyncIterator[RunContext]:
    """Give a run after its labs have ended, side by side on so many cores each; one that is in the folder goes on."""
    folder.mkdir(exist_ok=True)
    if not (folder / "tiny").is_dir():
        write_tiny(folder / "tiny")
    snapshot = Snapshot.load(folder / "tiny", METRIC_DIRECTIONS)
    clock, box = ReplayClock(snapshot.card.deadline), sandbox or BubblewrapSandbox()
    chosen = [coder or ChosenCoder()]
    about = opened_on(
        snapshot, folder, None, clock, model, sandbox=box, cpus=cpus, settings=chosen, labs=True, seconds=seconds
    )
    async with about as context:
        few = FewLabs(labs)
        playbook = LabPlaybook(context, few, settings or LabSettings())

        async def finish(tree: Tree) -> None:
            """Do nothing."""

        strategy = agent(context) if agent else Strategy("test", few, {"lab": playbook}, finish)
        await SolutionSearch(context, strategy, labs).run()
        yield context


def turns(context: RunContext) -> list[str]:
    """Return what the coder saw, turn by turn."""
    from sqlmodel import col, select

    with context.store.read() as session:
        found = select(Step).where(Step.run_id == RUN, Step.name == "lab.turn").order_by(col(Step.attempt))
        return [step.result["text"] for step in session.exec(found).all() if step.result]

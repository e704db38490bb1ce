"""What the tests of tree searches share: a run on the small table, and a model that answers as a test says."""

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from bot.agents.builtin import BuiltinModel
from bot.engine.attempts import load_tree
from bot.engine.context import RunContext
from bot.engine.strategy import Action, Strategy
from bot.evaluation.client.worker import Worker
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.models import AnswerT, CallLimits, Completion, Prompt, Usage
from scrapers.snapshots.snapshot import Snapshot
from state.clock import Clock, ReplayClock
from state.progress import create_node
from state.store import Store
from state.tables import Node
from tests.bot.engine.parts import RUN, opened_on
from tests.tiny_snapshot import write_tiny

HALVES = """
import csv
for name, sample in (("validation_predictions.csv", "sample_validation.csv"), ("submission.csv", "sample_submission.csv")):
    with open(f"data/{sample}", newline="") as file:
        rows = list(csv.reader(file))
    with open(name, "w", newline="") as file:
        csv.writer(file).writerows(rows)
"""
"""A script that predicts what the samples hold."""


def fenced(code: str) -> str:
    return f"Here.\n```python\n{code.strip()}\n```"


@dataclass
class Told:
    """A model that answers some prompts by functions of these, and the rest as the built-in model does."""

    answers: Mapping[str, Callable[[Any], str]] = field(default_factory=dict)
    asked: list[tuple[str, str, Prompt[Any]]] = field(default_factory=list)
    """Name, role and prompt of each call."""

    async def complete(self, prompt: Prompt[AnswerT], *, role: str, limits: CallLimits) -> Completion[AnswerT]:
        self.asked.append((prompt.name, role, prompt))
        if prompt.name not in self.answers:
            return await BuiltinModel(0).complete(prompt, role=role, limits=limits)
        text = self.answers[prompt.name](prompt)
        return Completion(prompt.parse(text), text, Usage(10, 10), "told", 0.0)

    def names(self) -> list[str]:
        return [name for name, _, _ in self.asked]

    def of(self, name: str) -> list[Any]:
        return [prompt for one, _, prompt in self.asked if one == name]

    def text(self, name: str, number: int = -1) -> str:
        """Return what a prompt of this name said."""
        return "\n".join(message.content for message in self.of(name)[number].messages())


@asynccontextmanager
async def a_run(
    worker: Worker,
    folder: Path,
    model: Told,
    *settings: BaseModel,
    snapshot: Callable[[Path], Path] = write_tiny,
    clock: Callable[[Snapshot], Clock] = lambda snapshot: ReplayClock(snapshot.card.deadline),
    community: bool = True,
) -> AsyncIterator[RunContext]:
    """Give a run whose baseline has ended, scored by this worker; one in the folder goes on."""
    there = folder / "tiny"
    loaded = Snapshot.load(there if there.is_dir() else snapshot(there), METRIC_DIRECTIONS)
    async with opened_on(
        loaded, folder, 10, clock(loaded), model, community=community, settings=settings, worker=worker
    ) as context:
        yield context


async def play(context: RunContext, strategy: Strategy, action: Action, node: int) -> Node:
    """Carry out an action as the search does, and return its node."""
    with context.store.write() as tx:
        create_node(tx, RUN, id=node, action=action.kind, parents=action.parents)
    await strategy.playbooks[action.kind].play(action, node, load_tree(context))
    return row(context.store, node)


def row(store: Store, node: int) -> Node:
    with store.read() as session:
        return session.get_one(Node, (RUN, node))


def as_json(**fields: object) -> Callable[[Any], str]:
    return lambda prompt: json.dumps(fields)

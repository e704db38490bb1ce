"""Strategies: a policy that says what to do next, and playbooks that do it."""

import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from bot.engine.tree import Tree

ScriptKind = Literal["draft", "debug", "improve"]
ActionKind = Literal["draft", "debug", "improve", "lab"]


@dataclass(frozen=True)
class Action:
    """What to do next: a node of this kind on top of these parents, within a draft if the strategy has drafts."""

    kind: ActionKind
    parents: tuple[int, ...] = ()
    draft_id: int | None = None
    slot: int = 0
    """Which of the drafts planned together this one is, from 0."""
    lab: int | None = None
    """The lab that scores this node's script; None: the policy chose the node, or it opens a lab."""
    look: int = 0
    """Which of its lab's scored scripts it is, from 1."""


@dataclass(frozen=True)
class Script:
    """One script to run and score, and the plan behind it."""

    plan: str
    code: str
    action: ScriptKind


@dataclass(frozen=True)
class Remaining:
    """What is left of the run's budget; None where a budget has no such cap."""

    steps: int | None
    steps_total: int | None
    seconds: float | None
    """Seconds left for new nodes; None where steps are the budget, so that decisions do not depend on a machine's speed."""
    seconds_total: float | None
    renewed_after: int | None = None
    """The last node that was begun before the run learnt of something worth another round; None: nothing has come."""


class Policy(Protocol):
    """Chooses actions. Pure: no clock, no I/O, no model."""

    def next_actions(self, tree: Tree, budget: Remaining, free_slots: int, rng: random.Random) -> Sequence[Action]:
        """Return at most `free_slots` actions; none means that nothing is worth doing until something in flight ends."""


class Playbook(Protocol):
    """Does an action: may call models and the sandbox."""

    async def play(self, action: Action, node: int, tree: Tree) -> None:
        """Carry out the action as the node with that number and record what came of it.

        Raises:
            BudgetExceeded: there is no money or time for it; the run ends in order.
            ModelMisconfigured: no model call will ever succeed; the run ends in order and says so.
        """


@dataclass(frozen=True)
class Strategy:
    """A policy and its playbooks."""

    name: str
    policy: Policy
    playbooks: Mapping[ActionKind, Playbook]
    finish: Callable[[Tree], Awaitable[None]]
    """Does what is still worth doing after the last node, such as reports."""
    hands_in_own: bool = False
    """Whether it makes the file that is handed in itself, in place of the engine's choice among scored scripts."""
    reads_posts: bool = False
    """Whether it makes use of what a community posts."""

"""Strategies: a policy that chooses actions, and playbooks that carry them out."""

import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from bot.engine.tree import Tree

ScriptKind = Literal["draft", "debug", "improve"]
ActionKind = Literal["draft", "debug", "improve", "lab", "ensemble", "reproduce"]


@dataclass(frozen=True)
class Action:
    """The next thing to do: a node of this kind with these parents, within a draft if the strategy has drafts."""

    kind: ActionKind
    parents: tuple[int, ...] = ()
    draft_id: int | None = None
    slot: int = 0
    """Its number among the drafts planned together, from 0."""
    lab: int | None = None
    """The lab that scores this node's script; None: the policy chose the node, or it opens a lab."""
    look: int = 0
    """Its number among the lab's scored scripts, from 1; of an ensemble, the number of its fit."""
    kernel: str | None = None
    """The version of the public kernel that it runs, such as `kernel/10`; None: it runs none."""
    knowledge: bool = False
    """Whether the coder is shown entries of the knowledge base, if the agent reads it."""
    deep: bool = False
    """Whether it starts a draft of the late phase, if the agent has phases."""


@dataclass(frozen=True)
class Script:
    """One script to run and score, and the plan behind it."""

    plan: str
    code: str
    action: ScriptKind
    infer: str | None = None
    """The inference script of a notebook competition: it predicts with the files that the first one has saved."""
    features: str | None = None
    """A script that writes the features that it trains on: `features/{train,validation,test}.npz`."""


@dataclass(frozen=True)
class Remaining:
    """The run's remaining budget; None: no such cap."""

    steps: int | None
    steps_total: int | None
    seconds: float | None
    """Seconds left for new nodes; None if steps are the budget: decisions must not depend on a machine's speed."""
    seconds_total: float | None
    renewed_after: int | None = None
    """The last node started before news that are worth another round; None: there were none."""
    money: float | None = None
    """The smallest unspent share of the caps on money and tokens; None: there is no cap."""


class Policy(Protocol):
    """Chooses actions. Pure: no clock, no I/O, no model."""

    def next_actions(self, tree: Tree, budget: Remaining, free_slots: int, rng: random.Random) -> Sequence[Action]:
        """Return at most `free_slots` actions; none if nothing is worth doing until a node in flight ends."""


class Playbook(Protocol):
    """Carries out actions; may call models and the sandbox."""

    async def play(self, action: Action, node: int, tree: Tree) -> None:
        """Carry out the action as the node with that number, and record the result.

        Raises:
            BudgetExceeded: there is no money or time for it; the run shuts down cleanly.
            ModelMisconfigured: no model call will ever succeed; the run shuts down cleanly, with this as the reason.
        """


@dataclass(frozen=True)
class Strategy:
    """A policy and its playbooks."""

    name: str
    policy: Policy
    playbooks: Mapping[ActionKind, Playbook]
    finish: Callable[[Tree], Awaitable[None]] | None = None
    """Finishes work after the last node, such as reports."""
    close: Callable[[], Awaitable[None]] | None = None
    """Ends its work beside the nodes."""
    hands_in_own: bool = False
    """Whether it makes the submitted file itself, in place of the engine's choice among scored scripts."""
    reads_posts: bool = False
    """Whether new posts of a community are analysed and turned into ideas for it."""
    opens_labs: bool = False
    """Whether each action of its policy opens a lab."""

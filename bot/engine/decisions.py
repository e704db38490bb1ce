"""Decisions of a policy: each is a step, and their order gives the numbers of their nodes."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from random import Random

from bot.engine.strategy import Action, Policy, Remaining
from bot.engine.tree import BASELINE, Tree
from state.steps import StepKind, Steps

DECIDED = StepKind("decision", tuple[Action, ...])


class Decisions:
    """The decisions of a run's policy and labs so far, those before a restart included.

    Nodes are numbered in the order of their actions, after the baselines. So an action has its number even if the bot was
    killed before it created the node. A lab has the number of its first node.
    """

    def __init__(self, steps: Steps, baselines: int = 1) -> None:
        self._steps = steps
        self._first = BASELINE + baselines
        decided_actions = steps.all(DECIDED)
        self.count = len(decided_actions)
        """The number of decisions so far, and so the number of the next one."""
        self._actions = [action for actions in decided_actions.values() for action in actions]
        self._lock = asyncio.Lock()

    def __iter__(self) -> Iterator[tuple[int, Action]]:
        """Yield each action with the number of its node."""
        return enumerate(self._actions, self._first)

    async def ask(self, policy: Policy, tree: Tree, remaining: Remaining, free_slots: int) -> list[tuple[int, Action]]:
        """Ask the policy for a decision; return its actions with the numbers of their nodes."""
        return await self._decide(lambda rng: policy.next_actions(tree, remaining, free_slots, rng))

    async def number_of(self, action: Action) -> int:
        """Return the number of the node of a lab's scored script or of a blend: the same for the same lab and `look`."""
        if action.lab is None and action.kind != "ensemble":
            raise ValueError("a scored script must belong to a lab")
        if action.lab is not None and action.look <= 1:
            return action.lab
        for number, decided_action in self:
            is_same_kind = (decided_action.kind == "ensemble") == (action.kind == "ensemble")
            if is_same_kind and (decided_action.lab, decided_action.look) == (action.lab, action.look):
                return number
        [(number, _)] = await self._decide(lambda _: [action])
        return number

    async def reproduce(self, kernels: Sequence[str]) -> dict[str, int]:
        """Return the numbers of the nodes that run public kernels (items such as `kernel/10`); the same when called again."""
        reproductions = self._kernels()
        if new := [Action("reproduce", kernel=kernel) for kernel in kernels if kernel not in reproductions]:
            await self._decide(lambda _: new)
            reproductions = self._kernels()
        return {kernel: reproductions[kernel] for kernel in kernels}

    def _kernels(self) -> dict[str, int]:
        return {action.kernel: number for number, action in self if action.kernel is not None}

    def lab_of(self, node: int) -> int | None:
        """Return the number of the lab of a node; None: it has none."""
        for number, decided_action in self:
            if number == node:
                return node if decided_action.kind == "lab" else decided_action.lab
        return None

    def of_lab(self, lab: int) -> list[int]:
        """Return the numbers of the nodes that a lab has started or may have started, its first included."""
        return [number for number, action in self if number == lab or action.lab == lab]

    async def _decide(self, choose: Callable[[Random], Sequence[Action]]) -> list[tuple[int, Action]]:
        async with self._lock:
            actions = await self._steps.decision(DECIDED, self.count, lambda rng: tuple(choose(rng)))
            first = self._first + len(self._actions)
            self.count += 1
            self._actions += actions
        return list(enumerate(actions, first))

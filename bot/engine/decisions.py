"""Decisions of a policy: each is a step, and which nodes came of it follows from their order."""

from collections.abc import Iterator
from dataclasses import asdict
from random import Random
from typing import Any

from bot.engine.attempts import BASELINE
from bot.engine.strategy import Action, Policy, Remaining
from bot.engine.tree import Tree
from state.steps import Steps


class Decisions:
    """What a run's policy has decided so far, in this start of the bot and earlier ones.

    Nodes are numbered in the order of the actions that they carry out, after the baseline: so an action whose node was
    never made, as the bot was killed in between, still has its number.
    """

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        found = steps.decisions()
        self._count = len(found)
        self._actions = [_action(one) for number in sorted(found) for one in found[number]["actions"]]

    def __iter__(self) -> Iterator[tuple[int, Action]]:
        """Yield each action with the number of its node."""
        return enumerate(self._actions, BASELINE + 1)

    @property
    def count(self) -> int:
        """How many were made: the number of the next one."""
        return self._count

    async def ask(self, policy: Policy, tree: Tree, remaining: Remaining, free_slots: int) -> list[tuple[int, Action]]:
        """Have the policy decide, and return its actions with the numbers of their nodes."""

        def choose(rng: Random) -> dict[str, Any]:
            return {"actions": [asdict(a) for a in policy.next_actions(tree, remaining, free_slots, rng)]}

        decided = await self._steps.decision(self._count, choose)
        actions = [_action(one) for one in decided["actions"]]
        first = BASELINE + 1 + len(self._actions)
        self._count += 1
        self._actions += actions
        return list(enumerate(actions, first))


def _action(stored: dict[str, Any]) -> Action:
    return Action(**{**stored, "parents": tuple(stored["parents"])})

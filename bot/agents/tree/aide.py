"""AIDE: no community; draft, debug and improve by earlier scripts. Its variants read more."""

from dataclasses import dataclass, replace
from typing import Protocol

from bot.agents.tree.memory import Memory
from bot.agents.tree.policy import PRESETS, TreeSearchPolicy
from bot.agents.tree.prompts import WriteTreeScript
from bot.agents.tree.settings import TreeSearchSettings
from bot.coder.brief import Brief, CoderBudget
from bot.coder.playbook import Assignment, Briefing, ScriptPlaybook, action_after
from bot.engine.attempts import attempt
from bot.engine.context import RunContext
from bot.engine.strategy import Action, Strategy
from bot.engine.tree import Tree
from bot.models import Item

_TITLES = {"draft": "a first solution", "debug": "a repair", "improve": "one improvement"}


@dataclass(frozen=True)
class Material:
    """Further text of a script's prompt, quoted, and its sources."""

    text: str = ""
    items: tuple[Item, ...] = ()


class Reader(Protocol):
    """Reads something of the community for one node."""

    async def read(self, action: Action, node: int, tree: Tree) -> Material:
        """Return the text for the node's prompt; raises as `Asker.ask`."""


class AideBriefing(Briefing):
    """Draft and improve see plan, review and score of every valid node; debug sees its parent only."""

    def __init__(self, context: RunContext, reader: Reader | None = None) -> None:
        self._context = context
        self._reader = reader
        self._memory = Memory(context, role="reviewer")

    async def assign(self, action: Action, node: int, tree: Tree) -> Assignment:
        """Return the brief with the memory, and the parent as the only earlier script."""
        context = self._context
        memory = "" if action.kind == "debug" else await self._memory.text(tree)
        material = Material() if self._reader is None else await self._reader.read(action, node, tree)
        brief = Brief(
            task=context.task,
            preview=context.preview,
            machine=context.machine,
            title=f"{_TITLES[action.kind]}, as node {node}",
            draft=material.text,
            earlier=memory,
        )
        attempts = tuple(attempt(context, p) for p in action.parents)
        return Assignment(brief=brief, attempts=attempts, known_items=material.items)


class AidePlaybook(ScriptPlaybook):
    """Has scripts written as AIDE does: simple first ones, then one change at a time."""

    def prompt(self, assignment: Assignment, budget: CoderBudget) -> WriteTreeScript:
        """Return the prompt for the whole script, with the memory in place of the run's results."""
        brief, action = assignment.brief, action_after(assignment.attempts)
        # The memory has the findings on an improvement's parent.
        silent_attempts = tuple(replace(a, output="") for a in assignment.attempts)
        return WriteTreeScript(
            task=brief.task,
            preview=brief.preview,
            machine=brief.machine,
            action=action,
            title=brief.title,
            draft=brief.draft,
            codebase=None,
            attempts=assignment.attempts if action == "debug" else silent_attempts,
            budget=budget,
            known_items=assignment.known_items,
            memory=brief.earlier,
        )


def searching(context: RunContext, name: str, preset: str, reader: Reader | None = None) -> Strategy:
    """Return AIDE under a name, with the parameters of a preset, and a reader."""
    briefing = AideBriefing(context, reader)
    playbook = AidePlaybook(context, briefing)
    policy = TreeSearchPolicy(context.settings_of(TreeSearchSettings).over(PRESETS[preset]))
    return Strategy(name, policy, {"draft": playbook, "debug": playbook, "improve": playbook})


def aide(context: RunContext) -> Strategy:
    """Return AIDE with its own defaults."""
    return searching(context, "aide", "aide")


def aide_mlebench(context: RunContext) -> Strategy:
    """Return AIDE with the parameters of MLE-bench."""
    return searching(context, "aide-mlebench", "aide-mlebench")

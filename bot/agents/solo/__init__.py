"""Solo, the yardstick: one coder in a shell for the whole run, as people use it, on the competition's own files."""

import random
from collections.abc import Sequence

from bot.coder.lab.assignment import LabAssignment, LabBriefing
from bot.coder.lab.playbook import LabPlaybook
from bot.coder.lab.settings import LabSettings
from bot.engine.context import RunContext
from bot.engine.strategy import Action, Remaining, Strategy
from bot.engine.tree import Tree

_TASK = (
    "Do as well as you can on the competition's hidden test rows. Use all the time "
    "given below. When it is up, /lab/work/submission.csv is submitted."
)


class SoloPolicy:
    """Opens one lab, once."""

    def next_actions(self, tree: Tree, budget: Remaining, free_slots: int, rng: random.Random) -> Sequence[Action]:
        """Return the lab, unless it was opened before."""
        return () if any(not node.baseline for node in tree.nodes) else (Action("lab", draft_id=1),)


class SoloBriefing(LabBriefing):
    """Gives the coder only the task; its file is submitted as it is."""

    async def lab(self, action: Action, node: int, tree: Tree) -> LabAssignment:
        """Return the whole task."""
        return LabAssignment(title="the competition", draft=_TASK, alone=True)


def solo(context: RunContext) -> Strategy:
    """Return the yardstick: no hold-out, no command `lab`, no community; its last submission.csv is graded as it is."""
    settings = context.settings_of(LabSettings).model_copy(update={"turns": 1_000})
    playbook = LabPlaybook(context, SoloBriefing(), settings)
    return Strategy("solo", SoloPolicy(), {"lab": playbook}, hands_in_own=True)

"""Labs among a strategy's actions: opened, worked in, closed, reported."""

from bot.coder.coder_config import ChosenCoder
from bot.coder.lab.assignment import LabBriefing
from bot.coder.lab.settings import LabSettings
from bot.coder.lab.work import Work
from bot.engine.attempts import load_tree
from bot.engine.context import RunContext
from bot.engine.strategy import Action
from bot.engine.tree import Tree
from state.labs import lab


class LabPlaybook:
    """Has a coder work in a lab until it is done, or its time, its turns or its money are used up."""

    def __init__(self, context: RunContext, briefing: LabBriefing, settings: LabSettings) -> None:
        self._context = context
        self._briefing = briefing
        self._settings = settings

    async def play(self, action: Action, node: int, tree: Tree) -> None:
        """Open or reopen the lab with the number, have its coder work, and close it in order."""
        context = self._context
        row = lab(context.store, context.run_id, node)
        if row is None or row.ended_at is None:
            assignment = await self._briefing.lab(action, node, tree)
            own_coder = context.settings_of(ChosenCoder).agent
            await Work(context, self._settings, assignment, action, node, own_coder).through()
        await self._briefing.closed(action, node, load_tree(context))

"""Exploring before a script is written, as a step of a run: done once, recorded and charged."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from bot.coder import Attempt, Brief, Cell, CoderBudget, Exploration, ScriptAction
from bot.coder.explore import Explore, ExploreAnswer
from bot.coder.explorer import Explorer, View
from bot.models import Item
from bot.runs.context import RunContext
from state.spending import charge
from state.store import put_blob


class NodeExplorer:
    """Lets the coder of one node try things out, where the run's settings allow it."""

    def __init__(self, context: RunContext, node: int, known: Sequence[Item]) -> None:
        self._context = context
        self._node = node
        self._known = known

    async def __call__(
        self, brief: Brief, action: ScriptAction, attempts: Sequence[Attempt], budget: CoderBudget
    ) -> Exploration:
        """Return what was tried out; nothing where it may not."""
        context, node = self._context, self._node
        settings = context.settings.session
        if settings is None:
            return Exploration()

        async def ask(prompt: Explore, number: int) -> ExploreAnswer:
            return await context.asker.ask(prompt, role="explorer", name=f"explore:{number}", node=node)

        def open_session(view: View) -> Any:
            context.say(f"node {node}: trying things out on the {view} view")
            return context.executor.session(node, view, budget.execution_seconds)

        async def explore() -> dict[str, Any]:
            explorer = Explorer(ask, open_session, settings, self._known)
            done = await explorer.explore(brief, action, attempts, budget)
            self._record(done)
            return asdict(done)

        return _exploration(await context.steps.once("explore", explore, node=node))

    def _record(self, done: Exploration) -> None:
        context, node = self._context, self._node
        with context.store.write() as tx:
            for number, cell in enumerate(done.cells):
                code, output = put_blob(tx, cell.code), put_blob(tx, cell.output)
                told = {"cell": number, "status": cell.status, "seconds": cell.seconds}
                tx.record("cell.run", run_id=context.run_id, node=node, code_sha=code, output_sha=output, **told)
            if done.cells:
                charge(tx, context.run_id, "session", node=node, seconds=sum(cell.seconds for cell in done.cells))


def _exploration(stored: Mapping[str, Any]) -> Exploration:
    return Exploration(tuple(Cell(**cell) for cell in stored["cells"]), stored["notes"])

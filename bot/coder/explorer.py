"""Exploring: cells in a live session, one by one, within a bound, before a script is written."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Literal, Protocol

from bot.coder import Attempt, Brief, Cell, CoderBudget, Exploration, ScriptAction
from bot.coder.explore import Explore, ExploreAnswer
from bot.coder.output import clean_output
from bot.coder.settings import SessionSettings
from bot.models import Item
from sandbox import CellResult, Session
from state.errors import InfrastructureFailure, ModelRefused

SHORT_SECONDS = 60.0
"""With less time for cells they run on the sample."""
SHORTEST_SECONDS = 3.0
"""With less time for cells there is no session."""
OUTPUT_CHARACTERS = 3_000

View = Literal["sample", "holdout"]


class AskForCell(Protocol):
    """Sends a prompt for the next cell; keyed by the node that it is for and the cell's number."""

    def __call__(self, prompt: Explore, number: int) -> Awaitable[ExploreAnswer]:
        """Return the model's answer."""
        ...


class Explorer:
    """Lets a model run cells until it knows enough, or the bound is reached; the session is opened for the first one."""

    def __init__(
        self,
        ask: AskForCell,
        open_session: Callable[[View], AbstractAsyncContextManager[Session]],
        settings: SessionSettings,
        known: Sequence[Item] = (),
    ) -> None:
        self._ask = ask
        self._open = open_session
        self._settings = settings
        self._known = tuple(known)

    async def explore(
        self, brief: Brief, action: ScriptAction, attempts: Sequence[Attempt], budget: CoderBudget
    ) -> Exploration:
        """Return the cells that were run and the notes; whatever fails here, a script can be written without it."""
        seconds = self._settings.seconds_for(budget)
        view: View = "sample" if seconds < SHORT_SECONDS else "holdout"
        cells: list[Cell] = []
        session: Session | None = None
        async with AsyncExitStack() as stack:
            while len(cells) < self._settings.cells and seconds >= SHORTEST_SECONDS:
                prompt = Explore(
                    task=brief.task,
                    preview=brief.preview,
                    machine=brief.machine,
                    action=action,
                    view=view,
                    title=brief.title,
                    draft=brief.draft,
                    codebase=brief.codebase if not attempts else None,
                    earlier=brief.earlier,
                    attempts=tuple(attempts),
                    cells=tuple(cells),
                    cells_left=self._settings.cells - len(cells),
                    seconds_left=seconds,
                    cell_seconds=min(seconds, self._settings.cell_seconds),
                    execution_seconds=budget.execution_seconds,
                    known=self._known,
                )
                try:
                    answer = await self._ask(prompt, len(cells))
                    if answer.cell is None:
                        return Exploration(tuple(cells), answer.notes)
                    if session is None:
                        session = await stack.enter_async_context(self._open(view))
                    result = await session.run(answer.cell, prompt.cell_seconds)
                except ModelRefused:
                    break
                except InfrastructureFailure as error:
                    return Exploration(tuple(cells), f"The session failed, which says nothing of the code: {error}")
                seconds -= result.seconds
                cells.append(Cell(answer.cell.rstrip(), result.status, shown(result), result.seconds))
                if result.status == "over":
                    break
        return Exploration(tuple(cells))


def shown(result: CellResult) -> str:
    """Return what a cell showed as a model reads it: the error that matters first, displays as plain text."""
    displays = [display.get("text/plain") or next(iter(display.values()), "") for display in result.displays]
    parts = [result.detail or "", result.output.strip("\n"), *displays, result.error or ""]
    return clean_output("\n".join(filter(None, parts)), OUTPUT_CHARACTERS) or "(nothing was shown)"

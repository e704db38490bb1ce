"""The first coder: one prompt a script; repairs what failed, improves what works."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Protocol

from bot.coder import Brief, CoderBudget
from bot.coder.prompts import ScriptAnswer, WriteScript
from bot.engine.attempts import Attempt
from bot.engine.strategy import ActionKind, Script
from bot.models import Item

SHOWN_ATTEMPTS = 3
"""Scripts shown whole: the first ones of a long draft say little that the later ones do not."""


class AskForScript(Protocol):
    """Sends a prompt for one script; keyed by the node that is being written."""

    def __call__(self, prompt: WriteScript) -> Awaitable[ScriptAnswer]:
        """Return the model's answer."""
        ...


class ScriptCoder:
    """Asks a model for one whole script at a time."""

    def __init__(self, ask: AskForScript, known: Sequence[Item] = ()) -> None:
        self._ask = ask
        self._known = tuple(known)

    async def scripts(
        self, brief: Brief, feedback: Callable[[], Sequence[Attempt]], budget: Callable[[], CoderBudget]
    ) -> AsyncIterator[Script]:
        """Yield scripts for ever; the caller stops asking when the draft's share is used up.

        Without feedback it is a first script; after a failed one a repair; else an improvement of the last one shown.
        """
        while True:
            attempts = tuple(feedback())[-SHOWN_ATTEMPTS:]
            action = _action(attempts)
            answer = await self._ask(
                WriteScript(
                    task=brief.task,
                    preview=brief.preview,
                    machine=brief.machine,
                    action=action,
                    title=brief.title,
                    draft=brief.draft,
                    codebase=brief.codebase if not attempts else None,
                    earlier=brief.earlier,
                    attempts=attempts,
                    budget=budget(),
                    results=brief.results,
                    known=self._known,
                )
            )
            yield Script(plan=answer.plan, code=answer.code, action=action)


def _action(attempts: Sequence[Attempt]) -> ActionKind:
    if not attempts:
        return "draft"
    return "debug" if attempts[-1].score is None else "improve"

"""Asking a model for a script: a first one, a repair of one that failed, or an improvement of one that works."""

from collections.abc import Awaitable, Callable, Sequence

from bot.coder.brief import Brief, CoderBudget
from bot.coder.prompts import ScriptAnswer, WriteScript
from bot.engine.attempts import NodeFeedback
from bot.engine.strategy import Script, ScriptKind
from bot.models import Item

SHOWN_ATTEMPTS = 3
"""Earlier scripts of a draft that a prompt shows, whole: the newest."""


async def write_script(
    ask: Callable[[WriteScript], Awaitable[ScriptAnswer]],
    brief: Brief,
    attempts: Sequence[NodeFeedback],
    budget: CoderBudget,
    known_items: Sequence[Item] = (),
) -> Script:
    """Ask for one whole script.

    Args:
        ask: Sends the prompt.
        brief: Task, draft and machine.
        attempts: Earlier scripts with their results, oldest first: without any a first script is asked for, after a failed
            one a repair, else an improvement of the last one.
        budget: What is left.
        known_items: Sources of the draft.
    """
    shown_attempts = tuple(attempts)[-SHOWN_ATTEMPTS:]
    action = action_after(shown_attempts)
    prompt = WriteScript(
        task=brief.task,
        preview=brief.preview,
        machine=brief.machine,
        action=action,
        title=brief.title,
        draft=brief.draft,
        codebase=brief.codebase if not shown_attempts else None,
        codebase_infer=brief.codebase_infer if not shown_attempts else None,
        public=brief.public,
        planned=brief.planned,
        attempts=shown_attempts,
        budget=budget,
        results=brief.results,
        blend=brief.blend,
        known_items=tuple(known_items),
    )
    answer = await ask(prompt)
    return Script(plan=answer.plan, code=answer.code, action=action, infer=answer.infer)


def action_after(attempts: Sequence[NodeFeedback]) -> ScriptKind:
    """Return what kind of script follows these, oldest first: a first one, a repair of the last one, or an improvement of it."""
    if not attempts:
        return "draft"
    return "debug" if attempts[-1].score is None else "improve"

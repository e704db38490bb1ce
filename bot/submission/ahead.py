"""Refits ahead: what would be handed in now is run on all data while a coder's model thinks and the cores are idle."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any

from bot.engine.attempts import holdout_seconds, load_tree
from bot.engine.context import RunContext
from bot.engine.results import refitted
from bot.evaluation.client.worker import Worker
from bot.submission.refit import refit_script
from state.errors import InfrastructureFailure

_PAUSE = 0.5
_THINKING = 3.0
"""One that answers at once leaves no core idle."""
_WEIGHT = 0.2
"""In the newest blend, that a script must have: lighter ones are likely to be replaced."""
_FROM, _MOST = 0.25, 0.1
"""Share of the run after which this begins, as first scripts are soon replaced, and most of the run that one refit may take."""
_LONGER = 1.5
"""Times the longest of the last replies that a refit may take: a coder who is ready sooner waits for the rest."""


@asynccontextmanager
async def refits_ahead(
    context: RunContext, worker: Worker, thinking: float = _THINKING
) -> AsyncIterator[Callable[[], Coroutine[Any, Any, None]]]:
    """Refit ahead until the context is left; what runs then is cancelled.

    Args:
        context: the run.
        worker: compares files.
        thinking: seconds that a coder's model must have waited for its answer before cores count as idle.

    Yields:
        A function that begins no further refit, and waits for the one that runs.
    """
    stopping = asyncio.Event()
    task = asyncio.create_task(_keep_refitting(context, worker, thinking, stopping))

    async def settle() -> None:
        stopping.set()
        await task

    try:
        yield settle
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _keep_refitting(context: RunContext, worker: Worker, thinking: float, stopping: asyncio.Event) -> None:
    while not stopping.is_set():
        if context.asker.waiting("coder") >= thinking and (node := _due(context)) is not None:
            with suppress(InfrastructureFailure):  # the cores are not idle
                async with context.executor.leasing.hold(longest=0.0) as lease:
                    await refit_script(context, node, worker, lease)
                    context.say(f"node {node} is refitted on all data, the search goes on")
        with suppress(TimeoutError):
            async with asyncio.timeout(_PAUSE):
                await stopping.wait()


def _due(context: RunContext) -> int | None:
    """Return the heaviest script of what would be handed in now that was not refitted; None: none is worth it now."""
    budget, tree, blend = context.budget, load_tree(context), context.blend
    if not budget.growth or budget.elapsed.wall() < _FROM * budget.seconds:
        return None
    best, done = tree.best(), refitted(context.store, context.run_id)
    weights = {} if best is None or best.baseline else {best.id: 1.0}
    if blend is not None:
        weights = dict(blend.weights)
    due = [node for node, weight in weights.items() if weight >= _WEIGHT and node not in done]
    node = max(due, key=lambda one: (weights[one], -one), default=None)
    seconds = None if node is None else holdout_seconds(context, node)
    if seconds is None:
        return None
    most = min(_MOST * budget.seconds, _LONGER * context.asker.longest_answer("coder", 0.0))
    return node if budget.growth * seconds <= most else None

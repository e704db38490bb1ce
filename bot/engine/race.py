"""The race: once the search has ended, the finalists are run on one fold after another, and the worst are left out."""

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from bot.engine.attempts import code, holdout_seconds, load_tree
from bot.engine.budget import SHORTEST_EXECUTION
from bot.engine.context import RunContext
from bot.engine.results import nodes_in_words
from bot.engine.scripts import best_seconds
from bot.evaluation.answers.choices import Candidate, Choice, Predictions
from bot.evaluation.client.worker import Worker
from bot.execution.record import GUARDED, kept_execution, readable_files
from bot.execution.run_views import FOLDS
from state.errors import BotError, UnsupportedLayout

LOOKED_AT = 8
"""Scripts, the best by hold-out, among which finalists are looked for."""
RACERS = 4
_NOISE = 2.0
"""Standard errors of a paired difference within which two scripts are as good as each other."""
_SECONDS = 10.0
"""For the draws of one comparison."""
_SLOWER, _EXPECTED = 3.0, 1.2
"""Times its hold-out run's seconds that a script may take on a fold, and is expected to: it learns from more rows there."""
_STEP = "race"


@dataclass(frozen=True)
class Raced:
    """What came of a race."""

    finalists: tuple[int, ...]
    """Scripts within noise of the best by hold-out, that one first."""
    folds: tuple[str, ...]
    """Fold views that they were run on, not each on all."""
    note: str
    """What was run, or why nothing was, in a sentence."""


async def race(context: RunContext, worker: Worker) -> Raced:
    """Race the finalists of a search that has ended; in steps, so that a run that was killed races on as it would have.

    Args:
        context: the run; at least one script has a score.
        worker: compares them.

    Raises:
        BotError: the finalists could not be found.
    """
    scripts = len(load_tree(context).valid())
    plan = await context.steps.once(_STEP, lambda: _plan(context, worker), attempt=scripts)
    finalists, racing, why = tuple(plan["finalists"]), plan["racing"], plan["why"]
    run: dict[str, list[int]] = {}
    for fold in (f"fold {number}/{FOLDS}" for number in range(1, FOLDS + 1)):
        if not racing:
            break
        try:
            await context.executor.view(fold)
        except UnsupportedLayout as error:
            why = f"{fold} cannot be cut: {error}"
            break
        run[fold] = racing
        await _run(context, fold, racing, plan["until"])
        decide = partial(_round, context, worker, tuple(run), racing, plan["until"])
        done = await context.steps.once(f"{_STEP} {fold}", decide, attempt=scripts)
        racing, why = done["racing"], done["why"]
    for node in {node for nodes in run.values() for node in nodes}:
        await context.executor.check_folds(node)
    told = [f"{nodes_in_words(nodes)} on {fold}" for fold, nodes in run.items()]
    return Raced(finalists, tuple(run), f"raced: {', '.join(told)}; {why}" if told else f"not raced: {why}")


async def scored_on(context: RunContext, view: str, parts: tuple[str, ...], nodes: Sequence[int]) -> Predictions:
    """Return what nodes predicted on a view, without those that have no score there."""
    files, folder = {}, context.executor.folder
    with context.store.read() as session:
        for node in nodes:
            done = kept_execution(session, context.run_id, node, view)
            if done is not None and done.score is not None:
                files[node] = readable_files(folder, done.id, done.score)[0]
    return Predictions(await context.executor.view(view), parts, files)


async def _plan(context: RunContext, worker: Worker) -> dict[str, Any]:
    """Find the finalists and those that are raced: `finalists`, `racing`, `until` (seconds of the run), `why` none are."""
    choice = await _compared(context, worker, (), _best_scripts(context))
    within = [node for node in choice.order if node not in choice.copies and _within_noise(choice, node)]
    best = best_seconds(context, load_tree(context)) or 0.0
    room = context.budget.race_room(best)
    found = {"finalists": within, "racing": [], "until": context.budget.elapsed.wall() + room}
    if not context.races:
        return found | {"why": "this run goes without a race"}
    if context.executor.self_reported is not None:
        return found | {"why": "scores are what scripts print"}
    if len(within) < 2:
        return found | {"why": "no other script is within noise of the best, but for near-copies of it"}
    # Half of the time is for the folds after the first.
    for racers in range(min(RACERS, len(within)), 1, -1):
        if _expected(context, within[:racers]) <= room / (2 if racers > 2 else 1):
            return found | {"racing": within[:racers], "why": "all folds were run"}
    needed = _expected(context, within[:2])
    return found | {
        "why": f"two finalists on one fold would take {needed:.0f} s, and {room:.0f} s are there for the race"
    }


async def _run(context: RunContext, fold: str, racing: Sequence[int], until: float) -> None:
    """Run scripts on a fold, as many side by side as the run does; one that fails there has no score on it."""
    side_by_side = asyncio.Semaphore(context.slots)

    async def run(node: int) -> None:
        async with side_by_side:
            room = max(1.0, until - context.budget.elapsed.wall())
            limit = min(room, max(SHORTEST_EXECUTION, _SLOWER * _seconds(context, node)))
            context.say(f"racing node {node} on {fold}")
            try:
                await context.executor.execute(node, code(context, node), fold, limit)
            except BotError as error:
                context.say(f"node {node} was not run on {fold}: {error}")

    await asyncio.gather(*(run(node) for node in racing))


async def _round(
    context: RunContext, worker: Worker, folds: Sequence[str], racing: Sequence[int], until: float
) -> dict[str, Any]:
    """Decide who is run on the next fold: `racing`, and `why` the race ends if it does."""
    there = (await scored_on(context, folds[-1], (folds[-1],), racing)).files
    if len(there) < 2:
        return {"racing": [], "why": f"fewer than two ran to their end on {folds[-1]}"}
    choice = await _compared(context, worker, folds, tuple(there))
    if len(choice.order) == 2 and not _within_noise(choice, choice.order[1]):
        return {"racing": [], "why": f"node {choice.order[0]} is better beyond noise"}
    left = list(choice.order[: max(2, math.ceil(len(choice.order) / 2))])
    if len(folds) < FOLDS and _expected(context, left) > until - context.budget.elapsed.wall():
        return {"racing": [], "why": "the time kept for the race is used up"}
    return {"racing": left, "why": "all folds were run"}


async def _compared(context: RunContext, worker: Worker, folds: Sequence[str], nodes: Sequence[int]) -> Choice:
    """Compare scripts on the hold-out and on folds; the rows of `final` are left for the last choice."""
    predictions = [await scored_on(context, GUARDED, (GUARDED,), nodes)]
    predictions += [await scored_on(context, fold, (fold,), nodes) for fold in folds]
    candidates = [Candidate(node, _seconds(context, node)) for node in nodes]
    return await worker.choose_candidate(candidates, predictions, context.seed, _SECONDS)


def _best_scripts(context: RunContext) -> list[int]:
    """Return the best scripts by hold-out, those that a guard found worthless left out unless all are."""
    valid = load_tree(context).valid()
    sound = [one for one in valid if not one.spoiled] or valid
    return [one.id for one in sorted(sound, key=lambda one: (-one.fitness, one.id))[:LOOKED_AT]]


def _within_noise(choice: Choice, node: int) -> bool:
    found = choice.evidence[node]
    return found.error is None or found.gain >= -_NOISE * found.error


def _seconds(context: RunContext, node: int) -> float:
    return holdout_seconds(context, node) or 0.0


def _expected(context: RunContext, nodes: Sequence[int]) -> float:
    """Return the seconds that scripts are expected to take on one fold."""
    return _EXPECTED * sum(_seconds(context, node) for node in nodes) / min(context.slots, len(nodes))

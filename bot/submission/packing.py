"""Packing: a node's notebook with what it predicts with, made from all rows, as one file that is submitted like any other."""

import asyncio
import shutil
from dataclasses import dataclass
from pathlib import Path

from bot.engine.context import RunContext
from bot.engine.dress_rehearsal import Rehearsed, rehearsed
from bot.engine.staging import Staged, scored_run, staged
from bot.evaluation.client.worker import Worker
from bot.execution.record import REHEARSAL_FEW
from bot.notebooks.notebook import NotebookBlend
from bot.notebooks.package import Facts, write_package
from bot.notebooks.weights import WEIGHTS
from bot.submission.refit import MadeFile, refit_scripts, refitted_in_words
from sandbox import ExitReason
from state.errors import InvalidSubmission
from state.steps import Key, Kind

_RUNS = {
    "infer": "infer.py",
    "train": "solution.py, which trains again on Kaggle",
    "blend": "infer.py of each script of a blend, and combines what they predict",
}


@dataclass(frozen=True)
class Packed:
    """What came of packing a node."""

    note: str = ""
    """How its package was made."""
    why: str | None = None
    """Why there is none."""


PACKED = Kind("package", Packed)


async def made_package(context: RunContext, node: int, worker: Worker, folder: Path) -> MadeFile:
    """Rehearse a node's notebook, run its script on all rows, and pack what that leaves into a folder, once.

    Raises:
        InvalidSubmission: the notebook must not be pushed; the message is a sentence for people and coders.
        BudgetExceeded: there is no time left to rehearse it.
        InfrastructureFailure: our own machinery failed.
    """
    tried = await rehearsed(context, node)
    if tried.reason is not None:
        raise InvalidSubmission(tried.reason)
    found = await context.steps.once(PACKED, lambda: _pack(context, node, worker, folder, tried), Key(node))
    if found.why is not None:
        raise InvalidSubmission(found.why)
    return MadeFile(folder / _name(node), "notebook", found.note)


async def _pack(context: RunContext, node: int, worker: Worker, folder: Path, tried: Rehearsed) -> Packed:
    executor, limits = context.executor, context.notebook_limits
    made = await refit_scripts(context, node, worker)
    kept = {one: _weights_of(context, one, file) for one, file in made.items()}
    flat = executor.folder.executions / f"n{node}-package"
    stage = await staged(context, node, kept, flat)
    if not stage.script.trains and (why := await _fails(context, node, stage)) is not None:
        return Packed(why=f"with what its run on all rows has saved, its notebook fails: {why}")
    refits = sum(one.how == "refit" for one in made.values())
    blend = isinstance(stage.script, NotebookBlend)
    facts = Facts(
        node=node,
        runs="train" if stage.script.trains else "blend" if blend else "infer",
        competition=context.card.slug,
        weights=stage.script.weights,
        weights_from="refit" if refits == len(made) else "both" if refits else "holdout",
        accelerator=limits.accelerator,
        image=limits.image,
        seconds=tried.scaled,
        rows=tried.rows,
    )
    await asyncio.to_thread(write_package, folder / _name(node), facts, stage.script, flat)
    await asyncio.to_thread(shutil.rmtree, flat, True)
    note = f"a notebook that runs {_RUNS[facts.runs]}; rehearsed, {tried.scaled:.0f} s are expected of it"
    how = refitted_in_words(made) if blend else made[node].note
    return Packed(note if facts.runs == "train" else f"{note}; its weights are of {how}")


def _name(node: int) -> str:
    return f"node{node}.zip"


def _weights_of(context: RunContext, node: int, made: MadeFile) -> Path:
    """Return the folder with what a script's refit has left in `weights/`, or its scored run where there is no refit."""
    if made.how == "refit":
        return made.file.parent / WEIGHTS
    return context.executor.weights_of(scored_run(context, node).id)


async def _fails(context: RunContext, node: int, stage: Staged) -> str | None:
    """Return why the notebook fails with the files that are packed, which are others than those it was rehearsed with."""
    view = await context.executor.view(REHEARSAL_FEW)
    done = await context.executor.execute(
        node,
        stage.script.as_script(),
        REHEARSAL_FEW,
        context.notebook_limits.seconds,
        attempt=1,
        inputs=stage.inputs(view.data, new=True),
    )
    return "it did not end in time" if done.reason is ExitReason.TIMED_OUT else done.fault

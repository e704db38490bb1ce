"""Packing: a node's notebook with what it predicts with, made from all rows, as one file that is submitted like any other."""

import asyncio
import shutil
from dataclasses import dataclass
from pathlib import Path

from bot.engine.context import RunContext
from bot.engine.dress_rehearsal import RehearsalResult, rehearsed
from bot.engine.staging import StagedNotebook, scored_run, stage_notebook
from bot.evaluation.client.worker import Worker
from bot.execution.record import REHEARSAL_FEW
from bot.notebooks.notebook import NotebookBlend
from bot.notebooks.package import Facts, write_package
from bot.notebooks.weights import WEIGHTS
from bot.submission.refit import MadeFile, refit_scripts, refitted_in_words
from sandbox import ExitReason
from state.errors import InvalidSubmission
from state.steps import Key, StepKind

_RUNS = {
    "infer": "infer.py",
    "train": "solution.py, which trains again on Kaggle",
    "blend": "infer.py of each script of a blend, and combines what they predict",
}


@dataclass(frozen=True)
class NotebookBundle:
    """What came of packing a node."""

    note: str = ""
    """How its package was made."""
    reason: str | None = None
    """Why there is none."""


BUNDLE = StepKind("package", NotebookBundle)


async def made_package(context: RunContext, node: int, worker: Worker, folder: Path) -> MadeFile:
    """Rehearse a node's notebook, run its script on all rows, and pack what that leaves into a folder, once.

    Raises:
        InvalidSubmission: the notebook must not be pushed; the message is a sentence for people and coders.
        BudgetExceeded: there is no time left to rehearse it.
        InfrastructureFailure: our own machinery failed.
    """
    rehearsal = await rehearsed(context, node)
    if rehearsal.reason is not None:
        raise InvalidSubmission(rehearsal.reason)
    bundle = await context.steps.once(BUNDLE, lambda: _pack(context, node, worker, folder, rehearsal), Key(node))
    if bundle.reason is not None:
        raise InvalidSubmission(bundle.reason)
    return MadeFile(folder / _name(node), "notebook", bundle.note)


async def _pack(
    context: RunContext, node: int, worker: Worker, folder: Path, rehearsal: RehearsalResult
) -> NotebookBundle:
    executor, limits = context.executor, context.notebook_limits
    made_files = await refit_scripts(context, node, worker)
    weight_folders = {member: _weights_of(context, member, file) for member, file in made_files.items()}
    flat = executor.folder.executions / f"n{node}-package"
    stage = await stage_notebook(context, node, weight_folders, flat)
    if not stage.script.trains and (failure := await _fails(context, node, stage)) is not None:
        return NotebookBundle(reason=f"with what its run on all rows has saved, its notebook fails: {failure}")
    refits = sum(made_file.source == "refit" for made_file in made_files.values())
    blend = isinstance(stage.script, NotebookBlend)
    facts = Facts(
        node=node,
        runs="train" if stage.script.trains else "blend" if blend else "infer",
        competition=context.card.slug,
        weights=stage.script.weights,
        weights_from="refit" if refits == len(made_files) else "both" if refits else "holdout",
        accelerator=limits.accelerator,
        image=limits.image,
        seconds=rehearsal.scaled,
        rows=rehearsal.rows,
    )
    await asyncio.to_thread(write_package, folder / _name(node), facts, stage.script, flat)
    await asyncio.to_thread(shutil.rmtree, flat, True)
    note = f"a notebook that runs {_RUNS[facts.runs]}; by its local check, {rehearsal.scaled:.0f} s are expected of it"
    weights_in_words = refitted_in_words(made_files) if blend else made_files[node].note
    return NotebookBundle(note if facts.runs == "train" else f"{note}; its weights are of {weights_in_words}")


def _name(node: int) -> str:
    return f"node{node}.zip"


def _weights_of(context: RunContext, node: int, made_file: MadeFile) -> Path:
    """Return the folder with what a script's refit has left in `weights/`, or its scored run where there is no refit."""
    if made_file.source == "refit":
        return made_file.file.parent / WEIGHTS
    return context.executor.weights_of(scored_run(context, node).id)


async def _fails(context: RunContext, node: int, stage: StagedNotebook) -> str | None:
    """Return why the notebook fails with the files that are packed, which are others than those it was rehearsed with."""
    view = await context.executor.view(REHEARSAL_FEW)
    execution = await context.executor.execute(
        node,
        stage.script.as_script(),
        REHEARSAL_FEW,
        context.notebook_limits.seconds,
        attempt=1,
        inputs=stage.inputs(view.data, new=True),
    )
    return "it exceeded its time limit" if execution.reason is ExitReason.TIMED_OUT else execution.fault

"""Staging: a node's notebook, and the files that it predicts with laid flat as its data set holds them."""

import asyncio
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bot.engine.attempts import blend_of, code, infer_code
from bot.engine.context import RunContext
from bot.evaluation.answers.blends import combine_text, combining_facts
from bot.evaluation.answers.view_names import VALIDATION
from bot.execution.record import ExecutionRecord, kept_execution
from bot.notebooks.notebook import Notebook, NotebookBlend, NotebookScript
from bot.notebooks.weights import WeightsFile, add_wheels, lay_flat, weights_slug
from state.errors import InfrastructureFailure

_VIEW_FILES = (*VALIDATION, "sample_validation.csv")


@dataclass(frozen=True)
class StagedNotebook:
    """A notebook, and the folder of the files that it predicts with, which are flat there."""

    script: Notebook
    flat: Path

    def inputs(self, data: Path, *, new: bool) -> Mapping[str, Path]:
        """Return what is mounted below Kaggle's input folder, in its newer or its older layout."""
        slug, weights = self.script.competition, weights_slug(self.script.weights)
        own_data = {f"datasets/owner/{weights}" if new else weights: self.flat} if self.script.weights else {}
        return {f"competitions/{slug}" if new else slug: data, **own_data}


async def stage_notebook(context: RunContext, node: int, weights: Mapping[int, Path], target: Path) -> StagedNotebook:
    """Return a node's notebook with the files that it predicts with laid flat into a folder, which is replaced.

    Without a second script the notebook is the one that trains; it gets the rows that it validates on instead. `weights` are
    what a run of each of its scripts left in `weights/`; folders may be missing.
    """
    slug, limits = context.card.slug, context.notebook_limits
    seconds, blended = limits.seconds, blend_of(context.store, context.run_id, node)
    if blended is not None:
        names = {member: f"node{member}" for member in sorted(blended.recipe.weights)}
        codes = {name: infer_code(context, member) or "" for member, name in names.items()}
        facts = combining_facts(context.card, blended.recipe, names)
        files = await _laid(context, {f"{name}/": weights[member] for member, name in names.items()}, target)
        return StagedNotebook(NotebookBlend(codes, combine_text(), facts, slug, files, seconds), target)
    infer, folder = infer_code(context, node), weights[node]
    if infer is None:
        folder = context.executor.folder.executions / f"n{node}-validation"
        await asyncio.to_thread(_copy_validation, (await context.executor.view("full")).data, folder)
        execution = scored_run(context, node)
        seconds = min(seconds, context.budget.refit_limit(execution.limit or execution.seconds, execution.seconds))
    files = await _laid(context, {"": folder}, target)
    return StagedNotebook(NotebookScript(infer or code(context, node), infer is None, slug, files, seconds), target)


async def _laid(context: RunContext, folders: Mapping[str, Path], target: Path) -> tuple[WeightsFile, ...]:
    files, wheels = await asyncio.to_thread(lay_flat, folders, target), context.notebook_limits.wheels
    return files if wheels is None else files + await asyncio.to_thread(add_wheels, wheels, target, len(files))


def scored_run(context: RunContext, node: int) -> ExecutionRecord:
    """Return the run of a node that has its score. Raises InfrastructureFailure if there is none."""
    with context.store.read() as session:
        execution = kept_execution(session, context.run_id, node)
    if execution is None:
        raise InfrastructureFailure(f"node {node} has no scored run")
    return execution


def _copy_validation(data: Path, target: Path) -> None:
    """Copy the rows that a script validates on, which Kaggle does not have."""
    target.mkdir(parents=True, exist_ok=True)
    for name in _VIEW_FILES:
        if (data / name).is_file():
            shutil.copyfile(data / name, target / name)

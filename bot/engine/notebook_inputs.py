"""Staging: a node's notebook, and its input files in one flat folder, as in its data set."""

import asyncio
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bot.engine.attempts import blend_of, code, infer_code
from bot.engine.context import RunContext
from bot.evaluation.answers.blends import combine_text, combining_facts
from bot.evaluation.view_names import VALIDATION
from bot.execution.record import ExecutionRecord
from bot.notebooks.notebook import Notebook, NotebookBlend, NotebookScript
from bot.notebooks.weights import WeightsFile, add_wheels, lay_flat, weights_slug
from state.errors import InfrastructureFailure

_VIEW_FILES = (*VALIDATION, "sample_validation.csv")
"""Files with the validation rows of a script, which Kaggle does not have."""


@dataclass(frozen=True)
class StagedNotebook:
    """A notebook, and the flat folder of its input files."""

    script: Notebook
    flat: Path

    def inputs(self, data: Path, *, new: bool) -> Mapping[str, Path]:
        """Return the mounts below Kaggle's input folder, in its newer or its older layout."""
        slug, weights = self.script.competition, weights_slug(self.script.weights)
        own_data = {f"datasets/owner/{weights}" if new else weights: self.flat} if self.script.weights else {}
        return {f"competitions/{slug}" if new else slug: data, **own_data}


async def stage_notebook(context: RunContext, node: int, weights: Mapping[int, Path], target: Path) -> StagedNotebook:
    """Return a node's notebook with its input files laid flat into a folder, which is replaced.

    Without an inference script the notebook trains; it gets its validation rows instead. `weights` has the folders `weights/`
    of a run of each of its scripts; some may be missing.
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
        folder.mkdir(parents=True, exist_ok=True)
        data = (await context.executor.view("full")).data
        for name in _VIEW_FILES:
            if (data / name).is_file():
                await asyncio.to_thread(shutil.copyfile, data / name, folder / name)
        execution = scored_run(context, node)
        seconds = min(seconds, context.budget.refit_limit(execution.limit or execution.seconds, execution.seconds))
    files = await _laid(context, {"": folder}, target)
    return StagedNotebook(NotebookScript(infer or code(context, node), infer is None, slug, files, seconds), target)


async def _laid(context: RunContext, folders: Mapping[str, Path], target: Path) -> tuple[WeightsFile, ...]:
    files, wheels = await asyncio.to_thread(lay_flat, folders, target), context.notebook_limits.wheels
    return files if wheels is None else files + await asyncio.to_thread(add_wheels, wheels, target, len(files))


def scored_run(context: RunContext, node: int) -> ExecutionRecord:
    """Return the scored run of a node. Raises InfrastructureFailure if there is none."""
    execution = context.executor.kept_execution(node)
    if execution is None:
        raise InfrastructureFailure(f"node {node} has no scored run")
    return execution

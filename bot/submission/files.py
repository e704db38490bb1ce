"""A node's submission file: how it is made, kept and checked, and which public kernel its script resembles."""

import asyncio
import shutil
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from sqlmodel import col, select

from bot.engine.attempts import code, load_tree
from bot.engine.context import RunContext
from bot.engine.notebook_check import NotebookCheckResult, check_notebook
from bot.engine.notebook_inputs import StagedNotebook, scored_run, stage_notebook
from bot.evaluation.client.worker import Worker
from bot.execution.record import REHEARSAL_FEW
from bot.notebooks.notebook import NotebookBlend
from bot.notebooks.package import Facts, write_package
from bot.notebooks.weights import WEIGHTS
from bot.submission.exactly_once import copy_durably
from bot.submission.refit import MadeFile, refit, refit_scripts, refitted_in_words
from sandbox import ExitReason
from scrapers.posts.duplicates import band_digests, similarity
from scrapers.posts.sketches import Sketch
from state.errors import InfrastructureFailure, InvalidSubmission
from state.files import replacing, sha256_of
from state.notebooks import failures_of
from state.steps import Key, StepKind
from state.store import Store
from state.tables import KeptSketch, KernelVersion, Likeness, SketchBand

_RUNS = {
    "infer": "infer.py",
    "train": "solution.py, which trains again on Kaggle",
    "blend": "the infer.py of each script in the ensemble and combines their predictions",
}


@dataclass(frozen=True)
class NotebookBundle:
    """What came of packing a node."""

    note: str = ""
    """How its package was made."""
    reason: str | None = None


BUNDLE = StepKind("package", NotebookBundle)


async def made_package(context: RunContext, node: int, worker: Worker, folder: Path) -> MadeFile:
    """Rehearse a node's notebook, run its script on all rows, and pack what that leaves into a folder, once.

    Raises:
        InvalidSubmission: the notebook must not be pushed; the message is a sentence for people and coders.
        BudgetExceeded: there is no time left to rehearse it.
        InfrastructureFailure: our own machinery failed.
    """
    rehearsal = await check_notebook(context, node)
    if rehearsal.reason is not None:
        raise InvalidSubmission(rehearsal.reason)
    bundle = await context.steps.once(BUNDLE, lambda: _pack(context, node, worker, folder, rehearsal), Key(node))
    if bundle.reason is not None:
        raise InvalidSubmission(bundle.reason)
    return MadeFile(folder / _name(node), "notebook", bundle.note)


async def _pack(
    context: RunContext, node: int, worker: Worker, folder: Path, rehearsal: NotebookCheckResult
) -> NotebookBundle:
    executor, limits = context.executor, context.notebook_limits
    made_files = await refit_scripts(context, node, worker)
    refits = {member: file.file.parent / WEIGHTS for member, file in made_files.items() if file.source == "refit"}
    # The scored run's, where there is no refit.
    scored_weights = {
        member: executor.weights_of(scored_run(context, member).id) for member in made_files.keys() - refits.keys()
    }
    flat = executor.folder.executions / f"n{node}-package"
    stage = await stage_notebook(context, node, refits | scored_weights, flat)
    if not stage.script.trains and (failure := await _fails(context, node, stage)) is not None:
        return NotebookBundle(reason=f"its notebook fails with the weights saved by the run on all rows: {failure}")
    blend = isinstance(stage.script, NotebookBlend)
    facts = Facts(
        node=node,
        runs="train" if stage.script.trains else "blend" if blend else "infer",
        competition=context.card.slug,
        weights=stage.script.weights,
        weights_from="both" if refits and scored_weights else "refit" if refits else "holdout",
        accelerator=limits.accelerator,
        image=limits.image,
        seconds=rehearsal.scaled,
        rows=rehearsal.rows,
    )
    await asyncio.to_thread(write_package, folder / _name(node), facts, stage.script, flat)
    await asyncio.to_thread(shutil.rmtree, flat, True)
    note = f"a notebook that runs {_RUNS[facts.runs]}; its local check suggests a run time of {rehearsal.scaled:.0f} s"
    weights_in_words = refitted_in_words(made_files) if blend else made_files[node].note
    return NotebookBundle(note if facts.runs == "train" else f"{note}; its weights are from {weights_in_words}")


def _name(node: int) -> str:
    return f"node{node}.zip"


async def _fails(context: RunContext, node: int, stage: StagedNotebook) -> str | None:
    """Return why the notebook fails with the files that are packed, which are not those that it was checked with."""
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


FILES = "submissions"
"""In the competition's folder: files that were or will be sent."""
OUTPUTS = "outputs"
"""In the competition's folder: files that public kernels have written."""


@dataclass(frozen=True)
class SubmissionFile(MadeFile):
    """A node's file, kept under its hash."""

    sha256: str


@dataclass(frozen=True)
class SubmissionCheck:
    """The result of checking a file: why it is invalid, and which public file it copies; None: it is fine."""

    invalid: str | None = None
    copied: str | None = None


class Files:
    """The files of one live run."""

    def __init__(self, context: RunContext, folder: Path, worker: Worker) -> None:
        """Set it up, in the competition's folder: files go to `submissions/<sha256>.csv`, packages to `<sha256>.zip`."""
        self._context, self._folder, self._worker = context, folder, worker
        self._noise: dict[tuple[int, int | None], float | None] = {}
        self._checked: dict[tuple[str, frozenset[str]], SubmissionCheck] = {}

    def path_of(self, sha256: str) -> Path:
        """Return the path of the file with a hash; it may not exist."""
        return self.output_path(sha256).with_suffix(".zip") if self.notebooks else self.output_path(sha256)

    def output_path(self, sha256: str) -> Path:
        """Return the path of what the notebook of a package (its hash) has written at Kaggle; it may not exist."""
        return self._folder / FILES / f"{sha256}.csv"

    @property
    def notebooks(self) -> bool:
        """Whether the files are packages of notebooks."""
        return self._context.card.kind == "code"

    async def make(self, node: int) -> SubmissionFile:
        """Run a node once on all data and keep its file, see `refit`; or make and rehearse the package of its notebook.

        Raises:
            InvalidSubmission: the node has no file, or its notebook is not fit to be pushed, or has failed at Kaggle.
            InfrastructureFailure: the file could not be kept.
        """
        if self.notebooks:
            with self._context.store.read() as session:
                failed = failures_of(session, self._context.run_id).get(node)
            if failed is not None:
                raise InvalidSubmission(failed)
            made_file = await made_package(self._context, node, self._worker, self._folder / FILES)
        else:
            made_file = await refit(self._context, node, self._worker)
        try:
            target = self.path_of(sha256_of(made_file.file))
            target.parent.mkdir(parents=True, exist_ok=True)
            with replacing(target) as partial:
                sha = copy_durably(made_file.file, partial)
        except FileNotFoundError as error:
            raise InvalidSubmission(f"node {node} has no file: {error}") from error
        except OSError as error:
            raise InfrastructureFailure(f"cannot store the file of node {node}: {error}") from error
        return SubmissionFile(target, made_file.source, made_file.note, sha)

    async def checked(self, sha256: str) -> SubmissionCheck:
        """Check a kept file. Raises InfrastructureFailure if that is impossible."""
        if self.notebooks:
            return SubmissionCheck()  # what it writes is checked once it has run at Kaggle
        # Public files are added all the time: a file may be the copy of one that came since.
        public = frozenset(str(path) for path in (self._folder / OUTPUTS).rglob("*.csv"))
        if (sha256, public) not in self._checked:
            self._checked = {key: check for key, check in self._checked.items() if key[1] == public}
            self._checked[sha256, public] = await self.check(self.path_of(sha256))
        return self._checked[sha256, public]

    async def most_similar_kernel(self, node: int) -> tuple[str | None, float]:
        """Return the visible kernel whose code is most like a node's; looked up each time, as kernels come and go.

        A blend is as much a copy as the member that is most like one.
        """
        context = self._context
        as_of, slug = context.clock.as_of(), context.card.slug
        similarities = [
            await most_similar_kernel(context.store, slug, as_of, self._worker, code(context, script_node))
            for script_node in load_tree(context).scripts_of(node)
        ]
        return max(similarities, key=lambda similarity: similarity[1])

    async def noise(self, node: int, reference: int | None) -> float | None:
        """Return the standard error of the difference of two nodes' validation scores; None if unknown.

        `reference` None stands for a node of an earlier run, whose predictions are not used.
        """
        if (node, reference) not in self._noise:
            score = await self._context.executor.score(node, reference)
            gain, error = (score.gain, score.std_error) if score else (None, None)
            # Taking the two scores as independent gives the largest standard error of their difference.
            independent = None if error is None else error * 2**0.5
            self._noise[node, reference] = independent if gain is None or gain.std_error is None else gain.std_error
        return self._noise[node, reference]

    async def check(self, file: Path) -> SubmissionCheck:
        """Check what is or would be submitted. Raises InfrastructureFailure if that is impossible."""
        context, outputs = self._context, self._folder / OUTPUTS
        try:
            holdout = await context.executor.view("holdout")
            report = await self._worker.check_file(
                file, holdout.data, outputs if outputs.is_dir() else None, context.card
            )
        except InvalidSubmission as error:
            return SubmissionCheck(invalid=str(error))
        return SubmissionCheck(copied=report.copied)


async def most_similar_kernel(
    store: Store, competition: str, as_of: datetime, worker: Worker, script: str
) -> tuple[str | None, float]:
    """Return the public kernel most like a script and the share of code they have in common; None if no kernel is.

    Only kernels visible at `as_of` count; their sketches are stored with them. Raises InfrastructureFailure.
    """
    sketch = await worker.sketch_script(script)
    if sketch is None:
        return None, 0.0
    code, prose = (bytes.fromhex(signature) or None for signature in sketch[1:])
    own_sketch = Sketch(sketch[0], code, prose)
    with store.read() as session:
        ids = select(SketchBand.sketch).where(
            col(SketchBand.digest).in_(band_digests(own_sketch, competition, "kernel"))
        )
        rows = session.exec(select(KeptSketch).where(col(KeptSketch.id).in_(ids))).all()
        shares = {row.id: similarity(own_sketch, Sketch(row.sha256, row.code, row.prose), "kernel") for row in rows}
        visible = (
            select(Likeness.sketch, KernelVersion.ref)
            .join(KernelVersion, col(KernelVersion.id) == col(Likeness.post_id))
            .where(
                Likeness.competition == competition,
                KernelVersion.competition == competition,
                Likeness.kind == "kernel",
                col(Likeness.sketch).in_(list(shares)),
                col(Likeness.known_at) <= as_of,
            )
        )
        similar_kernels = [(shares[sketch], ref) for sketch, ref in session.exec(visible)]
    share, kernel = max(similar_kernels, default=(0.0, None))
    return kernel, share

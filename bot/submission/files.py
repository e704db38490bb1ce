"""A node's submission file: how it is made, kept and checked, and which public kernel its script resembles."""

import base64
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from sqlmodel import col, select

from bot.engine.attempts import code, load_tree
from bot.engine.context import RunContext
from bot.evaluation.client.worker import Worker
from bot.submission.exactly_once import copy_durably
from bot.submission.notebook_bundle import made_package
from bot.submission.refit import MadeFile, refit
from scrapers.posts.duplicates import band_digests, similarity
from scrapers.posts.sketches import Sketch
from state.errors import InfrastructureFailure, InvalidSubmission
from state.files import replacing, sha256_of
from state.notebooks import failures_of
from state.store import Store
from state.tables import KeptSketch, KernelVersion, Likeness, SketchBand

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
            sha = self._keep(made_file.file)
        except FileNotFoundError as error:
            raise InvalidSubmission(f"node {node} has no file: {error}") from error
        except OSError as error:
            raise InfrastructureFailure(f"the file of node {node} could not be kept: {error}") from error
        return SubmissionFile(self.path_of(sha), made_file.source, made_file.note, sha)

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

    def _keep(self, source: Path) -> str:
        """Copy a file to disk under its hash, completely or not at all; returns the hash."""
        target = self.path_of(sha256_of(source))
        target.parent.mkdir(parents=True, exist_ok=True)
        with replacing(target) as partial:
            return copy_durably(source, partial)


async def most_similar_kernel(
    store: Store, competition: str, as_of: datetime, worker: Worker, script: str
) -> tuple[str | None, float]:
    """Return the public kernel most like a script and the share of code they have in common; None if no kernel is.

    Only kernels visible at `as_of` count; their sketches are stored with them. Raises InfrastructureFailure.
    """
    sketch = await worker.sketch_script(script)
    if sketch is None:
        return None, 0.0
    code, prose = (None if sketch[part] is None else base64.b64decode(str(sketch[part])) for part in ("code", "prose"))
    own_sketch = Sketch(str(sketch["sha256"]), code, prose)
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

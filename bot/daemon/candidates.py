"""Candidates: makes the file that a node would be submitted with, and finds out what is to be known of it, each thing once."""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from bot.daemon.likeness import Likenesses, Likest
from bot.engine.attempts import code
from bot.engine.context import RunContext
from bot.evaluation.worker import Worker
from bot.submission.exactly_once import file_hash
from bot.submission.handing_in import refit
from state.errors import InfrastructureFailure, InvalidSubmission

__all__ = ["FILES", "OUTPUTS", "Candidate", "Candidates", "Checked"]

FILES = "submissions"
"""In the competition's folder: the files that are to be sent, or were."""
OUTPUTS = "outputs"
"""And those that public kernels have written."""

_CHUNK = 1 << 20
_NOISE_SECONDS = 20.0


@dataclass(frozen=True)
class Candidate:
    """A node's file, kept under its hash."""

    file: Path
    sha256: str
    how: str
    """As `Submission.handed_in`."""
    note: str


@dataclass(frozen=True)
class Checked:
    """What a file shows: why it is not valid, and which public one it is the same as; None where neither is so."""

    invalid: str | None
    copied: str | None


class Candidates:
    """The files of one live run."""

    def __init__(self, context: RunContext, folder: Path, worker: Worker) -> None:
        """Set it up.

        Args:
            context: the run.
            folder: the competition's; files go to `submissions/<sha256>.csv` in it, and files that public kernels have written
                are looked for in `OUTPUTS`.
            worker: compares and resamples.
        """
        self._context = context
        self._folder = folder
        self._worker = worker
        self._likenesses = Likenesses(context.store, context.card.slug, context.clock, worker)
        self._noise: dict[tuple[int, int | None], float | None] = {}
        self._checked: dict[tuple[str, frozenset[str]], Checked] = {}

    def kept(self, sha256: str) -> Path:
        """Return where the file of a hash lies, if it does."""
        return self._folder / FILES / f"{sha256}.csv"

    async def made(self, node: int) -> Candidate:
        """Run a node on all data and keep its file; see `refit`, which runs it once.

        Raises:
            InvalidSubmission: there is no file of it.
            InfrastructureFailure: it could not be kept.
        """
        made = await refit(self._context, node, self._worker)
        try:
            sha = self._keep(made.file)
        except FileNotFoundError as error:
            raise InvalidSubmission(f"there is no file of node {node}: {error}") from error
        except OSError as error:
            raise InfrastructureFailure(f"the file of node {node} could not be kept: {error}") from error
        return Candidate(self.kept(sha), sha, made.how, made.note)

    async def checked(self, sha256: str) -> Checked:
        """Return what a kept file shows. Raises InfrastructureFailure where that cannot be told."""
        # What is public grows: a file that was like none of it may be like what came since.
        public = frozenset(str(path) for path in (self._folder / OUTPUTS).rglob("*.csv"))
        if (sha256, public) not in self._checked:
            self._checked = {key: found for key, found in self._checked.items() if key[1] == public}
            self._checked[sha256, public] = await self._check(self.kept(sha256))
        return self._checked[sha256, public]

    async def likest(self, node: int) -> Likest | None:
        """Return the visible kernel whose code is most like a node's, None where none is nearly so.

        Kernels come and go, so that it is looked up each time. Raises InfrastructureFailure.
        """
        return await self._likenesses.likest(code(self._context, node))

    async def noise(self, node: int, other: int | None) -> float | None:
        """Return the standard error of the difference of two nodes' validation scores; None where it cannot be told.

        The other may be one of an earlier run (None), whose predictions are not looked for.
        """
        if (node, other) not in self._noise:
            self._noise[node, other] = await self._difference(node, other)
        return self._noise[node, other]

    async def _difference(self, node: int, other: int | None) -> float | None:
        told = await self._context.executor.noise(node, other, _NOISE_SECONDS)
        if not told:
            return None
        if told["gain_error"] is not None:
            return float(told["gain_error"])
        # As if the two scores had nothing in common, which is the most that the difference can vary.
        return None if told["score_error"] is None else float(told["score_error"]) * 2**0.5

    async def _check(self, file: Path) -> Checked:
        context, outputs = self._context, self._folder / OUTPUTS
        try:
            told = await self._worker.call(
                "check_file",
                file=str(file),
                view_dir=str(await context.executor.view("holdout")),
                outputs=str(outputs) if outputs.is_dir() else None,
                card=context.card.model_dump(mode="json"),
            )
        except InvalidSubmission as error:
            return Checked(str(error), None)
        return Checked(None, told["copied"])

    def _keep(self, source: Path) -> str:
        """Copy a file onto the disk itself under its hash, as a whole or not at all; returns the hash."""
        folder = self._folder / FILES
        folder.mkdir(parents=True, exist_ok=True)
        partial = folder / f".{source.parent.name}.partial"
        digest = hashlib.sha256()
        with source.open("rb") as reading, partial.open("wb") as writing:
            while chunk := reading.read(_CHUNK):
                digest.update(chunk)
                writing.write(chunk)
            writing.flush()
            os.fsync(writing.fileno())
        kept = self.kept(digest.hexdigest())
        if kept.is_file() and file_hash(kept) == digest.hexdigest():
            partial.unlink()
        else:
            partial.replace(kept)
        return digest.hexdigest()

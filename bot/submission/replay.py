"""The submitter of a replay: it places the submitted file in the run's folder."""

import os
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from bot.submission import Quota
from bot.submission.exactly_once import copy_durably, file_hash
from state.errors import SiteUnavailable

LOCK = ".submission.lock"
"""Beside the file; held while a file is placed."""
_PLACED = ".submission.json"


class _Placed(BaseModel):
    """The file placed last: its tag and sha256 (hex)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tag: str
    sha256: str


class ReplaySubmitter:
    """Places a file where the run's result is graded; a later one replaces the earlier one."""

    def __init__(self, destination: Path) -> None:
        """Place files at `destination`, whose folder must exist; a record of what was placed goes beside it."""
        self._destination = destination
        self._record = destination.with_name(_PLACED)

    async def quota(self) -> Quota:
        """Return that there is no limit."""
        return Quota(remaining=None)

    # It never awaits, so that a cancelled call cannot put its file in place after a later one.
    async def submit(self, file: Path, tag: str) -> str:
        """Place a copy, completely or not at all, even if the power fails; returns the file's name and hash.

        Raises:
            SiteUnavailable: it could not be copied.
        """
        partial = self._destination.with_name(self._destination.name + ".partial")
        try:
            sha = copy_durably(file, partial)
            # The record first: it means nothing until a file with its hash is there.
            _write(self._record, _Placed(tag=tag, sha256=sha).model_dump_json().encode())
            partial.replace(self._destination)
            _flush_folder(self._destination.parent)
        except OSError as error:
            raise SiteUnavailable(f"{self._destination.name} could not be written: {error}") from error
        return self._ref(sha)

    async def find(self, tag: str) -> str | None:
        """Return what `submit` returned, if the file in place is the one with this tag.

        Raises:
            SiteUnavailable: the file cannot be read.
        """
        try:
            placed = _Placed.model_validate_json(self._record.read_bytes())
            there = file_hash(self._destination)
        except (FileNotFoundError, ValidationError):
            return None
        except OSError as error:
            raise SiteUnavailable(f"{self._destination.name} could not be read: {error}") from error
        return self._ref(there) if (placed.tag, placed.sha256) == (tag, there) else None

    async def score(self, ref: str) -> float | None:
        """Return None: a replay is graded after its run, and the run never learns the score."""
        return None

    def _ref(self, sha: str) -> str:
        return f"{self._destination.name}@{sha}"


def _write(path: Path, content: bytes) -> None:
    partial = path.with_name(path.name + ".partial")
    with partial.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def _flush_folder(folder: Path) -> None:
    """Make a renaming in a folder survive a power cut, as the confirmation that follows does."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

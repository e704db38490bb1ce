"""The submitter of a replay: what is handed in is a file in the run's folder."""

import os
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from bot.submission import Quota
from bot.submission.exactly_once import copy_durably, file_hash
from state.errors import SiteUnavailable

LOCK = ".submission.lock"
"""Beside the file: whose turn it is to place one."""
_PLACED = ".submission.json"


class _Placed(BaseModel):
    """What was placed last: under which tag, and the file's sha256 (hex)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tag: str
    sha256: str


class ReplaySubmitter:
    """Places a file where the run's result is graded; a later one takes the earlier one's place."""

    def __init__(self, destination: Path) -> None:
        """Place files at `destination`, whose folder must be there; beside it lies a record of what was placed."""
        self._destination = destination
        self._record = destination.with_name(_PLACED)

    async def quota(self) -> Quota:
        """Return that there is no limit."""
        return Quota(remaining=None)

    # Without a moment's waiting inside: a file half placed by a call that was cancelled cannot follow upon a later one.
    async def submit(self, file: Path, tag: str) -> str:
        """Place a copy, as a whole or not at all, also if the power fails; returns the file's name and hash.

        Raises:
            SiteUnavailable: it could not be copied.
        """
        partial = self._destination.with_name(self._destination.name + ".partial")
        try:
            sha = copy_durably(file, partial)
            # First the record, which holds for nothing until a file of this hash is there.
            _write(self._record, _Placed(tag=tag, sha256=sha).model_dump_json().encode())
            partial.replace(self._destination)
            _flush_folder(self._destination.parent)
        except OSError as error:
            raise SiteUnavailable(f"{self._destination.name} could not be written: {error}") from error
        return self._ref(sha)

    async def find(self, tag: str) -> str | None:
        """Return what `submit` did, if the file that lies there is the one that was placed under this tag.

        Raises:
            SiteUnavailable: what lies there cannot be read.
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
        """Return none: a replay is graded after its run, and the run never learns of it."""
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
    """Make what was renamed in a folder outlive a power cut, as the confirmation that follows does."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

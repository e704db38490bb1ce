"""The weights folder: which listed weights are present and checked, and which a run may get."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from bot.weights.catalog import OWN_LIST, WeightFile, Weights, load_catalog
from sandbox.locks import holding
from scrapers.http.download import Download, Opener, Pin
from state.errors import UsageError
from state.files import write_whole

_CHECKED = ".checked.json"
"""Record of files checked by hash, with their times: hashing gigabytes before each run would take too long."""


class WeightsFolder:
    """A folder with one folder for each pretrained model."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.catalog = load_catalog(path)

    def find(self, name: str) -> Weights:
        """Return the weights of that name; raises UsageError if the list has none."""
        for weights in self.catalog:
            if weights.name == name:
                return weights
        names = ", ".join(weights.name for weights in self.catalog)
        raise UsageError(f"unknown weights {name!r}; known: {names}. Add your own to {self.path / OWN_LIST}")

    def state(self, weights: Weights) -> Literal["here", "partial", "absent"]:
        """Return whether all, some or none of its files are present and unchanged since their check."""
        checked = self._checked(weights)
        presence = [self._is_here(weights, file, checked) for file in weights.files]
        if all(presence):
            return "here"
        return "partial" if any(presence) or any(self._folder(weights).glob(".*.part")) else "absent"

    async def pull(self, open_: Opener, weights: Weights, progress: Callable[[WeightFile, int], None]) -> None:
        """Fetch what is missing, file by file.

        Raises:
            DownloadFailed: a file could not be fetched, or is not the listed one.
            UsageError: another process is fetching it.
        """
        folder = self._folder(weights)
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o755)  # a script may run as another user
        with holding(folder / ".lock", f"{weights.name} is being downloaded by another process"):
            checked = self._checked(weights)
            for file in weights.files:
                if not self._is_here(weights, file, checked):
                    await _fetch(open_, file, folder / file.name, progress)
                    self.mark_checked(weights, file)
                progress(file, file.bytes)

    def mark_checked(self, weights: Weights, file: WeightFile) -> None:
        """Record that a file has the listed hash."""
        checked = self._checked(weights) | {file.name: self._stamp(weights, file)}
        write_whole(self._folder(weights) / _CHECKED, json.dumps(checked))

    def available(self, as_of: datetime) -> list[Weights]:
        """Return the weights that are present and were public before that day."""
        day = as_of.astimezone(UTC).date()
        return [w for w in self.catalog if w.released < day and self.state(w) == "here"]

    def mounts(self, weights_list: list[Weights]) -> dict[str, Path]:
        """Return the folder of each, by the name under which a script finds it."""
        return {f"weights/{weights.name}": self._folder(weights) for weights in weights_list}

    def _folder(self, weights: Weights) -> Path:
        return self.path / weights.name

    def _checked(self, weights: Weights) -> dict[str, list[object]]:
        try:
            checked = json.loads((self._folder(weights) / _CHECKED).read_text())
        except (OSError, ValueError):
            return {}
        return checked if isinstance(checked, dict) else {}

    def _is_here(self, weights: Weights, file: WeightFile, checked: dict[str, list[object]]) -> bool:
        try:
            return self._stamp(weights, file) == checked.get(file.name)
        except OSError:
            return False

    def _stamp(self, weights: Weights, file: WeightFile) -> list[object]:
        status = (self._folder(weights) / file.name).stat()
        return [file.sha256, status.st_size, status.st_mtime_ns]


async def _fetch(open_: Opener, file: WeightFile, target: Path, progress: Callable[[WeightFile, int], None]) -> None:
    async def address() -> str:
        return file.url

    pin = Pin(file.bytes, file.sha256)
    await Download(file.url, address, target, open_, pin, lambda loaded, total: progress(file, loaded)).run()


def weights_line(weights: Weights) -> str:
    """Return a line for a coder on what it is and how to load it."""
    description = f": {weights.about}" if weights.about else ""
    return f"{weights.name} ({weights.bytes / 1e6:.0f} MB, {weights.licence}){description}. Load: {weights.load}"

"""The weights folder: which listed weights are present and checked, and which a run may get."""

import fcntl
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Literal

from bot.weights.catalog import WeightFile, Weights, load_catalog
from scrapers.http.download import Download, Opener, Pin
from state.errors import UsageError

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
        known = ", ".join(weights.name for weights in self.catalog)
        raise UsageError(f"there are no weights named {name!r} in the list: {known}; add yours with `bot weights add`")

    def state(self, weights: Weights) -> Literal["here", "partial", "absent"]:
        """Return whether all, some or none of its files are present and unchanged since their check."""
        checked = self._checked(weights)
        here = [self._is_here(weights, file, checked) for file in weights.files]
        if all(here):
            return "here"
        return "partial" if any(here) or any(self._folder(weights).glob(".*.part")) else "absent"

    async def pull(self, open_: Opener, weights: Weights, progress: Callable[[WeightFile, int], None]) -> None:
        """Fetch what is missing, file by file.

        Raises:
            DownloadFailed: a file could not be fetched, or is not the listed one.
            UsageError: another process is fetching it.
        """
        with self._locked(weights):
            checked = self._checked(weights)
            for file in weights.files:
                if not self._is_here(weights, file, checked):
                    target = self._folder(weights) / file.name
                    pin = Pin(file.bytes, file.sha256)
                    await fetch(open_, file.url, target, pin, partial(progress, file))
                    self.mark_checked(weights.name, file.name, file.sha256)
                progress(file, file.bytes)

    def mark_checked(self, name: str, file: str, sha256: str) -> None:
        """Record that a file has that hash."""
        folder = self.path / name
        known = _read_json(folder / _CHECKED)
        part = folder / f"{_CHECKED}.new"
        part.write_text(json.dumps(known | {file: _stamp_of(folder / file, sha256)}))
        part.replace(folder / _CHECKED)

    def offered(self, as_of: datetime) -> list[Weights]:
        """Return the weights that are present and were public before that day."""
        day = as_of.astimezone(UTC).date()
        return [w for w in self.catalog if w.released < day and self.state(w) == "here"]

    def mounts(self, offered: list[Weights]) -> dict[str, Path]:
        """Return the folder of each, by the name under which a script finds it."""
        return {f"weights/{weights.name}": self._folder(weights) for weights in offered}

    def _folder(self, weights: Weights) -> Path:
        return self.path / weights.name

    def _checked(self, weights: Weights) -> dict[str, list[object]]:
        return _read_json(self._folder(weights) / _CHECKED)

    def _is_here(self, weights: Weights, file: WeightFile, checked: dict[str, list[object]]) -> bool:
        try:
            return _stamp_of(self._folder(weights) / file.name, file.sha256) == checked.get(file.name)
        except OSError:
            return False

    @contextmanager
    def _locked(self, weights: Weights) -> Iterator[None]:
        """Keep other processes from fetching the same."""
        folder = self._folder(weights)
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o755)  # a script may run as another user
        with (folder / ".lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UsageError(f"{weights.name} is being fetched by another process") from None
            yield


async def fetch(open_: Opener, url: str, target: Path, pin: Pin | None, progress: Callable[[int], None]) -> Pin:
    """Fetch one file of weights, and return its identity; errors as of `Download.run`."""

    async def address() -> str:
        return url

    return await Download(url, address, target, open_, pin, lambda have, total: progress(have)).run()


def weights_line(weights: Weights) -> str:
    """Return a line for a coder on what it is and how to load it."""
    about = f": {weights.about}" if weights.about else ""
    return f"{weights.name} ({weights.bytes / 1e6:.0f} MB, {weights.licence}){about}. Load: {weights.load}"


def _stamp_of(path: Path, sha256: str) -> list[object]:
    status = path.stat()
    return [sha256, status.st_size, status.st_mtime_ns]


def _read_json(path: Path) -> dict[str, list[object]]:
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}

"""The tasks that communities are laid onto: a folder of snapshots, or one snapshot."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from scrapers.snapshots.found import Found
from scrapers.snapshots.manifest import MANIFEST, Manifest, read_manifest
from state.errors import Problem, UsageError


@dataclass(frozen=True)
class Task:
    """A snapshot's folder and its manifest; with problems and no manifest where it cannot be read."""

    folder: Path
    manifest: Manifest | None
    problems: tuple[Problem, ...] = field(default=())


def read_tasks(folder: Path) -> Mapping[str, Task]:
    """Return the snapshots of a folder by slug, and those whose manifest cannot be read by the name of their folder.

    Raises:
        UsageError: there is no folder, or no snapshot in it.
    """
    try:
        alone = (folder / MANIFEST).is_file()
        inside = [] if alone else sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError as error:
        raise UsageError(f"--tasks {folder} cannot be read: {error.strerror or error}") from error
    tasks: dict[str, Task] = {}
    for place in (folder,) if alone else inside:
        if not (place / MANIFEST).is_file():
            continue
        found = Found()
        manifest = read_manifest(place, found)
        tasks[manifest.slug if manifest else place.resolve().name] = Task(place, manifest, found.problems)
    if not tasks:
        raise UsageError(
            f"--tasks {folder} holds no snapshot: it must be one, or a folder of them, such as "
            "`bot snapshot import mle-bench` writes"
        )
    return tasks

"""The competitions of an MLE-Live folder, in either of its layouts.

    <root>/<competition>/{description.md,input/,kernels/,discussions/}
    <root>/docs/<competition>/docs/{kernels,discussions}/

Either the root may be named, or its `docs/`, or the folder of one competition.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bot.research.importers.mle_live.community import DISCUSSIONS_FOLDER, KERNELS_FOLDER
from scrapers.snapshots.manifest import MANIFEST, Manifest, read_manifest
from scrapers.snapshots.problems import Problems
from state.errors import Problem, UsageError

_SIGNS = ("description.md", "input")
"""Entries of a competition's folder beside its community."""


@dataclass(frozen=True)
class CompetitionFolder:
    """One competition of an MLE-Live folder."""

    slug: str
    community: Path | None
    """The folder of `kernels/` and `discussions/`, either of which may be missing; None if both are."""


def find_competitions(root: Path) -> list[CompetitionFolder]:
    """Return the competitions below a folder, by slug; of two layouts the newer one counts. Raises OSError."""
    if (alone := _community(root)) is not None:
        whole = root.resolve()
        return [CompetitionFolder(whole.parent.name if whole.name == "docs" else whole.name, alone)]
    found: dict[str, CompetitionFolder] = {}
    for folder in (*_folders(root), *_folders(root / "docs")):
        community = _community(folder)
        if community is None and not any((folder / sign).exists() for sign in _SIGNS):
            continue
        known = found.get(folder.name)
        if known is None or known.community is None:
            found[folder.name] = CompetitionFolder(folder.name, community)
    return [found[slug] for slug in sorted(found)]


def _community(folder: Path) -> Path | None:
    for place in (folder, folder / "docs"):
        if any((place / name).is_dir() for name in (KERNELS_FOLDER, DISCUSSIONS_FOLDER)):
            return place
    return None


def _folders(parent: Path) -> Iterator[Path]:
    if parent.is_dir():
        yield from sorted(path for path in parent.iterdir() if path.is_dir() and not path.name.startswith("."))


@dataclass(frozen=True)
class Task:
    """A snapshot's folder and its manifest; if that cannot be read, None and the problems."""

    folder: Path
    manifest: Manifest | None
    problems: tuple[Problem, ...] = field(default=())


def read_tasks(folder: Path) -> Mapping[str, Task]:
    """Return a folder's snapshots by slug, those with a broken manifest by folder. Raises UsageError if there are none."""
    try:
        alone = (folder / MANIFEST).is_file()
        inside = [] if alone else sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError as error:
        raise UsageError(f"--tasks {folder} cannot be read: {error.strerror or error}") from error
    tasks: dict[str, Task] = {}
    for place in (folder,) if alone else inside:
        if not (place / MANIFEST).is_file():
            continue
        found = Problems()
        manifest = read_manifest(place, found)
        tasks[manifest.slug if manifest else place.resolve().name] = Task(place, manifest, found.problems)
    if not tasks:
        raise UsageError(
            f"--tasks {folder} holds no snapshot: it must be one, or a folder of them, such as "
            "`bot snapshot import mle-bench` writes"
        )
    return tasks

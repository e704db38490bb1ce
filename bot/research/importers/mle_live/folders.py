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
    if (own_community := _community(root)) is not None:
        resolved = root.resolve()
        return [CompetitionFolder(resolved.parent.name if resolved.name == "docs" else resolved.name, own_community)]
    by_slug: dict[str, CompetitionFolder] = {}
    for folder in (*_folders(root), *_folders(root / "docs")):
        community = _community(folder)
        if community is None and not any((folder / sign).exists() for sign in _SIGNS):
            continue
        earlier = by_slug.get(folder.name)
        if earlier is None or earlier.community is None:
            by_slug[folder.name] = CompetitionFolder(folder.name, community)
    return [by_slug[slug] for slug in sorted(by_slug)]


def _community(folder: Path) -> Path | None:
    for place in (folder, folder / "docs"):
        if any((place / name).is_dir() for name in (KERNELS_FOLDER, DISCUSSIONS_FOLDER)):
            return place
    return None


def _folders(parent: Path) -> Iterator[Path]:
    if parent.is_dir():
        yield from sorted(path for path in parent.iterdir() if path.is_dir() and not path.name.startswith("."))


@dataclass(frozen=True)
class TaskSnapshot:
    """A snapshot's folder and its manifest; if that cannot be read, None and the problems."""

    folder: Path
    manifest: Manifest | None
    problems: tuple[Problem, ...] = field(default=())


def read_tasks(folder: Path) -> Mapping[str, TaskSnapshot]:
    """Return a folder's snapshots by slug, those with a broken manifest by folder. Raises UsageError if there are none."""
    try:
        is_snapshot = (folder / MANIFEST).is_file()
        subfolders = [] if is_snapshot else sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError as error:
        raise UsageError(f"--tasks {folder} cannot be read: {error.strerror or error}") from error
    tasks: dict[str, TaskSnapshot] = {}
    for place in (folder,) if is_snapshot else subfolders:
        if not (place / MANIFEST).is_file():
            continue
        problems = Problems()
        manifest = read_manifest(place, problems)
        tasks[manifest.slug if manifest else place.resolve().name] = TaskSnapshot(place, manifest, problems.problems)
    if not tasks:
        raise UsageError(f"--tasks {folder} contains no snapshots: create them with `bot snapshot import mle-bench`")
    return tasks

"""Where the competitions of an MLE-Live folder lie, in its layouts.

    <root>/<competition>/{description.md,input/,kernels/,discussions/}
    <root>/docs/<competition>/docs/{kernels,discussions}/

Either the root may be named, or its `docs/`, or the folder of one competition.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from scrapers.imports.mle_live.community import DISCUSSIONS_FOLDER, KERNELS_FOLDER

_SIGNS = ("description.md", "input")
"""What a competition's folder has beside its community."""


@dataclass(frozen=True)
class CompetitionFolder:
    """One competition of an MLE-Live folder."""

    slug: str
    community: Path | None
    """The folder of `kernels/` and `discussions/`, of which one may be missing; None: there is neither."""


def find_competitions(root: Path) -> list[CompetitionFolder]:
    """Return the competitions below a folder, by slug; where both layouts have one, that of the newer layout.

    Raises:
        OSError: a folder cannot be listed.
    """
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

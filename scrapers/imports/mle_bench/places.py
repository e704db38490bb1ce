"""The places of prepared competitions: below the folders that a person names, and in the package."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from state.errors import UsageError

PREPARED = "prepared"
CONFIG = "config.yaml"


@dataclass(frozen=True)
class Place:
    """One competition: its id, `prepared/` (which may be missing), and the folder with its `config.yaml` and `grade.py`."""

    slug: str
    prepared: Path
    package: Path


def find_places(folders: Sequence[Path], package: Path | None, wanted: Sequence[str] = ()) -> list[Place]:
    """Find the competitions below some folders, by id.

    Args:
        folders: each a data folder (`<id>/prepared/` in it), a competition's `<id>/`, or its `<id>/prepared/`.
        package: `mlebench/competitions`; if it is None, or has no folder for an id, `config.yaml` and the other files
            are beside `prepared/`.
        wanted: only these ids; empty: all. In a data folder, an id that the package knows counts, prepared or not.

    Raises:
        UsageError: a folder does not exist or holds no competition, an id is in two places, or a wanted one in none.
    """
    if package is not None and not package.is_dir():
        raise UsageError(f"--package: there is no folder {package}")
    found: dict[str, Place] = {}
    for folder in folders:
        if not folder.is_dir():
            raise UsageError(f"there is no folder {folder}")
        here = list(_below(Path(os.path.abspath(folder)), package))  # noqa: PTH100 -- a link's own name is the id
        if not here:
            raise UsageError(f"{folder} holds no competition: no <id>/{PREPARED}/ lies in it")
        for place in here:
            if found.setdefault(place.slug, place) != place:
                raise UsageError(f"{place.slug} lies both in {found[place.slug].prepared} and in {place.prepared}")
    if unknown := sorted(set(wanted) - set(found)):
        raise UsageError(f"no folder holds {', '.join(unknown)}; there are {', '.join(sorted(found)[:20])}")
    return [found[slug] for slug in sorted(found) if not wanted or slug in wanted]


def _below(folder: Path, package: Path | None) -> Iterator[Place]:
    if folder.name == PREPARED and ((folder / "public").is_dir() or (folder / "private").is_dir()):
        yield _place(folder.parent, package)
    elif (folder / PREPARED).is_dir():
        yield _place(folder, package)
    else:
        for child in sorted(folder.iterdir()):
            known = package is not None and (package / child.name / CONFIG).is_file()
            if child.is_dir() and ((child / PREPARED).is_dir() or known):
                yield _place(child, package)


def _place(folder: Path, package: Path | None) -> Place:
    described = folder if package is None or not (package / folder.name).is_dir() else package / folder.name
    return Place(folder.name, folder / PREPARED, described)

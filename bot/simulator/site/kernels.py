"""The kernels as they stood at a time: which versions there are, and which one is the current."""

import json
from collections import defaultdict
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from bot.simulator.site.readings import Readings
from bot.simulator.site.rendering import slugified
from scrapers.snapshots.community import COMMUNITY, KernelRow
from scrapers.snapshots.files import resolve_inside
from scrapers.snapshots.snapshot import Snapshot

_LANGUAGES = {".py": "python", ".ipynb": "python", ".r": "r", ".rmd": "rmarkdown", ".jl": "julia", ".sql": "sqlite"}


@dataclass(frozen=True)
class Version:
    """One version of a kernel."""

    owner: str
    """User name."""
    slug: str
    number: int
    title: str
    author: str
    """Display name."""
    language: str
    kernel_type: str
    """`script` or `notebook`."""
    run_at: datetime
    """When it was run."""
    source: str
    competition_sources: tuple[str, ...] = ()
    dataset_sources: tuple[str, ...] = ()
    kernel_sources: tuple[str, ...] = ()
    model_sources: tuple[str, ...] = ()
    home: str = ""
    """Slug of the competition whose snapshot has it; empty for a kernel that was pushed here."""
    row_id: str | None = None
    """That snapshot's id; None for a kernel that was pushed here."""
    output: Path | None = None
    """The submission file that its run wrote, if the snapshot has it."""
    private: bool = False
    gpu: bool = False
    internet: bool = False
    image: str = ""
    machine: str = ""

    @property
    def ref(self) -> str:
        """`owner/slug`."""
        return f"{self.owner}/{self.slug}"


class SimulatedKernels:
    """All kernels of the site, from snapshots or pushed here; versions without a time are never visible."""

    def __init__(self) -> None:
        self._readings: dict[str, Readings] = {}
        self._versions: dict[str, list[Version]] = defaultdict(list)

    def add(self, snapshot: Snapshot, readings: Readings) -> None:
        """Add a snapshot's kernels; the competition's slug is appended to a reference that another's already has."""
        slug = snapshot.card.slug
        self._readings[slug] = readings
        rows = sorted(snapshot.community.kernels, key=lambda row: (row.ref, row.version or 0))
        dated = [(row, row.created_at) for row in rows if row.created_at is not None]
        refs = self._names({wire_ref(row) for row, _ in dated}, slug)
        for row, time in dated:
            ref = refs[wire_ref(row)]
            version = _read(snapshot.path / COMMUNITY, row, time, ref, len(self._versions[ref]) + 1)
            self._versions[ref].append(replace(version, home=slug, competition_sources=(slug,)))

    def push(self, version: Version) -> None:
        """Add a version that was pushed."""
        self._versions[version.ref].append(version)

    def pushed(self) -> list[Version]:
        """Return all versions that were pushed."""
        return [v for versions in self._versions.values() for v in versions if v.row_id is None]

    def versions(self, ref: str, now: datetime) -> list[Version]:
        """Return the visible versions of a kernel, the current one last."""
        visible = [version for version in self._versions.get(ref, ()) if version.run_at <= now]
        return sorted(visible, key=lambda version: (version.run_at, version.number))

    def current(self, now: datetime) -> list[Version]:
        """Return the current version of each visible kernel, by the time it was run."""
        latest = [versions[-1] for ref in list(self._versions) if (versions := self.versions(ref, now))]
        return sorted(latest, key=lambda version: (version.run_at, version.ref))

    def of_competition(self, competition: str, now: datetime) -> list[Version]:
        """Return the current version of each visible kernel of a competition, by its slug."""
        return [version for version in self.current(now) if competition in version.competition_sources]

    def created(self, ref: str, now: datetime) -> datetime:
        """Return when a visible kernel's first version was run."""
        return self.versions(ref, now)[0].run_at

    def votes(self, version: Version, now: datetime) -> int:
        """Return a version's votes as last read."""
        return self._readings[version.home].votes("kernel", version.row_id, now) if version.row_id else 0

    def score(self, version: Version, now: datetime) -> float | None:
        """Return a version's public score as last read."""
        return self._readings[version.home].score(version.row_id, now) if version.row_id else None

    def tier(self, version: Version, now: datetime) -> str | None:
        """Return the tier of a version's author as last read."""
        return self._readings[version.home].tier("kernel", version.row_id, now) if version.row_id else None

    def _names(self, refs: set[str], slug: str) -> dict[str, str]:
        """Return the reference under which each of a snapshot's kernels is found."""
        used_names, names = set(self._versions) | refs, {}
        for ref in sorted(refs):
            name = ref
            while name in self._versions or (name != ref and name in used_names):
                name = f"{name}-{slug}"
            used_names.add(name)
            names[ref] = name
        return names


def wire_ref(row: KernelRow) -> str:
    """Return `owner/slug` of a row; a reference without an owner gets its author's."""
    if row.ref.count("/") == 1:
        return row.ref
    return f"{slugified(row.author or '') or 'unknown'}/{slugified(row.ref)}"


def _read(folder: Path, row: KernelRow, time: datetime, ref: str, position: int) -> Version:
    path = resolve_inside(folder, row.path) if row.path else None
    suffix = path.suffix.lower() if path else ""
    source = path.read_text(encoding="utf-8", errors="replace") if path else ""
    prose = suffix in (".md", ".txt", ".html") or row.kind == "writeup"
    if prose:  # Kaggle shows it as a notebook of one cell
        cell = {"cell_type": "markdown", "metadata": {}, "source": source}
        source = json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 4})
    notebook = suffix == ".ipynb" or prose or (not path and row.kind == "notebook")
    owner, _, name = ref.partition("/")
    return Version(
        owner=owner,
        slug=name,
        number=row.version if row.version is not None else position,
        title=row.title or name,
        author=row.author or owner,
        language=(row.language or _LANGUAGES.get(suffix) or "python").lower(),
        kernel_type="notebook" if notebook else "script",
        run_at=time,
        source=source,
        dataset_sources=tuple(map(str, row.datasets or ())),
        row_id=row.id,
        output=resolve_inside(folder, row.output) if row.output else None,
    )

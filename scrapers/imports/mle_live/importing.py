"""The import of all competitions of an MLE-Live folder, one after the other; a failure does not stop the others."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from scrapers.imports.mle_live.community import ImportCounts
from scrapers.imports.mle_live.folders import CompetitionFolder, Task, find_competitions, read_tasks
from scrapers.imports.mle_live.new_snapshot import IMPORTED, NewSnapshot
from scrapers.imports.staging import importing_into, staged
from scrapers.snapshots.card import Direction
from scrapers.snapshots.manifest import read_manifest
from scrapers.snapshots.problems import Problems
from state.clock import Clock
from state.errors import SnapshotError, UsageError

Status = Literal["imported", "there already", "no task", "nothing to import", "failed"]
_SHOWN_PROBLEMS = 3


@dataclass(frozen=True)
class Outcome:
    """The result for one competition."""

    competition: str
    status: Status
    path: Path | None = None
    """The snapshot, if there is one."""
    counts: ImportCounts | None = None
    sentence: str | None = None
    """Why there is none, and what to do."""

    @property
    def whole(self) -> bool:
        """Whether nothing failed: neither the competition nor the reading of one of its lists."""
        return self.status != "failed" and not (self.counts and self.counts.broken)


@dataclass(frozen=True)
class ImportRequest:
    """What to import, and where to."""

    root: Path
    """An MLE-Live folder, or that of one of its competitions."""
    tasks: Path
    """A snapshot with the task, or a folder of them; it is never written to."""
    out: Path
    """Where the new snapshots go, by slug."""
    at_deadline: bool = False
    """Whether rows without a time get the deadline's; otherwise they are never visible under a clock."""
    only: Collection[str] = ()
    """Competitions; none: all."""


def import_mle_live(
    request: ImportRequest, metrics: Mapping[str, Direction], clock: Clock, report_line: Callable[[str], None]
) -> Iterator[Outcome]:
    """Yield the result for each competition, as soon as it is known.

    Existing snapshots are not made again, and nothing is replaced.

    Args:
        request: what to import, and where to.
        metrics: the metrics that can be computed, by name, and the direction of each.
        clock: the time of the import.
        report_line: receives a line on what is being done.

    Raises:
        UsageError: the folders do not fit together, or cannot be read or written at all.
    """
    tasks = read_tasks(request.tasks)
    sources = _chosen(request)
    _check_out(request)
    with importing_into(request.out):
        for number, source in enumerate(sources, start=1):
            title = f"{source.slug} ({number} of {len(sources)})"
            report_line(title)

            def report(what: str, title: str = title) -> None:
                report_line(f"{title}: {what}")

            try:
                yield _one(source, tasks, request, metrics, clock, report)
            except OSError as error:
                where = f" ({error.filename})" if error.filename else ""
                yield Outcome(source.slug, "failed", sentence=f"{error.strerror or error}{where}")
            except SnapshotError as error:
                shown = "; ".join(str(problem) for problem in error.problems[:_SHOWN_PROBLEMS])
                more = len(error.problems) - _SHOWN_PROBLEMS
                yield Outcome(source.slug, "failed", sentence=f"{shown}{f'; and {more} more' if more > 0 else ''}")


def _chosen(request: ImportRequest) -> list[CompetitionFolder]:
    try:
        found = find_competitions(request.root)
    except OSError as error:
        raise UsageError(f"{request.root} cannot be read: {error.strerror or error}") from error
    if not found:
        raise UsageError(
            f"{request.root} is no MLE-Live folder: neither it nor a folder in it, or in its docs/, has kernels/ or discussions/"
        )
    missing = sorted(set(request.only) - {source.slug for source in found})
    if missing:
        raise UsageError(
            f"{request.root} has no {', '.join(missing)}; it has {', '.join(source.slug for source in found)}"
        )
    return [source for source in found if not request.only or source.slug in request.only]


def _check_out(request: ImportRequest) -> None:
    out, tasks = request.out.resolve(), request.tasks.resolve()
    if out.is_relative_to(tasks):
        raise UsageError(
            f"--out {request.out} lies in --tasks {request.tasks}, to which nothing is written: name another folder"
        )
    if out == request.root.resolve():
        raise UsageError(f"--out {request.out} is the folder that is imported: name another one")


def _one(
    source: CompetitionFolder,
    tasks: Mapping[str, Task],
    request: ImportRequest,
    metrics: Mapping[str, Direction],
    clock: Clock,
    report: Callable[[str], None],
) -> Outcome:
    task = tasks.get(source.slug)
    if source.community is None:
        return Outcome(source.slug, "nothing to import", sentence="it has neither kernels/ nor discussions/")
    if task is None:
        what = f"--tasks has no snapshot {source.slug}: make one with `bot snapshot import mle-bench`, or name another folder"
        return Outcome(source.slug, "no task", sentence=what)
    if task.manifest is None:
        raise SnapshotError(task.problems)
    new = NewSnapshot(source, source.community, task.folder, task.manifest, request.at_deadline)
    place = request.out / source.slug
    if place.exists() or place.is_symlink():
        return _there_already(place, new)
    with staged(place) as folder:
        counts = new.write(folder, metrics, clock.now(), report)
        folder.rename(place)
    return Outcome(source.slug, "imported", place, counts)


def _there_already(place: Path, new: NewSnapshot) -> Outcome:
    """Return the result where the snapshot's name is taken; nothing is replaced."""
    slug = new.source.slug
    manifest = read_manifest(place, Problems())
    if place.resolve() == new.task.resolve():
        sentence = f"{place} is the task itself: name another folder with --out"
    elif manifest is None or manifest.slug != slug or not any(IMPORTED in source for source in manifest.sources):
        sentence = f"{place} exists, and is not an import of MLE-Live's: move it away"
    elif (manifest.dated_at_deadline is not None) != new.at_deadline:
        sentence = f"{place} was imported with another --undated-at: move it away to import it again"
    else:
        return Outcome(slug, "there already", place)
    return Outcome(slug, "failed", sentence=sentence)

"""The import of all competitions of an MLE-Live folder, one snapshot after the other; a failure does not stop the others."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from bot.research.importers.mle_live.community import CommunityWriter, ImportCounts
from bot.research.importers.mle_live.folders import CompetitionFolder, TaskSnapshot, find_competitions, read_tasks
from bot.research.importers.staging import importing_into, staging_folder
from scrapers.snapshots.card import Direction
from scrapers.snapshots.community import COMMUNITY
from scrapers.snapshots.linking import link_files
from scrapers.snapshots.manifest import MANIFEST, read_manifest
from scrapers.snapshots.problems import Problems
from scrapers.snapshots.snapshot import Snapshot
from state.clock import Clock
from state.errors import SnapshotError, UsageError
from state.words import iso

IMPORTED = "community: an MLE-Live folder"
"""The beginning of the source in a manifest that marks an import."""
_REPORT_EVERY = 250
"""Files between two progress lines."""


def _write_manifest(task: Path, folder: Path, counts: ImportCounts, at_deadline: bool, now: datetime) -> None:
    content: dict[str, Any] = json.loads((task / MANIFEST).read_text(encoding="utf-8"))
    hashes = content.get("sha256", {})
    content["sha256"] = {name: value for name, value in hashes.items() if _of_task(name)}
    undated = f"{counts.undated.topics} topics, {counts.undated.messages} messages and {counts.undated.kernels} kernels"
    dated = "are dated at the deadline (see their `source`)" if at_deadline else "are never shown"
    content["sources"] = [
        *content.get("sources", []),
        f"{IMPORTED}; votes and scores date from an unknown day before `collected_at`",
        f"MLE-Live does not store comment times: {undated} without a time {dated}",
    ]
    content["collected_at"] = iso(now.replace(microsecond=0))
    content.pop("dated_at_deadline", None)
    if at_deadline:
        content["dated_at_deadline"] = counts.undated.model_dump()
    (folder / MANIFEST).write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _of_task(name: str) -> bool:
    """Whether a file of the task's snapshot goes unchanged into the new one."""
    first = name.split("/")[0]
    return first not in (COMMUNITY, MANIFEST) and not first.startswith(".")


def _ticker(noun: str, report: Callable[[str], None]) -> Callable[[int], None]:
    def tick(count: int) -> None:
        if count % _REPORT_EVERY == 0:
            report(f"{count:,} {noun}")

    return tick


Status = Literal["imported", "already exists", "no task", "nothing to import", "failed"]
_SHOWN_PROBLEMS = 3


@dataclass(frozen=True)
class LiveImportResult:
    """The result for one competition."""

    competition: str
    status: Status
    path: Path | None = None
    """The snapshot, if there is one."""
    counts: ImportCounts | None = None
    sentence: str | None = None
    """Why there is no snapshot, and what to do."""

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
) -> Iterator[LiveImportResult]:
    """Yield the result for each competition, as soon as it is known.

    Existing snapshots are not made again, and nothing is replaced. Raises UsageError if the folders do not fit together, or
    cannot be read or written at all.
    """
    tasks = read_tasks(request.tasks)
    sources = _choose_folders(request)
    _check_out(request)
    with importing_into(request.out):
        for number, source in enumerate(sources, start=1):
            title = f"{source.slug} ({number} of {len(sources)})"
            report_line(title)

            def report(activity: str, title: str = title) -> None:
                report_line(f"{title}: {activity}")

            try:
                yield _import_one(source, tasks, request, metrics, clock, report)
            except OSError as error:
                location = f" ({error.filename})" if error.filename else ""
                yield LiveImportResult(source.slug, "failed", sentence=f"{error.strerror or error}{location}")
            except SnapshotError as error:
                first_problems = "; ".join(str(problem) for problem in error.problems[:_SHOWN_PROBLEMS])
                more_count = len(error.problems) - _SHOWN_PROBLEMS
                yield LiveImportResult(
                    source.slug,
                    "failed",
                    sentence=f"{first_problems}{f'; and {more_count} more' if more_count > 0 else ''}",
                )


def _choose_folders(request: ImportRequest) -> list[CompetitionFolder]:
    try:
        folders = find_competitions(request.root)
    except OSError as error:
        raise UsageError(f"{request.root} cannot be read: {error.strerror or error}") from error
    if not folders:
        raise UsageError(
            f"{request.root} is not an MLE-Live folder: found no kernels/ or discussions/ in it, its subfolders or docs/"
        )
    missing = sorted(set(request.only) - {source.slug for source in folders})
    if missing:
        raise UsageError(
            f"not found in {request.root}: {', '.join(missing)}; available: {', '.join(source.slug for source in folders)}"
        )
    return [source for source in folders if not request.only or source.slug in request.only]


def _check_out(request: ImportRequest) -> None:
    out, tasks = request.out.resolve(), request.tasks.resolve()
    if out.is_relative_to(tasks):
        raise UsageError(
            f"--out {request.out} is inside --tasks {request.tasks}, which must not change: choose a different folder"
        )
    if out == request.root.resolve():
        raise UsageError(f"--out {request.out} is the folder to import: choose a different one")


def _import_one(
    source: CompetitionFolder,
    tasks: Mapping[str, TaskSnapshot],
    request: ImportRequest,
    metrics: Mapping[str, Direction],
    clock: Clock,
    report: Callable[[str], None],
) -> LiveImportResult:
    task = tasks.get(source.slug)
    if source.community is None:
        return LiveImportResult(source.slug, "nothing to import", sentence="the folder has no kernels/ or discussions/")
    if task is None:
        hint = f"--tasks has no snapshot {source.slug}: create it with `bot snapshot import mle-bench`, or pass another folder"
        return LiveImportResult(source.slug, "no task", sentence=hint)
    if task.manifest is None:
        raise SnapshotError(task.problems)
    place = request.out / source.slug
    if place.exists() or place.is_symlink():
        return _there_already(place, source.slug, task.folder, at_deadline=request.at_deadline)
    with staging_folder(place) as folder:
        link_files(task.folder, folder, _of_task, _ticker("task files", report))
        deadline = task.manifest.deadline if request.at_deadline else None
        writer = CommunityWriter(source.community, folder, source.slug, deadline)
        counts = writer.write(task.manifest.metric.direction == "minimize", _ticker("texts", report))
        _write_manifest(task.folder, folder, counts, request.at_deadline, clock.now())
        report("checking")
        Snapshot.load(folder, metrics)
        folder.rename(place)
    return LiveImportResult(source.slug, "imported", place, counts)


def _there_already(place: Path, slug: str, task: Path, *, at_deadline: bool) -> LiveImportResult:
    """Return the result for a name that is taken; nothing is replaced."""
    manifest = read_manifest(place, Problems())
    if place.resolve() == task.resolve():
        sentence = f"{place} is the task snapshot itself: choose a different folder with --out"
    elif manifest is None or manifest.slug != slug or not any(IMPORTED in source for source in manifest.sources):
        sentence = f"{place} exists and was not imported from MLE-Live: move or delete it"
    elif (manifest.dated_at_deadline is not None) != at_deadline:
        sentence = f"{place} was imported with a different --undated-at: move or delete it to import it again"
    else:
        return LiveImportResult(slug, "already exists", place)
    return LiveImportResult(slug, "failed", sentence=sentence)

"""All competitions of an MLE-Live folder made into snapshots, one after the other; one that fails stops no other."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from scrapers.imports.mle_live.community import Came
from scrapers.imports.mle_live.folders import CompetitionFolder, Task, find_competitions, read_tasks
from scrapers.imports.mle_live.laying import IMPORTED, Laying
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
    """What became of one competition."""

    competition: str
    status: Status
    path: Path | None = None
    """The snapshot, where there is one."""
    came: Came | None = None
    sentence: str | None = None
    """Why there is none, and what to do."""

    @property
    def whole(self) -> bool:
        """Whether nothing failed: neither the competition nor the reading of one of its lists."""
        return self.status != "failed" and not (self.came and self.came.broken)


@dataclass(frozen=True)
class Wish:
    """What is to be imported."""

    root: Path
    """An MLE-Live folder, or that of one of its competitions."""
    tasks: Path
    """A folder of snapshots, or one, which have the tasks; it is never written to."""
    out: Path
    """Where the new snapshots go, by slug."""
    at_deadline: bool = False
    """Whether rows without a time get the deadline's; else they are never visible under a clock."""
    only: Collection[str] = ()
    """Competitions; none: all."""


def import_mle_live(
    wish: Wish, metrics: Mapping[str, Direction], clock: Clock, say: Callable[[str], None]
) -> Iterator[Outcome]:
    """Yield what becomes of each competition, as soon as it is known.

    What is there already is not made again, and nothing is replaced.

    Args:
        wish: what, and where to.
        metrics: the metrics that can be computed, by name, and the direction of each.
        clock: says when it was imported.
        say: told what is being done.

    Raises:
        UsageError: the folders do not fit together, or cannot be read or written at all.
    """
    tasks = read_tasks(wish.tasks)
    sources = _chosen(wish)
    _check_out(wish)
    with importing_into(wish.out):
        for number, source in enumerate(sources, start=1):
            title = f"{source.slug} ({number} of {len(sources)})"
            say(title)

            def tell(what: str, title: str = title) -> None:
                say(f"{title}: {what}")

            try:
                yield _one(source, tasks, wish, metrics, clock, tell)
            except OSError as error:
                where = f" ({error.filename})" if error.filename else ""
                yield Outcome(source.slug, "failed", sentence=f"{error.strerror or error}{where}")
            except SnapshotError as error:
                shown = "; ".join(str(problem) for problem in error.problems[:_SHOWN_PROBLEMS])
                more = len(error.problems) - _SHOWN_PROBLEMS
                yield Outcome(source.slug, "failed", sentence=f"{shown}{f'; and {more} more' if more > 0 else ''}")


def _chosen(wish: Wish) -> list[CompetitionFolder]:
    try:
        found = find_competitions(wish.root)
    except OSError as error:
        raise UsageError(f"{wish.root} cannot be read: {error.strerror or error}") from error
    if not found:
        raise UsageError(
            f"{wish.root} is no MLE-Live folder: neither it nor a folder in it, or in its docs/, has kernels/ or discussions/"
        )
    missing = sorted(set(wish.only) - {source.slug for source in found})
    if missing:
        raise UsageError(
            f"{wish.root} has no {', '.join(missing)}; it has {', '.join(source.slug for source in found)}"
        )
    return [source for source in found if not wish.only or source.slug in wish.only]


def _check_out(wish: Wish) -> None:
    out, tasks = wish.out.resolve(), wish.tasks.resolve()
    if out.is_relative_to(tasks):
        raise UsageError(
            f"--out {wish.out} lies in --tasks {wish.tasks}, to which nothing is written: name another folder"
        )
    if out == wish.root.resolve():
        raise UsageError(f"--out {wish.out} is the folder that is imported: name another one")


def _one(
    source: CompetitionFolder,
    tasks: Mapping[str, Task],
    wish: Wish,
    metrics: Mapping[str, Direction],
    clock: Clock,
    tell: Callable[[str], None],
) -> Outcome:
    task = tasks.get(source.slug)
    if source.community is None:
        return Outcome(source.slug, "nothing to import", sentence="it has neither kernels/ nor discussions/")
    if task is None:
        what = f"--tasks has no snapshot {source.slug}: make one with `bot snapshot import mle-bench`, or name another folder"
        return Outcome(source.slug, "no task", sentence=what)
    if task.manifest is None:
        raise SnapshotError(task.problems)
    laying = Laying(source, source.community, task.folder, task.manifest, wish.at_deadline)
    place = wish.out / source.slug
    if place.exists() or place.is_symlink():
        return _there_already(place, laying)
    with staged(place) as folder:
        came = laying.lay(folder, metrics, clock.now(), tell)
        folder.rename(place)
    return Outcome(source.slug, "imported", place, came)


def _there_already(place: Path, laying: Laying) -> Outcome:
    """Return what is to be said of what bears the snapshot's name; nothing is replaced."""
    slug = laying.source.slug
    manifest = read_manifest(place, Problems())
    if place.resolve() == laying.task.resolve():
        sentence = f"{place} is the task itself: name another folder with --out"
    elif manifest is None or manifest.slug != slug or not any(IMPORTED in source for source in manifest.sources):
        sentence = f"{place} is there, and no import of MLE-Live's: move it away"
    elif (manifest.dated_at_deadline is not None) != laying.at_deadline:
        sentence = f"{place} was imported with another --undated-at: move it away to have it imported anew"
    else:
        return Outcome(slug, "there already", place)
    return Outcome(slug, "failed", sentence=sentence)

"""Make snapshots of competitions of Meta Kaggle."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from bot.research.importers.meta_kaggle.community import write_community, write_leaderboard
from bot.research.importers.meta_kaggle.competitions import MetaCompetition, exported_at, select_competition
from bot.research.importers.meta_kaggle.export import Export
from bot.research.importers.mle_live.folders import TaskSnapshot
from bot.research.importers.staging import staging_folder
from scrapers.snapshots.card import Direction
from scrapers.snapshots.community import COMMUNITY
from scrapers.snapshots.leaderboard import LEADERBOARD
from scrapers.snapshots.linking import link_files
from scrapers.snapshots.manifest import DESCRIPTION, FORMAT, MANIFEST
from scrapers.snapshots.snapshot import Snapshot
from state.errors import SnapshotError
from state.words import iso, plural

Status = Literal["imported", "already exists", "failed"]
_REPLACED = (COMMUNITY, MANIFEST)
"""Parts of a task's snapshot that the import writes itself."""


@dataclass(frozen=True)
class ImportResult:
    """The result for one competition."""

    slug: str
    status: Status
    community_only: bool | None = None
    """Whether the snapshot has no data, so that it can be read but not replayed."""
    counts: dict[str, int] = field(default_factory=dict)
    """Rows of each file, and `sources` that were found."""
    omitted: dict[str, int] = field(default_factory=dict)
    """Rows by the reason for which they are not in the snapshot."""
    reason: str | None = None
    """Why it failed."""


def import_competition(
    export: Export,
    competition: MetaCompetition,
    out: Path,
    metrics: Mapping[str, Direction],
    *,
    code: Path | None = None,
    task: TaskSnapshot | None = None,
    report: Callable[[str], None] = lambda activity: None,
) -> ImportResult:
    """Import one competition into `out`/slug unless that exists; faults are reported in the result.

    `metrics` are those that can be computed, `code` is the folder of Meta Kaggle Code, and `task` a snapshot with the data and
    answers.
    """
    slug, target = competition.slug, out / competition.slug
    if target.exists():
        return ImportResult(slug, "already exists")
    if competition.obstacle:
        return ImportResult(slug, "failed", reason=competition.obstacle)
    try:
        with staging_folder(target) as folder:
            if task is not None:
                if task.manifest is None:
                    raise SnapshotError(task.problems)
                competition = replace(competition, is_max=task.manifest.metric.direction == "maximize")
            report("selecting rows")
            left_out_counts = select_competition(export, competition)
            content = _community_only(competition, folder) if task is None else _link_task(task.folder, folder)
            counts = write_community(export, folder, code, report)
            if not (folder / LEADERBOARD).exists():
                write_leaderboard(export, folder)
            content |= _facts(competition, export, content, counts, left_out_counts)
            (folder / MANIFEST).write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
            report("checking")
            Snapshot.load(folder, metrics, community_only=task is None)
            folder.rename(target)
    except SnapshotError as error:
        return ImportResult(slug, "failed", reason="; ".join(map(str, error.problems[:3])))
    except OSError as error:
        return ImportResult(slug, "failed", reason=f"{error.strerror or error} ({error.filename})")
    return ImportResult(slug, "imported", task is None, counts, left_out_counts)


def _link_task(task: Path, folder: Path) -> dict[str, Any]:
    """Link a task's data and answers, and return the fields of its manifest."""
    link_files(task, folder, lambda name: name.split("/")[0] not in _REPLACED, lambda count: None)
    content = json.loads((task / MANIFEST).read_text(encoding="utf-8"))
    content.pop("dated_at_deadline", None)
    content["sources"] = [source for source in content.get("sources", ()) if not source.startswith("enabled_at")]
    hashes = content.get("sha256", {})
    content["sha256"] = {name: value for name, value in hashes.items() if name.split("/")[0] not in _REPLACED}
    return dict(content)


def _community_only(competition: MetaCompetition, folder: Path) -> dict[str, Any]:
    """Write the description of a competition without data, and return the first fields of its manifest."""
    title = competition.title or competition.slug
    description = (
        f"# {title}\n\nMetric: {competition.metric or 'unknown'}. This snapshot contains the community but no data.\n"
    )
    (folder / DESCRIPTION).write_text(description, encoding="utf-8")
    direction = "maximize" if competition.is_max else "minimize"
    return {
        "format": FORMAT,
        "slug": competition.slug,
        "title": title,
        "url": f"https://www.kaggle.com/competitions/{competition.slug}",
        "metric": {"name": competition.metric or "unknown", "direction": direction},
    }


def _facts(
    competition: MetaCompetition,
    export: Export,
    task: Mapping[str, Any],
    counts: Mapping[str, int],
    left_out_counts: Mapping[str, int],
) -> dict[str, Any]:
    """Return the fields of a manifest that come from Meta Kaggle."""
    files = ", ".join(f"{name}.csv {sha256[:12]}" for name, sha256 in sorted(export.sha256.items()))
    unreadable = ", ".join(f"{count:,} of {name}" for name, count in sorted(export.unreadable_dates.items()) if count)
    notes = [
        "community, dates and daily leaderboard: Meta Kaggle, which has only the latest version of each text and no edit dates",
        f"SHA-256 of the tables: {files}",
        f"notebook code: {counts['sources']:,} of {plural(counts['kernels'], 'version')}, from Meta Kaggle Code",
        *(f"left out: {reason} ({count:,})" for reason, count in left_out_counts.items()),
        *([f"unreadable dates in the whole export: {unreadable}"] if unreadable else []),
    ]
    return {
        "enabled_at": competition.enabled_at and iso(competition.enabled_at),
        "deadline": competition.deadline and iso(competition.deadline),
        "collected_at": iso(exported_at(export)),
        "exact_dates": True,
        "max_daily_submissions": task.get("max_daily_submissions") or competition.max_daily_submissions,
        "sources": [*task.get("sources", ()), *notes],
    }

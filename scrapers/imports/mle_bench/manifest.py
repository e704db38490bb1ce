"""The manifest of an imported competition, and where each of its fields comes from."""

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from scrapers.imports.mle_bench.board import Board
from scrapers.imports.mle_bench.columns import Columns
from scrapers.imports.mle_bench.metric_question import FoundMetric
from scrapers.imports.mle_bench.prepared import Prepared
from scrapers.snapshots.files import sha256_of
from scrapers.snapshots.leaderboard import LEADERBOARD
from scrapers.snapshots.manifest import DESCRIPTION, FORMAT, MANIFEST
from state.errors import Problem, SnapshotError

_HASHED = ("data/*", "private/*", DESCRIPTION, LEADERBOARD)
_SPLIT = "as MLE-bench's prepare.py made it, mostly out of Kaggle's training set: the test part is not Kaggle's"


@dataclass(frozen=True)
class Dates:
    """The start and the end of a competition, aware UTC, and the source of both."""

    enabled_at: datetime
    deadline: datetime
    source: str


def dates_of(board: Board, given: Dates | None) -> Dates:
    """Return a competition's dates: those of its leaderboard, else the given ones.

    Raises:
        SnapshotError: there are none.
    """
    if board.span is not None:
        first, last = board.span
        dated = sum(entry.submitted_at is not None for entry in board.entries)
        source = f"first and last `submissionDate` of {dated:,} of {len(board.entries):,} entries of {LEADERBOARD}"
        return Dates(first, last, source)
    if given is None:
        what = "has no `submissionDate`: give the competition's dates with --enabled-at and --deadline"
        raise SnapshotError([Problem(LEADERBOARD, None, what)])
    return given


def write_manifest(
    folder: Path, prepared: Prepared, columns: Columns, metric: FoundMetric, dates: Dates, now: datetime
) -> None:
    """Write `snapshot.json`, with the hashes of all files but those in folders of `data/`."""
    config = prepared.config
    sources = [
        "prepared MLE-bench competition",
        f"metric: {metric.how}",
        f"enabled_at and deadline: {dates.source}",
        f"sample submission: {'private' if prepared.sample_is_private else 'public'}/{prepared.sample.name}",
        f"answers: private/{prepared.answers.name}",
        *columns.notes,
        *metric.notes,
    ]
    if config.competition_type not in (None, "simple"):
        sources.append(f"of the type {config.competition_type!r} at Kaggle; here files are graded, as MLE-bench does")
    files = sorted(path for pattern in _HASHED for path in folder.glob(pattern) if path.is_file())
    manifest = {
        "format": FORMAT,
        "slug": prepared.slug,
        "title": config.name,
        "url": f"https://www.kaggle.com/competitions/{prepared.slug}",
        "category": None,
        "metric": {"name": metric.name, "direction": metric.direction, "params": metric.params},
        "id_column": columns.id_column,
        "key_columns": list(columns.key_columns),
        "prediction_columns": list(columns.predictions),
        "submission_file": "submission.csv",
        "enabled_at": _iso(dates.enabled_at),
        "deadline": _iso(dates.deadline),
        "max_daily_submissions": None,
        "kind": "csv",
        "collected_at": _iso(now),
        "split": _SPLIT,
        "sources": sources,
        "sha256": {path.relative_to(folder).as_posix(): sha256_of(path) for path in files},
    }
    text = json.dumps(manifest, indent=1, ensure_ascii=False, allow_nan=False)
    (folder / MANIFEST).write_text(text + "\n", encoding="utf-8", errors="surrogateescape")


def _iso(time: datetime) -> str:
    return f"{time:%Y-%m-%dT%H:%M:%SZ}"

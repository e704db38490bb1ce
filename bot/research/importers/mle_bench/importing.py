"""The import of one prepared competition as one snapshot with its manifest: whole under its name, or not at all."""

import json
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Literal

from bot.research.importers.mle_bench.board import LeaderboardCsv, read_board, write_board
from bot.research.importers.mle_bench.columns import SubmissionColumns, choose_columns
from bot.research.importers.mle_bench.layout import keep_grader, lay_out, put_sample, write_answers
from bot.research.importers.mle_bench.prepared_files import GRADE, PreparedCompetition, PreparedFiles, open_prepared
from bot.research.importers.mle_bench.tables import unpack_sample
from bot.research.importers.staging import staging_folder
from bot.research.metric_search.grade_calls import FindMetric, FoundMetric, MetricQuestion
from scrapers.snapshots.answers import read_answers
from scrapers.snapshots.card import Direction
from scrapers.snapshots.check import check
from scrapers.snapshots.files import DATA, walk
from scrapers.snapshots.leaderboard import LEADERBOARD
from scrapers.snapshots.manifest import DESCRIPTION, FORMAT, MANIFEST, hashes_of, read_manifest
from scrapers.snapshots.problems import Problems
from state.errors import Problem, SnapshotError
from state.words import iso

_SPLIT = "from MLE-bench's prepare.py, mostly split from Kaggle's training set: the test set is not Kaggle's"


@dataclass(frozen=True)
class Dates:
    """The start and the end of a competition, aware UTC, and the source of both."""

    enabled_at: datetime
    deadline: datetime
    source: str


def dates_of(board: LeaderboardCsv, dates: Dates | None) -> Dates:
    """Return a competition's dates: those of its leaderboard, else the given ones. Raises SnapshotError without any."""
    if board.span is not None:
        first, last = board.span
        dated = sum(time is not None for _, time in board.entries)
        source = f"first and last `submissionDate` in {LEADERBOARD} ({dated:,} of {len(board.entries):,} entries)"
        return Dates(first, last, source)
    if dates is None:
        reason = "has no `submissionDate`: pass the competition's dates with --enabled-at and --deadline"
        raise SnapshotError([Problem(LEADERBOARD, None, reason)])
    return dates


def write_manifest(
    folder: Path, files: PreparedFiles, columns: SubmissionColumns, metric: FoundMetric, dates: Dates, now: datetime
) -> None:
    """Write `snapshot.json`, with the hashes of all files but those in folders of `data/`."""
    config = files.config
    sources = [
        "prepared MLE-bench competition",
        f"metric: {metric.explanation}",
        f"enabled_at and deadline: {dates.source}",
        f"sample submission: {'private' if files.sample_is_private else 'public'}/{files.sample.name}",
        f"answers: private/{files.answers.name}",
        *columns.notes,
        *metric.notes,
    ]
    if config.competition_type not in (None, "simple"):
        sources.append(f"type on Kaggle: {config.competition_type!r}; graded here from files, as in MLE-bench")
    manifest = {
        "format": FORMAT,
        "slug": files.slug,
        "title": config.name,
        "url": f"https://www.kaggle.com/competitions/{files.slug}",
        "category": None,
        "metric": {"name": metric.name, "direction": metric.direction, "params": metric.params},
        "id_column": columns.id_column,
        "key_columns": list(columns.key_columns),
        "prediction_columns": list(columns.predictions),
        "submission_file": "submission.csv",
        "enabled_at": iso(dates.enabled_at),
        "deadline": iso(dates.deadline),
        "max_daily_submissions": None,
        "kind": "csv",
        "collected_at": iso(now.replace(microsecond=0)),
        "split": _SPLIT,
        "sources": sources,
        "sha256": hashes_of(folder),
    }
    text = json.dumps(manifest, indent=1, ensure_ascii=False, allow_nan=False)
    (folder / MANIFEST).write_text(text + "\n", encoding="utf-8", errors="surrogateescape")


Status = Literal["imported", "already exists", "failed"]


@dataclass(frozen=True)
class BenchImportResult:
    """The result for one competition; after a failure only `problems` are known."""

    slug: str
    status: Status
    metric: str | None = None
    direction: str | None = None
    explanation: str | None = None
    """How the metric was found."""
    rows: int | None = None
    """Of the answers."""
    teams: int | None = None
    files: int | None = None
    """Of `data/`."""
    omitted: tuple[str, ...] = ()
    """Files of `public/` that are not in `data/`, each with the reason."""
    notes: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    seconds: float = 0.0


_SCRATCH = "scratch"


@dataclass(frozen=True)
class BenchImport:
    """The settings that all competitions of one import share."""

    out: Path
    """The folder of snapshots."""
    metrics: Mapping[str, Direction]
    """The metrics that can be computed, by name."""
    find_metric: FindMetric
    now: datetime
    dates: Dates | None = None
    """For competitions whose leaderboard has no dates."""
    progress: Callable[[str, str], None] = lambda slug, doing: None
    """Receives the slug and the present activity, for a progress line."""

    def run(self, place: PreparedCompetition) -> BenchImportResult:
        """Import one competition unless its snapshot exists already; faults are reported in the outcome.

        A snapshot is made in a folder with a dot before its name, which is renamed when everything is checked; what a
        killed import left behind is removed by the next. Two imports must not write the same snapshot at once.
        """
        start = time.monotonic()
        target = self.out / place.slug
        if target.exists() or target.is_symlink():
            return _there_already(place.slug, target)
        try:
            with staging_folder(target) as folder:
                outcome = self._make(place, folder)
                folder.rename(target)
        except SnapshotError as error:
            outcome = BenchImportResult(place.slug, "failed", problems=error.problems)
        except OSError as error:
            problem = Problem(Path(str(error.filename or place.slug)).name, None, error.strerror or str(error))
            outcome = BenchImportResult(place.slug, "failed", problems=(problem,))
        return replace(outcome, seconds=round(time.monotonic() - start, 2))

    def _make(self, place: PreparedCompetition, folder: Path) -> BenchImportResult:
        self.progress(place.slug, "reading")
        scratch = folder / _SCRATCH
        scratch.mkdir()
        files = open_prepared(place)
        board = read_board(files.board)
        dates = dates_of(board, self.dates)
        sample = unpack_sample(files.sample, scratch)
        columns = choose_columns(files, sample, scratch)
        put_sample(files, sample, folder)
        (folder / "private").mkdir()
        rows = write_answers(columns, sample, folder / "private/answers.csv")
        problems = Problems()
        answers = read_answers(folder, columns.rows, columns.predictions, columns.labels, problems)
        if answers is None or problems.problems:
            raise SnapshotError(problems.problems)
        omitted = lay_out(
            files, folder, answers, lambda count: self.progress(place.slug, f"preparing files: {count:,} so far")
        )
        metric = self._metric(files, columns, board, folder)
        self.progress(place.slug, "checking")
        write_board(board, folder / LEADERBOARD)
        shutil.copyfile(files.description, folder / DESCRIPTION)
        shutil.rmtree(scratch)
        write_manifest(folder, files, columns, metric, dates, self.now)
        checked = check(folder, self.metrics)
        if checked.problems:
            raise SnapshotError(checked.problems)
        notes = [*columns.notes, *metric.notes]
        if files.sample_is_private:
            notes.append(f"only {files.sample.name} was taken from private/")
        if board.unscored:
            entries = "entry without a score is" if board.unscored == 1 else "entries without a score are"
            notes.append(f"{board.unscored:,} {entries} left out of {LEADERBOARD}")
        return BenchImportResult(
            slug=place.slug,
            status="imported",
            metric=metric.name,
            direction=metric.direction,
            explanation=metric.explanation,
            rows=rows,
            teams=len(board.entries),
            files=sum(1 for _ in walk(folder / DATA)),
            omitted=tuple(omitted),
            notes=tuple(notes),
        )

    def _metric(
        self, files: PreparedFiles, columns: SubmissionColumns, board: LeaderboardCsv, folder: Path
    ) -> FoundMetric:
        self.progress(files.slug, f"comparing metrics with {GRADE}")
        question = MetricQuestion(
            slug=files.slug,
            grader=files.grader,
            answers=files.answers,
            truth=folder / "private/answers.csv" if columns.known else None,
            sample=folder / "data/sample_submission.csv",
            key=columns.rows,
            board_lower_is_better=board.lower_is_better,
        )
        metric = self.find_metric(question)
        if metric.name != GRADE:
            return metric
        return replace(metric, params=metric.params | keep_grader(files, folder / "private"))


def _there_already(slug: str, target: Path) -> BenchImportResult:
    manifest = read_manifest(target, Problems())
    if manifest is None or manifest.slug != slug:
        reason = "already exists and is not a snapshot of this competition: move or delete it"
        return BenchImportResult(slug, "failed", problems=(Problem(str(target), None, reason),))
    return BenchImportResult(slug, "already exists", metric=manifest.metric.name, direction=manifest.metric.direction)

"""Grades many submissions of many competitions: one broken file, or snapshot, spoils only itself."""

import contextlib
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bot.evaluation.answers import GradeReport
from bot.evaluation.client.worker import Worker
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.research.grading.submission_list import SubmissionListItem
from scrapers.snapshots.card import TaskCard
from scrapers.snapshots.snapshot import Snapshot
from state.errors import BotError, InfrastructureFailure, UsageError


@dataclass(frozen=True)
class GradingFailure:
    """A submission that could not be graded through no fault of its own."""

    competition_id: str
    submission_path: str
    message: str


@dataclass(frozen=True)
class GradedList:
    """The result of a list: MLE-bench's report on each submission in the list's order, and those that could not be graded."""

    reports: Sequence[GradeReport]
    failures: Sequence[GradingFailure]

    def summary(self) -> dict[str, Any]:
        """Return MLE-bench's grading report, and under `not_graded` what could not be graded."""
        return {**grading_report(self.reports), "not_graded": [asdict(f) for f in self.failures]}


def grading_report(reports: Sequence[GradeReport]) -> dict[str, Any]:
    """Return MLE-bench's grading report on some submissions: totals, and the report on each, with no more than a grade has."""
    count = {name: sum(getattr(r, name) for r in reports) for name in _COUNTED_FLAGS.values()}
    totals = {f"total_{name}": count[flag] for name, flag in _COUNTED_FLAGS.items()}
    rows = [r.model_dump(mode="json", include=set(GradeReport.model_fields)) for r in reports]
    return {"total_runs": len(reports), **totals, "competition_reports": rows}


_COUNTED_FLAGS: Mapping[str, str] = {
    "runs_with_submissions": "submission_exists",
    "valid_submissions": "valid_submission",
    "medals": "any_medal",
    "gold_medals": "gold_medal",
    "silver_medals": "silver_medal",
    "bronze_medals": "bronze_medal",
    "above_median": "above_median",
}


def find_snapshots(submissions: Sequence[SubmissionListItem], folder: Path) -> dict[str, Path]:
    """Return the snapshot of each listed competition: the folder with its name.

    Raises:
        UsageError: some are missing; all of these are named.
    """
    folders = {s.competition_id: folder / s.competition_id for s in submissions}
    absent = [name for name, path in folders.items() if not path.is_dir()]
    if absent:
        raise UsageError(f"{folder} has no snapshot of {', '.join(absent)}.")
    return folders


async def grade_many(
    submissions: Sequence[SubmissionListItem],
    snapshots: Mapping[str, Path],
    worker: Worker,
    say: Callable[[str, float], None],
) -> GradedList:
    """Grade submissions competition by competition, each snapshot loaded once.

    A submission that ends the worker, or takes too long, is reported as not valid. `say` receives a line on the progress, and
    the share that is done.
    """
    reports: dict[int, GradeReport] = {}
    failures: dict[int, GradingFailure] = {}
    for position, (competition, path) in enumerate(snapshots.items(), 1):
        places = [n for n, s in enumerate(submissions) if s.competition_id == competition]
        competition_grader = _Competition(path, worker)
        while left_places := [place for place in places if place not in reports and place not in failures]:
            done_count = len(reports) + len(failures)
            say(
                f"{competition} ({position}/{len(snapshots)}) | {done_count} of {len(submissions)} submissions graded",
                done_count / len(submissions),
            )
            try:
                graded = await competition_grader.grade([submissions[p].path for p in left_places])
            except BotError as error:
                failures |= {p: GradingFailure(competition, str(submissions[p].path), str(error)) for p in left_places}
            else:
                # What is listed, and aggregated, goes by the folder's name.
                named_reports = [report.model_copy(update={"competition_id": competition}) for report in graded]
                reports |= dict(zip(left_places, named_reports, strict=False))
    return GradedList([reports[p] for p in sorted(reports)], [failures[p] for p in sorted(failures)])


@dataclass
class _Competition:
    """One competition's snapshot, and how its submissions are graded."""

    path: Path
    worker: Worker
    card: TaskCard | None = None
    alone: bool = False

    async def grade(self, paths: Sequence[Path | None]) -> list[GradeReport]:
        """Grade the first of these, one at least; after a failure of the worker one by one, to find the cause.

        Raises:
            SnapshotError: the snapshot cannot be graded against.
            UsageError: its metric is not known.
            InfrastructureFailure: not even the report for a missing submission can be made.
        """
        card = self.card = self.card or Snapshot.load(self.path, METRIC_DIRECTIONS).card
        try:
            return await self.worker.grade_some(self.path, card, paths[:1] if self.alone else paths)
        except InfrastructureFailure as error:
            if not self.alone:
                self.alone = True
                return await self.grade(paths)
            (report,) = await self.worker.grade_some(self.path, card, [None])
            message = f"It could not be graded: {str(error).strip().splitlines()[-1]}"
            marks = {"submission_exists": True, "submission_path": str(paths[0]), "message": message}
            return [report.model_copy(update=marks)]


def write_report(summary: Mapping[str, Any], folder: Path, now: datetime) -> Path:
    """Write a grading report under MLE-bench's name into a folder, created if necessary; nothing is ever overwritten."""
    folder.mkdir(parents=True, exist_ok=True)
    stamp = f"{now.astimezone(UTC):%Y-%m-%dT%H-%M-%S}-GMT"
    text = report_text(summary)
    for count in itertools.count(1):
        path = folder / f"{stamp}{'' if count == 1 else f'-{count}'}_grading_report.json"
        with contextlib.suppress(FileExistsError), path.open("x", encoding="utf-8") as file:
            file.write(text)
            break
    return path


def report_text(summary: Mapping[str, Any]) -> str:
    """Return a grading report as the content of its file."""
    return json.dumps(summary, indent=2, allow_nan=False) + "\n"

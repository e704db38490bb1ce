"""One prepared competition becomes one snapshot: whole under its name, or not at all."""

import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from scrapers.imports.mle_bench.answers_file import write_answers
from scrapers.imports.mle_bench.board import Board, read_board, write_board
from scrapers.imports.mle_bench.columns import Columns, choose_columns
from scrapers.imports.mle_bench.finding import FindMetric, FoundMetric, Question
from scrapers.imports.mle_bench.grader_files import keep_grader
from scrapers.imports.mle_bench.laying_out import LeftOut, lay_out, put_sample
from scrapers.imports.mle_bench.manifest_of import Dates, dates_of, write_manifest
from scrapers.imports.mle_bench.outcome import Outcome
from scrapers.imports.mle_bench.places import Place
from scrapers.imports.mle_bench.prepared import GRADE, Prepared, open_prepared
from scrapers.imports.mle_bench.tables import unpack_sample
from scrapers.snapshots.answers import read_answers
from scrapers.snapshots.card import Direction
from scrapers.snapshots.check import check
from scrapers.snapshots.found import Found
from scrapers.snapshots.inside import DATA, walk
from scrapers.snapshots.leaderboard import LEADERBOARD
from scrapers.snapshots.manifest import DESCRIPTION, read_manifest
from state.errors import Problem, SnapshotError

_SCRATCH = "scratch"
_STAGED = ".{}.importing"


def remove_leftovers(out: Path) -> None:
    """Remove the unfinished folders of imports that were killed; no other import may write there meanwhile."""
    for left in out.glob(_STAGED.format("*")):
        if left.is_dir() and not left.is_symlink():
            shutil.rmtree(left, ignore_errors=True)


@dataclass(frozen=True)
class Importing:
    """What all competitions of one import share."""

    out: Path
    """The folder of snapshots."""
    metrics: Mapping[str, Direction]
    """The metrics that can be computed, by name."""
    find_metric: FindMetric
    now: datetime
    dates: Dates | None = None
    """For competitions whose leaderboard has no dates."""
    told: Callable[[str, str], None] = lambda slug, doing: None
    """Receives what is done, for a progress line."""

    def run(self, place: Place) -> Outcome:
        """Import one competition unless it is there already; what is wrong with it is in the outcome.

        A snapshot is made in a folder with a dot before its name, which takes its own name when all is checked: what an
        import that was killed left behind is removed by the next. Two imports must not write the same snapshot at once.
        """
        began = time.monotonic()
        target = self.out / place.slug
        if target.exists() or target.is_symlink():
            return _there_already(place.slug, target)
        staged = self.out / _STAGED.format(place.slug)
        try:
            shutil.rmtree(staged, ignore_errors=True)
            (staged / _SCRATCH).mkdir(parents=True)
            outcome = self._make(place, staged)
            staged.rename(target)
        except SnapshotError as error:
            outcome = Outcome(place.slug, "failed", problems=error.problems)
        except OSError as error:
            problem = Problem(Path(str(error.filename or place.slug)).name, None, error.strerror or str(error))
            outcome = Outcome(place.slug, "failed", problems=(problem,))
        finally:
            shutil.rmtree(staged, ignore_errors=True)
        return replace(outcome, seconds=round(time.monotonic() - began, 2))

    def _make(self, place: Place, staged: Path) -> Outcome:
        self.told(place.slug, "reading")
        prepared = open_prepared(place)
        board = read_board(prepared.board)
        dates = dates_of(board, self.dates)
        sample = unpack_sample(prepared.sample, staged / _SCRATCH)
        columns = choose_columns(prepared, sample, staged / _SCRATCH)
        put_sample(prepared, sample, staged)
        (staged / "private").mkdir()
        rows = write_answers(columns, sample, staged / "private/answers.csv")
        left = self._data(prepared, columns, staged)
        metric = self._metric(prepared, columns, board, staged)
        self.told(place.slug, "checking")
        write_board(board, staged / LEADERBOARD)
        shutil.copyfile(prepared.description, staged / DESCRIPTION)
        shutil.rmtree(staged / _SCRATCH)
        write_manifest(staged, prepared, columns, metric, dates, self.now)
        checked = check(staged, self.metrics)
        if checked.problems:
            raise SnapshotError(checked.problems)
        return _imported(staged, columns, metric, board, rows, left, prepared)

    def _data(self, prepared: Prepared, columns: Columns, staged: Path) -> list[LeftOut]:
        found = Found()
        answers = read_answers(staged, columns.rows, columns.predictions, columns.labels, found)
        if answers is None or found.problems:
            raise SnapshotError(found.problems)
        return lay_out(
            prepared, staged, answers, lambda files: self.told(prepared.slug, f"laying out, {files:,} files so far")
        )

    def _metric(self, prepared: Prepared, columns: Columns, board: Board, staged: Path) -> FoundMetric:
        self.told(prepared.slug, f"comparing metrics with {GRADE}")
        question = Question(
            slug=prepared.slug,
            grader=prepared.grader,
            answers=prepared.answers,
            truth=staged / "private/answers.csv" if columns.known else None,
            sample=staged / "data/sample_submission.csv",
            key=columns.rows,
            columns=columns.predictions,
            board_lower_is_better=board.lower_is_better,
        )
        metric = self.find_metric(question)
        if metric.name != GRADE:
            return metric
        return replace(metric, params=metric.params | keep_grader(prepared, staged / "private"))


def _imported(
    staged: Path,
    columns: Columns,
    metric: FoundMetric,
    board: Board,
    rows: int,
    left: list[LeftOut],
    prepared: Prepared,
) -> Outcome:
    notes = [*columns.notes, *metric.notes]
    if prepared.sample_is_private:
        notes.append(f"only {prepared.sample.name} was taken from private/")
    if board.unscored:
        entries = "entry without a score is" if board.unscored == 1 else "entries without a score are"
        notes.append(f"{board.unscored:,} {entries} left out of {LEADERBOARD}")
    return Outcome(
        slug=prepared.slug,
        status="imported",
        metric=metric.name,
        direction=metric.direction,
        how=metric.how,
        rows=rows,
        teams=len(board.entries),
        files=sum(1 for _ in walk(staged / DATA)),
        left_out=tuple(str(one) for one in left),
        notes=tuple(notes),
    )


def _there_already(slug: str, target: Path) -> Outcome:
    manifest = read_manifest(target, Found())
    if manifest is None or manifest.slug != slug:
        what = "is in the way: it is no snapshot of this competition, and nothing is replaced"
        return Outcome(slug, "failed", problems=(Problem(str(target), None, what),))
    return Outcome(slug, "there already", metric=manifest.metric.name, direction=manifest.metric.direction)

"""MLE-bench's `leaderboard.csv`: Kaggle's real private leaderboard, best first, with the day of each team's submission."""

import csv
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

from bot.research.importers.mle_bench.tables import table_rows
from scrapers.snapshots.leaderboard import LEADERBOARD
from scrapers.snapshots.problems import Problems
from scrapers.snapshots.tables import finite_number
from state.errors import Problem, SnapshotError

_SCORE, _DATE = "score", "submissionDate"
_OLD_DATE = "%m/%d/%Y %I:%M:%S %p"


@dataclass(frozen=True)
class LeaderboardCsv:
    """A leaderboard in file order."""

    entries: tuple[tuple[str, datetime | None], ...]
    """Each team's score as written, and the time of its submission, if known (aware UTC)."""
    unscored: int = 0
    """Entries without a score, which are left out."""

    @property
    def scores(self) -> list[float]:
        """The scores, best first."""
        return [float(score) for score, _ in self.entries]

    @property
    def lower_is_better(self) -> bool | None:
        """The direction by the order; None if the first score is also the last."""
        first, last = self.scores[0], self.scores[-1]
        return None if first == last else first < last

    @property
    def span(self) -> tuple[datetime, datetime] | None:
        """The times of the first and the last submission; None if no entry has a date."""
        dates = [time for _, time in self.entries if time is not None]
        return (min(dates), max(dates)) if dates else None


def read_board(path: Path) -> LeaderboardCsv:
    """Read a leaderboard; a date without a zone is UTC, as Kaggle's are, and an unreadable date counts as missing.

    A team whose submissions all failed has no score: it is left out.

    Raises:
        SnapshotError: no column `score`, no entries with one, a score that is no finite number, or scores that are not in order.
    """
    problems = Problems()
    entries: list[tuple[str, datetime | None]] = []
    lines: list[int] = []
    unscored = 0
    with table_rows(path) as rows:
        header = next(rows, (0, []))[1]
        if _SCORE not in header:
            raise SnapshotError([Problem(LEADERBOARD, 1, f"has no column `{_SCORE}`")])
        for line, cells in rows:
            row = dict(zip(header, cells, strict=False))
            score = row.get(_SCORE, "").strip()
            if not score:
                unscored += 1
            elif finite_number(score) is None:
                problems.add(LEADERBOARD, f"`{_SCORE}` is {score[:40]!r}, not a finite number", line, kind="scores")
            else:
                entries.append((score, _time(row.get(_DATE, ""))))
                lines.append(line)
    if not entries and not problems.problems:
        problems.add(LEADERBOARD, "has no scored entries" if unscored else "has no entries")
    if not problems.problems:
        _check_order(LeaderboardCsv(tuple(entries)), lines, problems)
    if problems.problems:
        raise SnapshotError(problems.problems)
    return LeaderboardCsv(tuple(entries), unscored)


def write_board(board: LeaderboardCsv, path: Path) -> None:
    """Write `rank,score`, and `submitted_at` if any entry has it, in the board's order."""
    dated = board.span is not None
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["rank", "score", *(["submitted_at"] if dated else [])])
        for rank, (score, time) in enumerate(board.entries, start=1):
            submitted_at = f"{time:%Y-%m-%dT%H:%M:%SZ}" if time else ""
            writer.writerow([rank, score, *([submitted_at] if dated else [])])


def _check_order(board: LeaderboardCsv, lines: list[int], problems: Problems) -> None:
    """Name the first entry that is better than the one above it."""
    lower = board.lower_is_better
    for line, (previous, score) in zip(lines[1:], pairwise(board.scores), strict=True):
        if score != previous and (lower is None or (score < previous) == lower):
            problems.add(LEADERBOARD, f"is not sorted from best to worst: {score:g} comes after {previous:g}", line)
            return


def _time(text: str) -> datetime | None:
    text = text.strip()
    if not text or text.isdigit():  # a bare number would be read as a date without dashes
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        try:
            time = datetime.strptime(text, _OLD_DATE)  # noqa: DTZ007 -- its zone is set below
        except ValueError:
            return None
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)

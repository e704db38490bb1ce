"""The real leaderboard of a snapshot: the scores in file order, best first."""

from pathlib import Path

from scrapers.snapshots.card import Direction
from scrapers.snapshots.fields import parse_time
from scrapers.snapshots.problems import Problems
from scrapers.snapshots.tables import NotCsv, finite_number, open_table

LEADERBOARD = "leaderboard.csv"


def read_leaderboard(root: Path, direction: Direction | None, problems: Problems) -> list[float]:
    """Return the column `score`, each entry a finite number, in file order, of which the first must be the best."""
    path = root / LEADERBOARD
    scores: list[float] = []
    if not path.is_file():
        return scores
    try:
        with problems.reading(LEADERBOARD), open_table(path) as rows:
            header = next(rows, (0, []))[1]
            if "score" not in header:
                problems.add(LEADERBOARD, "has no column `score`", 1)
                return scores
            for line, cells in rows:
                row = dict(zip(header, cells, strict=False))
                try:
                    if row.get("submitted_at"):
                        parse_time(row["submitted_at"])
                except ValueError as error:
                    problems.add(LEADERBOARD, f"`submitted_at`: {error}", line, kind="times")
                score = finite_number(row.get("score", ""))
                if score is None:
                    problems.add(LEADERBOARD, "`score` is not a finite number", line, kind="scores")
                else:
                    scores.append(score)
    except NotCsv as error:
        problems.add(LEADERBOARD, str(error), error.line)
    if not scores:
        problems.add(LEADERBOARD, "has no scores")
    elif direction and (scores[0] > scores[-1] if direction == "minimize" else scores[0] < scores[-1]):
        problems.add(LEADERBOARD, f"is not sorted from best to worst: the metric's direction is {direction}")
    return scores

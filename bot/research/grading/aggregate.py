"""Means over seeds from grading reports, as on MLE-bench's leaderboard; importable without numpy.

Source: openai/mle-bench at commit 783b15a, `experiments/aggregate_grading_reports.py`: the i-th report of a competition is
of seed i; for each seed, the share of the split's competitions with each flag, in percent; then mean and standard error over
the seeds, and mean ± 1.96 standard errors.
"""

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, StrictBool, StrictStr, ValidationError

from state.errors import UsageError

ASKED_FOR = 3
"""Seeds that MLE-bench asks for."""
_Z = 1.96


class Row(BaseModel):
    """The relevant fields of the report on one submission; MLE-bench's own script needs all of them."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    competition_id: StrictStr
    gold_medal: StrictBool
    silver_medal: StrictBool
    bronze_medal: StrictBool
    above_median: StrictBool
    submission_exists: StrictBool
    valid_submission: StrictBool


class _Report(BaseModel):
    """The relevant fields of a grading report."""

    competition_reports: tuple[Row, ...]


_MISSING = dict.fromkeys(Row.model_fields, False)
"""The flags of a submission that was never made."""

_SHARES: Mapping[str, Callable[[Row], bool]] = {
    "submission_exists_percentage": lambda row: row.submission_exists,
    "valid_submissions_percentage": lambda row: row.valid_submission,
    "above_median_percentage": lambda row: row.above_median,
    "gold_medal_percentage": lambda row: row.gold_medal,
    "silver_medal_percentage": lambda row: row.silver_medal,
    "bronze_medal_percentage": lambda row: row.bronze_medal,
    "any_medal_percentage": lambda row: row.gold_medal or row.silver_medal or row.bronze_medal,
}


def read_reports(paths: Sequence[Path]) -> list[Row]:
    """Read the rows of grading reports: the files by path, the rows of each by competition.

    Raises:
        UsageError: a file is no grading report.
    """
    rows: list[Row] = []
    for path in sorted(paths, key=str):
        try:
            report = _Report.model_validate_json(path.read_bytes())
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error}.") from error
        except ValidationError as error:
            first = error.errors()[0]
            location = ".".join(map(str, first["loc"]))
            raise UsageError(f"{path} is no grading report: {location or 'it'}: {first['msg']}.") from error
        rows += sorted(report.competition_reports, key=lambda row: row.competition_id)
    return rows


def read_split(path: Path) -> list[str]:
    """Read a split: the ids of competitions, one a line.

    Raises:
        UsageError: it cannot be read, holds nothing, or names one twice.
    """
    try:
        ids = [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"The split {path} cannot be read: {error}.") from error
    if not ids or len(set(ids)) < len(ids):
        raise UsageError(f"The split {path} {'names a competition twice' if ids else 'names no competition'}.")
    return ids


def aggregate(rows: Sequence[Row], competitions: Sequence[str], *, pad_missing: bool = False) -> dict[str, Any]:
    """Average over seeds.

    Args:
        rows: in the order of their seeds, as `read_reports` gives them; those of other competitions are ignored.
        pad_missing: a competition with fewer reports than another counts as not submitted in the seeds that it lacks; else
            there are only as many seeds as every competition has reports.

    Returns:
        MLE-bench's names: `num_seeds_averaged`, `num_competitions_per_seed`, `metrics` (for each `mean`, `standard_error`,
        `ci_lower`, `ci_upper`, in percent; `total_competitions` is a count); and `seeds`, the percentages of each.

    Raises:
        UsageError: there is no complete seed.
    """
    by_id: dict[str, list[Row]] = {c: [row for row in rows if row.competition_id == c] for c in competitions}
    counts = [len(reports) for reports in by_id.values()]
    seeds = max(counts) if pad_missing else min(counts)
    if not seeds:
        absent = [c for c, reports in by_id.items() if not reports]
        raise UsageError(f"There is no complete seed: no report is of {', '.join(absent)}.")
    shares_by_seed = [_shares([_of_seed(reports, c, seed) for c, reports in by_id.items()]) for seed in range(seeds)]
    return {
        "num_seeds_averaged": seeds,
        "num_competitions_per_seed": len(competitions),
        "metrics": {name: _summary([s[name] for s in shares_by_seed]) for name in shares_by_seed[0]},
        "seeds": shares_by_seed,
    }


def _of_seed(reports: Sequence[Row], competition: str, seed: int) -> Row:
    return reports[seed] if seed < len(reports) else Row.model_validate(_MISSING | {"competition_id": competition})


def _shares(rows: Sequence[Row]) -> dict[str, float]:
    shares = {name: sum(map(is_so, rows)) / len(rows) * 100 for name, is_so in _SHARES.items()}
    return {"total_competitions": float(len(rows)), **shares}


def _summary(values: Sequence[float]) -> dict[str, float]:
    mean = statistics.fmean(values)
    error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0
    return {"mean": mean, "ci_lower": mean - _Z * error, "ci_upper": mean + _Z * error, "standard_error": error}

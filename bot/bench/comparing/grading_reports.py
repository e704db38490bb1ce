"""The runs that are compared as MLE-bench's grading reports, a file for each contender and seed, for its aggregation."""

import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from bot.bench.comparing.runs import Runs
from bot.evaluation.batches.grade_many import grading_report
from bot.report.result import RunResult

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")


def grading_reports(runs: Runs) -> Mapping[PurePath, dict[str, Any]]:
    """Return a grading report for each contender and seed, under the path of its file.

    Paths are `comind-no-blend/seed-000_grading_report.json`, so that those of one contender, in the order of their names, are
    the seeds of an average. What was run again with the same seed counts as one seed more.
    """
    results: dict[PurePath, list[RunResult]] = {}
    for (_, seed), cell in sorted(runs.cells.items()):
        for contender, repeated in cell.items():
            folder = _NOT_IN_NAMES.sub("-", contender.title(with_model=runs.with_model)).strip("-.")
            for time, result in enumerate(repeated):
                again = f"-{time + 1}" if time else ""
                path = PurePath(folder, f"seed-{seed:03d}{again}_grading_report.json")
                results.setdefault(path, []).append(result)
    return {path: grading_report(found) for path, found in results.items()}

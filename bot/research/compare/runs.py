"""The finished replays that are compared, read from their results alone; what is left out; and MLE-bench's grading reports."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from bot.evaluation.answers import GradeReport
from bot.execution.folder import RunFolder
from bot.report.result import RunResult, read_result
from bot.research.contender import Contender
from state.errors import UsageError
from state.words import plural

Block = tuple[str, int]
"""A competition and a seed: runs in one block are paired."""
Cells = Mapping[Block, Mapping[Contender, tuple[RunResult, ...]]]
"""Results by block and contender; more than one where a run was repeated."""
_COUNTED_FLAGS: Mapping[str, str] = {
    "runs_with_submissions": "submission_exists",
    "valid_submissions": "valid_submission",
    "medals": "any_medal",
    "gold_medals": "gold_medal",
    "silver_medals": "silver_medal",
    "bronze_medals": "bronze_medal",
    "above_median": "above_median",
}
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")
_FINISHED_BY = "finish them with `bot resume`, or repeat the same `bot bench` command"


@dataclass(frozen=True)
class Runs:
    """Finished replays."""

    cells: Cells
    incomplete: tuple[str, ...]
    """A sentence for each kind of run that is not compared."""

    @property
    def contenders(self) -> tuple[Contender, ...]:
        """All contenders, by name."""
        return tuple(sorted({c for cell in self.cells.values() for c in cell}))

    @property
    def results(self) -> Iterator[tuple[Contender, RunResult]]:
        """Each result with its contender, in the order of competitions, seeds and names."""
        for _, cell in sorted(self.cells.items()):
            for contender, results in sorted(cell.items()):
                for result in results:
                    yield contender, result

    @property
    def with_model(self) -> bool:
        """Whether contenders are told apart by their models too."""
        return len({c.model for c in self.contenders}) > 1


def read_runs(paths: Sequence[Path]) -> Runs:
    """Read the results of runs in folders, or in folders with such.

    Raises UsageError: there is no such folder, or no finished replay in any.
    """
    cells: dict[Block, dict[Contender, tuple[RunResult, ...]]] = {}
    unfinished, live, unreadable = 0, 0, []
    for folder in _folders(paths):
        if not folder.result.is_file():
            unfinished += 1
            continue
        try:
            result = read_result(folder)
        except UsageError as error:
            unreadable.append(
                f"The comparison omits {folder.path.name}, whose result is unreadable: {str(error).splitlines()[0]}"
            )
            continue
        if result.live:
            live += 1
        elif result.status != "finished":
            unfinished += 1
        else:
            cell = cells.setdefault((result.competition_id, result.seed), {})
            contender = Contender(result.agent, result.variant, result.model)
            cell[contender] = (*cell.get(contender, ()), result.own_work)
    incomplete = [
        *([f"The comparison omits {plural(unfinished, 'unfinished run')}: {_FINISHED_BY}"] if unfinished else []),
        *([f"The comparison omits {plural(live, 'live run')}, which have no hidden answers"] if live else []),
        *unreadable,
    ]
    if not cells:
        raise UsageError(". ".join([f"no finished replays in {', '.join(map(str, paths))}", *incomplete]))
    return Runs(cells, tuple(incomplete))


def _folders(paths: Sequence[Path]) -> Iterator[RunFolder]:
    """Yield each run once; one without a configuration is a run too, as results may be collected without it."""
    seen_folders = set()
    for path in paths:
        if not path.is_dir():
            raise UsageError(f"{path}: not found; pass a run folder, or a folder that contains runs")
        own_folder = [path] if any((path / name).is_file() for name in ("config.json", "result.json")) else []
        files = [*path.glob("*/config.json"), *path.glob("*/result.json")]
        for folder in own_folder or sorted({file.parent for file in files}):
            if folder.resolve() not in seen_folders:
                seen_folders.add(folder.resolve())
                yield RunFolder(folder)


def grading_reports(runs: Runs) -> Mapping[PurePath, dict[str, Any]]:
    """Return a grading report for each contender and seed, under the path of its file.

    Paths are `comind-no-blend/seed-000_grading_report.json`, so that those of one contender, in the order of their names, are
    the seeds of an average. What was run again with the same seed counts as one seed more.
    """
    results: dict[PurePath, list[RunResult]] = {}
    for (_, seed), cell in sorted(runs.cells.items()):
        for contender, results_of_seed in cell.items():
            folder = _NOT_IN_NAMES.sub("-", contender.title(with_model=runs.with_model)).strip("-.")
            for time, result in enumerate(results_of_seed):
                suffix = f"-{time + 1}" if time else ""
                path = PurePath(folder, f"seed-{seed:03d}{suffix}_grading_report.json")
                results.setdefault(path, []).append(result)
    return {path: grading_report(run_results) for path, run_results in results.items()}


def grading_report(reports: Sequence[GradeReport]) -> dict[str, Any]:
    """Return MLE-bench's grading report on some submissions: totals, and the report on each, with no more than a grade has."""
    totals = {
        f"total_{name}": sum(getattr(report, flag) for report in reports) for name, flag in _COUNTED_FLAGS.items()
    }
    rows = [report.model_dump(mode="json", include=set(GradeReport.model_fields)) for report in reports]
    return {"total_runs": len(reports), **totals, "competition_reports": rows}

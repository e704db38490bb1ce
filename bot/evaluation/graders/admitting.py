"""Admitting a grader that a model wrote into a snapshot, under a header that says so wherever it is used."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from bot.evaluation.directions import METRIC_DIRECTIONS
from bot.evaluation.graders.marking import is_model_written, mark, record_of
from bot.evaluation.graders.self_tests import Finding, run_self_tests
from bot.evaluation.graders.writing import WriteGrader, Written
from scrapers.snapshots.check import GRADER
from scrapers.snapshots.manifest import read_manifest
from scrapers.snapshots.problems import Problems
from scrapers.snapshots.snapshot import Snapshot
from state.errors import SnapshotError, UsageError


@dataclass(frozen=True)
class Vacancy:
    """A snapshot that wants a grader."""

    snapshot: Snapshot

    @classmethod
    def open(cls, path: Path, *, replace: bool) -> "Vacancy":
        """Load a snapshot whose metric no one computes yet.

        Args:
            path: its folder.
            replace: whether a grader that a model wrote earlier may be replaced.

        Raises:
            SnapshotError: something else is wrong with it.
            UsageError: it needs no grader, or has one.
        """
        found = Problems()
        manifest = read_manifest(path, found)
        if manifest is None:
            raise SnapshotError(found.problems)
        metric = manifest.metric
        if metric.name in METRIC_DIRECTIONS:
            raise UsageError(f"{path.name} needs no grader: its metric {metric.name} is the registry's.")
        grader = path / GRADER
        if grader.exists() and not is_model_written(grader):
            raise UsageError(f"{path.name} has the competition's own grader, {GRADER}, which stays.")
        if grader.exists() and not replace:
            raise UsageError(f"{path.name} has a grader that a model wrote; pass --replace to have another.")
        return cls(Snapshot.load(path, {**METRIC_DIRECTIONS, metric.name: metric.direction}))

    def prompt(self) -> WriteGrader:
        """Return the question for a model; it holds nothing of the answers."""
        with (self.snapshot.data / "sample_submission.csv").open(encoding="utf-8", errors="replace") as file:
            lines = [line.rstrip("\n") for _, line in zip(range(8), file, strict=False)]
        return WriteGrader.of(self.snapshot.card, lines, self.snapshot.leaderboard)

    def test(self, source: str) -> list[Finding]:
        """Run the self-tests on a grader's text, in a process under bubblewrap.

        Raises:
            InfrastructureFailure: its process does not start.
        """
        snapshot = self.snapshot
        with tempfile.TemporaryDirectory(prefix="grader-") as folder:
            grade_py, files = Path(folder) / "grade" / "grade.py", Path(folder) / "files"
            grade_py.parent.mkdir()
            files.mkdir()
            grade_py.write_text(source, encoding="utf-8")
            sample = snapshot.data / "sample_submission.csv"
            return run_self_tests(grade_py, snapshot.answers, sample, snapshot.card, snapshot.leaderboard, files)

    def fill(self, written: Written, now: datetime) -> Path:
        """Write the grader into `private/`, with its header; returns its path.

        Raises:
            OSError: it cannot be written.
        """
        record: dict[str, Any] = {
            "model": written.model,
            "tries": written.tries,
            "written_at": now.isoformat(timespec="seconds"),
            "passed": [finding.name for finding in written.findings],
        }
        path = self.snapshot.path / GRADER
        partial = path.with_suffix(".partial")
        partial.write_text(mark(written.source, record), encoding="utf-8")
        partial.replace(path)
        return path


def describe_grader(snapshot: Snapshot) -> Sequence[str]:
    """Return the line on who scores, for a snapshot's summary; none where the registry does."""
    grader = snapshot.path / GRADER
    if snapshot.card.metric.name in METRIC_DIRECTIONS or not grader.is_file():
        return []
    if not is_model_written(grader):
        return [f"grader: the competition's own, {GRADER}"]
    record = record_of(grader)
    if record is None:
        return [f"grader: WRITTEN BY A MODEL and changed since its self-tests ({GRADER})"]
    passed = len(record.get("passed", ()))
    return [
        f"grader: WRITTEN BY A MODEL ({record.get('model')}, {record.get('written_at')}), {passed} self-tests passed"
    ]

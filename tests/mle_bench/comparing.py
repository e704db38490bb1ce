"""Imports the prepared competitions by the product's commands, and compares its grades with those of MLE-bench's own code."""

import asyncio
import json
import math
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from typer.testing import CliRunner, Result

from bot.cli import app
from bot.evaluation.answers import GradeReport
from bot.evaluation.client.worker import Worker
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.research.compare.runs import grading_report
from scrapers.snapshots.snapshot import Snapshot
from tests.mle_bench.explained import DIFFERENT, NOT_HELD
from tests.mle_bench.published import SUBMISSIONS, Bench

_TOLERANCE = 1e-6
_COMPARED = ("score", *(f"{line}_threshold" for line in ("gold", "silver", "bronze", "median")))
_FLAGS = (
    *("any_medal", "gold_medal", "silver_medal", "bronze_medal", "above_median"),
    *("submission_exists", "valid_submission", "is_lower_better"),
)


@dataclass(frozen=True)
class Compared:
    """One competition: how it was imported, and in which submissions the graders differ."""

    slug: str
    metric: str | None
    """None: it was not imported."""
    problem: str
    different: Mapping[str, str]
    """What differs, by the submission's name."""

    @property
    def unexplained(self) -> list[str]:
        """Sentences on what no reason is written for, and on reasons that nothing needs."""
        if self.metric is None:
            return [] if self.slug in NOT_HELD else [f"{self.slug} is not imported: {self.problem}"]
        known = {name: why for (slug, name), why in DIFFERENT.items() if slug == self.slug}
        found = [f"{self.slug}, {name}: {what}" for name, what in self.different.items() if name not in known]
        found += [
            f"{self.slug}, {name}: is the same, so that it needs no reason"
            for name in known
            if name not in self.different
        ]
        return [*found, *([f"{self.slug} is imported"] if self.slug in NOT_HELD else [])]


def bot(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def imported(bench: Bench) -> dict[str, dict[str, Any]]:
    """Import everything, and return the outcomes by competition."""
    given = ("--package", bench.root / "competitions", "--out", bench.root / "snapshots", "--json")
    done = bot("snapshot", "import", "mle-bench", bench.root / "data", *given)
    return {one["slug"]: one for one in json.loads(done.stdout)["competitions"]}


def graded(bench: Bench, slugs: Sequence[str], names: Sequence[str]) -> dict[str, Any]:
    """Return our grading report on these submissions."""

    async def work() -> list[GradeReport]:
        reports = []
        async with aclosing(Worker()) as worker:
            for slug in slugs:
                snapshot = Snapshot.load(bench.root / "snapshots" / slug, METRIC_DIRECTIONS)
                for name in names:
                    report = await worker.grade(snapshot.path, snapshot.card, bench.submission(slug, name))
                    reports.append(report.model_copy(update={"competition_id": slug}))
        return reports

    return grading_report(asyncio.run(work()))


def compared(bench: Bench) -> list[Compared]:
    """Import every competition, grade every submission twice, and return what differs."""
    outcomes = imported(bench)
    held = [slug for slug in bench.slugs if outcomes[slug]["status"] != "failed"]
    ours = graded(bench, held, SUBMISSIONS)["competition_reports"]
    theirs = bench.graded_upstream(bench.list_of(held, SUBMISSIONS))["competition_reports"]
    return [_compared(slug, outcomes[slug], _of(ours, slug), _of(theirs, slug)) for slug in bench.slugs]


def _of(reports: Sequence[dict[str, Any]], slug: str) -> list[dict[str, Any]]:
    return [one for one in reports if one["competition_id"] == slug]


def _compared(
    slug: str, outcome: Mapping[str, Any], ours: Sequence[Mapping[str, Any]], theirs: Sequence[Mapping[str, Any]]
) -> Compared:
    if outcome["status"] == "failed":
        return Compared(slug, None, "; ".join(outcome["problems"]), {})
    pairs = zip(SUBMISSIONS, ours, theirs, strict=True)
    different = {name: what for name, one, other in pairs if (what := difference(one, other))}
    return Compared(slug, outcome["metric"], "", different)


def difference(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> str:
    """Return what differs in two reports on one file, with our message; empty: nothing."""
    found = [name for name in _FLAGS if ours[name] != theirs[name]]
    found += [name for name in _COMPARED if not _equal(ours[name], theirs[name])]
    if not found:
        return ""
    told = ", ".join(f"{name} is {ours[name]} here and {theirs[name]} there" for name in found)
    return f"{told} ({ours.get('message')})"


def _equal(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)

import json
import os
import shutil
import signal
from datetime import UTC, datetime

import pytest

from bot.evaluation.answers import GradeReport
from bot.evaluation.client.worker import Worker
from bot.research.grading.aggregate import aggregate, read_reports
from bot.research.grading.grade_many import GradedList, GradingFailure, find_snapshots, grade_many, write_report
from bot.research.grading.submission_list import SubmissionListItem
from state.errors import UsageError
from tests.tiny_snapshot import write_tiny

MLE_BENCH_TOTALS = {
    "total_runs",
    "total_runs_with_submissions",
    "total_valid_submissions",
    "total_medals",
    "total_gold_medals",
    "total_silver_medals",
    "total_bronze_medals",
    "total_above_median",
}


GRADED = {
    **dict.fromkeys((f"{line}_threshold" for line in ("gold", "silver", "bronze", "median")), None),
    **{"created_at": "2026-03-04", "submission_path": "x.csv", "grader": "registry", "n_teams": 3, "win_rate": 0.0},
}


class Counting(Worker):
    """A worker that counts its calls, and dies at files of a name."""

    def __init__(self, deadly=""):
        super().__init__()
        self.deadly = deadly
        self.calls = 0

    async def grade_some(self, snapshot_dir, card, submission_paths):
        self.calls += 1
        if self.deadly and any(path and self.deadly in path.name for path in submission_paths):
            if self.pid is None:
                await self.rank_correlation([], [])
            os.kill(self.pid, signal.SIGKILL)
        return await super().grade_some(snapshot_dir, card, submission_paths)


@pytest.fixture(scope="module")
def snapshots(tmp_path_factory):
    folder = tmp_path_factory.mktemp("snapshots")
    write_tiny(folder / "one")
    shutil.copytree(folder / "one", folder / "two")
    shutil.copytree(folder / "one", folder / "broken")
    (folder / "broken" / "private" / "answers.csv").unlink()
    return folder


@pytest.fixture
def files(snapshots, tmp_path):
    shutil.copy(snapshots / "one/data/sample_submission.csv", tmp_path / "sample.csv")
    answers = (snapshots / "one/private/answers.csv").read_text()
    (tmp_path / "best.csv").write_text(answers)
    (tmp_path / "image.csv").write_bytes(b"\x89PNG\r\n\x1a\n")
    (tmp_path / "quote.csv").write_text('id,label\n"r0240,0.5\n')
    (tmp_path / "answers.txt").write_text(answers)
    return tmp_path


def listed(files, *entries):
    return [
        SubmissionListItem(line, competition, None if name is None else files / name)
        for line, (competition, name) in enumerate(entries, 1)
    ]


async def graded(many, snapshots, worker=None, say=lambda what, share: None):
    worker = worker or Worker()
    try:
        return await grade_many(many, find_snapshots(many, snapshots), worker, say)
    finally:
        await worker.aclose()


async def test_one_broken_file_spoils_only_itself_and_each_snapshot_is_opened_once(snapshots, files):
    names = ("sample.csv", "image.csv", None, "best.csv", "quote.csv", "gone.csv", "answers.txt")
    many = listed(files, *((competition, name) for name in names for competition in ("one", "two")))
    worker, lines = Counting(), []
    summary = (await graded(many, snapshots, worker, lambda what, _: lines.append(what))).summary()
    reports = summary["competition_reports"]
    assert [(one["competition_id"], one["submission_path"]) for one in reports] == [
        (one.competition_id, str(one.path)) for one in many
    ]
    assert [one["valid_submission"] for one in reports[::2]] == [True, False, False, True, False, False, False]
    assert [one["submission_exists"] for one in reports[::2]] == [True, True, False, True, True, False, False]
    assert "never closed" in reports[8]["message"] and "PNG image" in reports[2]["message"]
    assert summary.keys() == MLE_BENCH_TOTALS | {"competition_reports", "not_graded"}
    totals = {name: summary[name] for name in MLE_BENCH_TOTALS}
    assert totals == {
        "total_runs": 14,
        "total_runs_with_submissions": 8,
        "total_valid_submissions": 4,
        "total_medals": 2,
        "total_gold_medals": 2,
        "total_silver_medals": 0,
        "total_bronze_medals": 0,
        "total_above_median": sum(one["above_median"] for one in reports),
    }
    assert worker.calls == 2
    assert [line.split(" | ") for line in lines] == [
        ["one (1/2)", "0 of 14 submissions graded"],
        ["two (2/2)", "7 of 14 submissions graded"],
    ]


@pytest.mark.integration
async def test_a_file_that_ends_the_worker_is_not_valid_and_spoils_no_other(snapshots, files):
    shutil.copy(files / "best.csv", files / "deadly.csv")
    many = listed(files, ("one", "best.csv"), ("one", "deadly.csv"), ("one", "sample.csv"))
    outcome = await graded(many, snapshots, Counting("deadly"))
    assert [one.valid_submission for one in outcome.reports] == [True, False, True]
    assert outcome.reports[1].submission_exists and "could not be graded" in outcome.reports[1].message
    assert outcome.reports[1].submission_path.endswith("deadly.csv") and not outcome.failures


async def test_what_has_a_broken_snapshot_is_reported_as_not_graded(snapshots, files):
    outcome = await graded(listed(files, ("broken", "best.csv"), ("broken", None)), snapshots)
    assert not outcome.reports
    assert [(one.competition_id, one.submission_path) for one in outcome.failures] == [
        ("broken", str(files / "best.csv")),
        ("broken", "None"),
    ]
    assert "private/answers.csv" in outcome.failures[0].message
    assert len(outcome.summary()["not_graded"]) == 2


def test_competitions_without_a_snapshot_are_named_before_anything_is_graded(snapshots, files):
    many = listed(files, ("one", None), ("three", None), ("four", None))
    with pytest.raises(UsageError, match="no snapshot of three, four"):
        find_snapshots(many, snapshots)


def test_a_report_is_written_under_mle_benchs_name_and_is_what_an_aggregation_reads(tmp_path):
    flags = ("submission_exists", "valid_submission", "any_medal", "gold_medal", "above_median")
    won = dict.fromkeys(flags, True) | {"silver_medal": False, "bronze_medal": False}
    rows = [
        GradeReport.model_validate(GRADED | {"competition_id": slug, "score": None, "is_lower_better": True} | flags)
        for slug, flags in (("one", won), ("two", dict.fromkeys(won, False)))
    ]
    summary = GradedList(rows, [GradingFailure("three", "x.csv", "why")]).summary()
    now, out = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC), tmp_path / "new" / "reports"
    paths = [write_report(summary, out, now) for _ in range(2)]
    assert [path.name for path in paths] == [
        "2026-03-04T05-06-07-GMT_grading_report.json",
        "2026-03-04T05-06-07-GMT-2_grading_report.json",
    ]
    assert json.loads(paths[0].read_text()) == summary
    averaged = aggregate(read_reports(paths), ["one", "two"])["metrics"]["gold_medal_percentage"]
    assert averaged == {"mean": 50.0, "ci_lower": 50.0, "ci_upper": 50.0, "standard_error": 0.0}

"""Finished replays as MLE-bench's grading reports."""

import json
from pathlib import Path

from tests.bot.replay.conftest import Bot, bot
from tests.bot.research.compare.simulated import result, write

__all__ = ["bot"]


def test_runs_become_a_grading_report_for_each_agent_and_seed(bot: Bot, tmp_path: Path) -> None:
    won = {
        ("leaf-classification", 0): 0.97,
        ("leaf-classification", 1): 0.85,
        ("tgs-salt", 0): 0.3,
        ("tgs-salt", 1): None,
    }
    runs = [result(slug, "comind no-blend", seed, rate) for (slug, seed), rate in won.items()]
    runs += [result(slug, "aide", seed, 0.4) for slug, seed in won]
    folder = write(runs, tmp_path / "runs")
    assert bot("compare", folder, "--reports", tmp_path / "reports").exit_code == 0
    files = sorted((tmp_path / "reports").glob("comind-no-blend/*_grading_report.json"))
    assert [file.name for file in files] == ["seed-000_grading_report.json", "seed-001_grading_report.json"]
    report = json.loads(files[1].read_text())
    assert (report["total_runs"], report["total_medals"], report["total_valid_submissions"]) == (2, 1, 1)
    assert "agent" not in report["competition_reports"][0], "no more than a grade has"
    assert len(list((tmp_path / "reports").glob("aide/*_grading_report.json"))) == 2


def test_a_run_that_was_repeated_is_one_seed_more(bot: Bot, tmp_path: Path) -> None:
    folder = write([result("tgs-salt", "aide", 0, rate) for rate in (0.4, 0.6)], tmp_path / "runs")
    assert bot("compare", folder, "--reports", tmp_path / "reports").exit_code == 0
    names = sorted(path.name for path in (tmp_path / "reports/aide").iterdir())
    assert names == ["seed-000-2_grading_report.json", "seed-000_grading_report.json"]

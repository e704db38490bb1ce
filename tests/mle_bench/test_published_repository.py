"""MLE-bench as published, in a checkout that BOT_MLE_BENCH names: imported, graded by its code and ours, and averaged by its."""

import json
from pathlib import Path

import pytest

from tests.mle_bench.comparing import compared, graded, imported
from tests.mle_bench.published import SEEDS, prepare, repository

SOME = ("leaf-classification", "nomad2018-predict-transparent-conductors", "spooky-author-identification")


@pytest.mark.integration
def test_every_competition_is_imported_and_graded_as_mle_bench_grades_it_or_it_is_known_why_not(tmp_path: Path) -> None:
    found = compared(prepare(tmp_path, repository()))
    assert [sentence for one in found for sentence in one.unexplained] == []
    assert sum(one.metric is not None for one in found) > 70


@pytest.mark.integration
def test_its_own_aggregation_of_our_reports_is_that_of_its_own(tmp_path: Path) -> None:
    bench = prepare(tmp_path, repository(), SOME)
    assert all(one["status"] == "imported" for one in imported(bench).values())
    ours, theirs = [], []
    for seed, name in enumerate(SEEDS):
        ours.append(tmp_path / f"our_{seed}_grading_report.json")
        ours[-1].write_text(json.dumps(graded(bench, SOME, [name])))
        theirs.append(tmp_path / f"{seed}_grading_report.json")
        theirs[-1].write_text(json.dumps(bench.graded_upstream(bench.list_of(SOME, [name]))))
    split = tmp_path / "some.txt"
    split.write_text("\n".join(SOME) + "\n")
    script = bench.repository.folder / "experiments/aggregate_grading_reports.py"
    averages = []
    for reports in (ours, theirs):
        arguments = ["--split", split, "--grading-reports", *sorted(reports)]
        printed = bench.repository.run(script, *map(str, arguments), cwd=tmp_path)
        averages.append(json.loads(printed.partition("Average metrics across seeds:")[2]))
    assert averages[0]["num_seeds_averaged"] == len(SEEDS)
    assert any(figures["standard_error"] > 0 for figures in averages[0]["metrics"].values()), "the seeds differ"
    for one in averages[1:]:
        assert one.keys() == averages[0].keys()
        for name, figures in averages[0]["metrics"].items():
            assert one["metrics"][name] == pytest.approx(figures), name

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bot.research.grading.aggregate import Row, aggregate, read_reports, read_split
from state.errors import UsageError

FLAGS = ("gold_medal", "silver_medal", "bronze_medal", "above_median", "submission_exists", "valid_submission")
NAMES = {
    "gold_medal_percentage": FLAGS[0],
    "silver_medal_percentage": FLAGS[1],
    "bronze_medal_percentage": FLAGS[2],
    "above_median_percentage": FLAGS[3],
    "submission_exists_percentage": FLAGS[4],
    "valid_submissions_percentage": FLAGS[5],
}


def row(competition, *flags):
    return {"competition_id": competition, "score": None} | {flag: flag in flags for flag in FLAGS}


def report(path, *rows):
    path.write_text(json.dumps({"total_runs": len(rows), "competition_reports": rows}))
    return path


def expected(table):
    """Mean, standard error and interval of a table (seeds, competitions) of truth values, by numpy and scipy."""
    shares = 100 * np.asarray(table, dtype=float).mean(axis=1)
    error = stats.sem(shares) if len(shares) > 1 else 0.0
    return shares.mean(), error, shares.mean() - 1.96 * error, shares.mean() + 1.96 * error


@settings(max_examples=25)
@given(
    st.integers(1, 5).flatmap(
        lambda seeds: st.lists(
            st.lists(st.sets(st.sampled_from(FLAGS)), min_size=seeds, max_size=seeds), min_size=1, max_size=5
        )
    )
)
def test_means_and_errors_are_those_of_scipy(drawn):
    competitions = [f"c{number}" for number in range(len(drawn))]
    rows = [
        Row.model_validate({"competition_id": name} | {flag: flag in flags for flag in FLAGS})
        for name, seeds in zip(competitions, drawn, strict=True)
        for flags in seeds
    ]
    got = aggregate(rows, competitions)
    assert (got["num_seeds_averaged"], got["num_competitions_per_seed"]) == (len(drawn[0]), len(drawn))
    tables = {
        name: [[flag in seeds[s] for seeds in drawn] for s in range(len(drawn[0]))] for name, flag in NAMES.items()
    }
    medals = set(FLAGS[:3])
    tables["any_medal_percentage"] = [[bool(seeds[s] & medals) for seeds in drawn] for s in range(len(drawn[0]))]
    assert got["metrics"].keys() == {*tables, "total_competitions"}
    for name, table in tables.items():
        one = got["metrics"][name]
        figures = (one["mean"], one["standard_error"], one["ci_lower"], one["ci_upper"])
        assert figures == pytest.approx(expected(table), abs=1e-9)


def test_the_ith_report_of_a_competition_is_of_seed_i_in_the_order_of_the_files_names(tmp_path):
    second = report(tmp_path / "b.json", row("y", "above_median"), row("x"))
    first = report(tmp_path / "a.json", row("y"), row("x", "gold_medal"), row("z", "gold_medal"))
    got = aggregate(read_reports([second, first]), ["x", "y"])
    assert [seed["gold_medal_percentage"] for seed in got["seeds"]] == [50.0, 0.0]
    assert [seed["above_median_percentage"] for seed in got["seeds"]] == [0.0, 50.0]


def test_there_are_as_many_seeds_as_every_competition_has_reports_unless_missing_ones_count_as_nothing(tmp_path):
    rows = read_reports(
        [report(tmp_path / "a.json", row("x", "gold_medal"), row("x", "gold_medal"), row("y", "gold_medal"))]
    )
    assert aggregate(rows, ["x", "y"])["num_seeds_averaged"] == 1
    padded = aggregate(rows, ["x", "y"], pad_missing=True)
    assert [seed["any_medal_percentage"] for seed in padded["seeds"]] == [100.0, 50.0]
    with pytest.raises(UsageError, match="no report is of z"):
        aggregate(rows, ["x", "z"])
    assert aggregate(rows, ["x", "z"], pad_missing=True)["metrics"]["any_medal_percentage"]["mean"] == 50.0
    with pytest.raises(UsageError, match="no report is of z"):
        aggregate(rows, ["z"], pad_missing=True)


def test_a_file_that_is_no_report_is_named(tmp_path):
    incomplete = row("x")
    del incomplete["gold_medal"]
    for content, why in (
        ("", "Invalid JSON"),
        ("[]", "should be an object"),
        ("{}", "competition_reports: Field required"),
        ('{"competition_reports": 3}', "should be a valid"),
        (json.dumps({"competition_reports": [incomplete]}), r"0\.gold_medal: Field required"),
    ):
        path = tmp_path / "r.json"
        path.write_text(content)
        with pytest.raises(UsageError, match=rf"r\.json is no grading report: .*{why}"):
            read_reports([path])
    report(path, row("x") | {"gold_medal": "no"})
    with pytest.raises(UsageError, match=r"0\.gold_medal: Input should be a valid boolean"):
        read_reports([path])


def test_a_split_is_a_competition_a_line(tmp_path):
    path = tmp_path / "split.txt"
    path.write_text("x\n\n y \n")
    assert read_split(path) == ["x", "y"]
    path.write_text("x\nx\n")
    with pytest.raises(UsageError, match="twice"):
        read_split(path)
    path.write_text("\n")
    with pytest.raises(UsageError, match="no competition"):
        read_split(path)

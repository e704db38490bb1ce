"""The papers' tables: which rows are shown, and how ours are reckoned."""

import random

import pytest

from bot.research.compare.comparison import Comparison, compare
from bot.research.compare.papers import PaperTable, paper_tables
from tests.bot.research.compare.simulated import bench, result, runs_of


def tables(*results: tuple[str, str, int, float | None]) -> dict[str, PaperTable]:
    """Return the tables of some results, by the beginnings of their titles."""
    return tables_of(compare(runs_of([result(*one) for one in results])))


def tables_of(comparison: Comparison) -> dict[str, PaperTable]:
    return {table.title.partition(":")[0]: table for table in paper_tables(comparison)}


def cells(table: PaperTable, mark: str) -> list[tuple[str, ...]]:
    return [row for marked, row in table.rows if marked == mark]


def test_a_competition_of_no_paper_is_in_no_table() -> None:
    assert tables(("my-own", "comind", 0, 0.9)) == {}


def test_categories_without_a_run_are_left_out_and_the_others_stand_beside_the_published_figures() -> None:
    found = tables(("spooky-author-identification", "comind", 0, 0.5), ("leaf-classification", "comind", 0, 0.7))
    one = found["CoMind v1, table 1"]
    assert [(name, mark) for name, mark in one.columns[:3]] == [
        ("category (tasks)", ""),
        ("comind", "ours"),
        ("CoMind", "published"),
    ]
    assert tuple(one.rows) == (
        ("", ("image classification (8)", "0.700 (1)", "0.597", "0.459", "0.434", "0.525")),
        ("", ("text classification (3)", "0.500 (1)", "0.740", "0.157", "0.338", "0.610")),
        ("", ("all (20)", "0.600 (2)", "0.668", "0.469", "0.510", "0.512")),
    )
    assert "only a rough guide" in one.note


def test_tiers_have_the_best_and_the_mean_of_a_competitions_runs() -> None:
    found = tables(
        ("spooky-author-identification", "comind", 0, 0.2),
        ("spooky-author-identification", "comind", 1, 0.6),
        ("random-acts-of-pizza", "comind", 0, 0.8),
        ("tgs-salt-identification-challenge", "comind", 0, 0.1),
    )["AutoMind"]
    assert cells(found, "ours") == [("comind, 2 runs", "0.70 / 0.60 (2)", "–", "0.10 / 0.10 (1)", "0.50 / 0.43 (3)")]
    assert len(cells(found, "published")) == 8


def test_a_run_that_handed_in_the_baseline_is_marked_and_beats_no_team() -> None:
    """What the engine made is no work of AIDE+Code's, whatever it scores."""
    one = result("leaf-classification", "aide-code", 0, 0.9, baseline_submitted=True)
    found = tables_of(compare(runs_of([one.own_work])))
    assert found["CoMind v1, table 1"].columns[1] == ("aide-code [1 baseline]", "ours")
    assert found["CoMind v1, table 1"].rows[0][1][1] == "0.000 (1)"
    assert cells(found["MLE-bench"], "ours")[0][0] == "aide-code [1 baseline], with community"


def test_code_is_measured_where_a_submission_is_the_agents_own() -> None:
    constant = {"guard": "constant", "verdict": "suspicious", "sentence": "all alike", "spoils": True, "node": 1}
    runs = [
        result("leaf-classification", "comind", 0, 0.9, code_length=1000),
        result("leaf-classification", "comind", 1, 0.9, code_length=3001),
        result("mlsp-2013-birds", "comind", 0, None),
        result("leaf-classification", "aide", 0, 0.9, code_length=500, guards=[constant]),
    ]
    found = tables_of(compare(runs_of([one.own_work for one in runs])))["CoMind v1, table 2"]
    published = ("7638.4", "4624.3", "4701.3", "5192.1")
    assert found.columns[1:3] == (("comind", "ours"), ("aide [1 constant]", "ours"))
    assert [cells for _, cells in found.rows] == [
        ("image classification (8)", "2000.5 (1)", "–", *published),
        ("all (20)", "2000.5 (1)", "–", "7970.1", "4309.7", "5475.9", "5127.9"),
    ]


def test_agents_with_and_without_the_community_stand_beside_the_ablation() -> None:
    leaf = "leaf-classification"
    one = tables((leaf, "comind", 0, 0.96), (leaf, "comind no-community", 0, None), (leaf, "aide", 0, 0.5))
    assert tuple(one["CoMind v1, table 3"].rows) == (
        ("ours", ("comind", "1.000 (1)", "0.960 (1)", *["1.000 (1)"] * 3)),
        ("ours", ("comind no-community", *["0.000 (1)"] * 5)),
        ("published", ("CoMind", "1.000", "0.668", "0.250", "0.450", "0.650")),
        ("published", ("CoMind without public resources", "0.900", "0.545", "0.200", "0.350", "0.500")),
    )
    assert "CoMind v1, table 3" not in tables((leaf, "comind", 0, 0.96))


def test_a_replay_of_an_ongoing_competition_stands_beside_the_published_score() -> None:
    one = tables(("fathomnet-2025", "comind", 0, 0.5), ("fathomnet-2025", "comind", 1, None), ("wine", "aide", 0, 0.5))
    found = one["CoMind v1, table 4"]
    assert [cells for _, cells in found.rows] == [
        ("fathomnet-2025", "–", "0.5 (25.0%)", "2.81 (69.4%)", "3.71 (28.6%)", "2.40", "2.73", "3.00")
    ]
    assert len(found.columns) == 8


def test_medals_by_split_are_aggregated_as_mle_bench_does() -> None:
    """Seed i is the i-th run of each competition; as many seeds as the competition with the min_competitions runs has."""
    found = tables(
        ("leaf-classification", "aide", 0, 0.9),
        ("leaf-classification", "aide", 1, 0.1),
        ("leaf-classification", "aide", 2, 0.9),
        ("spooky-author-identification", "aide", 5, 0.9),
        ("spooky-author-identification", "aide", 7, 0.9),
    )["MLE-bench"]
    # 100% and 50% of two competitions: mean 75, standard error 35.36 / sqrt 2.
    assert cells(found, "ours") == [("aide", "75.00 ± 25.00 (2)", "–", "–", "75.00 ± 25.00 (2)")]


def test_a_run_with_community_is_never_called_a_result_on_mle_bench() -> None:
    one = tables(("leaf-classification", "comind", 0, 0.9), ("leaf-classification", "comind no-community", 0, 0.9))
    assert [row[0] for row in cells(one["MLE-bench"], "ours")] == ["comind, with community", "comind no-community"]
    assert "not as an MLE-bench result" in one["MLE-bench"].note
    v2 = next(row for row in cells(one["MLE-bench"], "published") if row[0].startswith("CoMind v2"))
    assert v2[1:] == ("59.09", "23.68", "33.33", "36.00")


@pytest.mark.parametrize(
    "table", paper_tables(compare(bench({"comind": 0.2, "comind no-community": 0}, random.Random(1))))
)
def test_every_row_of_a_table_has_a_cell_for_each_column(table: PaperTable) -> None:
    assert {len(row) for _, row in table.rows} == {len(table.columns)}

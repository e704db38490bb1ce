"""Guards of the view: each fires where its leak is planted, and all are quiet where none is."""

from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from bot.evaluation.answers import LabelledView
from bot.evaluation.answers import findings as registry
from bot.evaluation.guards.leaks import target_in_features
from bot.evaluation.guards.running import guard_view
from bot.evaluation.view_names import INFO
from bot.evaluation.views.build import build_view
from tests.bot.evaluation.guards import planted
from tests.bot.evaluation.guards.parts import TEST_ROWS, Change, Row, ground
from tests.bot.evaluation.parts import card, competition, write


@pytest.mark.parametrize("kind", ["classes", "quantity"])
def test_a_clean_competition_passes_all(tmp_path: Path, kind: str) -> None:
    here = ground(tmp_path, kind)
    found = guard_view(here.labelled)
    assert [one.guard for one in found] == list(registry.VIEW_GUARDS)
    assert [asdict(one) for one in found if not one.passed] == []


@pytest.mark.parametrize(
    ("change", "kind", "guard", "words"),
    [
        (planted.repeated_rows, "classes", "duplicate rows", "of repeated rows have the same label"),
        (
            planted.repeated_rows,
            "quantity",
            "duplicate rows",
            "also occur among the training rows, with the same label but a different id",
        ),
        (planted.repeated_in_test, "classes", "duplicate rows", "of the test rows repeat a training row"),
        (planted.ids_by_label, "classes", "ids", "predicted from the number in the id"),
        (planted.ids_by_label, "quantity", "ids", "predicted from the number in the id"),
        (planted.ids_with_the_class, "classes", "ids", "predicted from word 1 in the id"),
        (planted.sorted_by_label, "quantity", "row order", "sorted by 'y'"),
        (planted.test_later, "classes", "time", "'day' separates test rows from training rows in time"),
        (planted.target_copied, "quantity", "target in features", "the column 'z' alone predicts 'y'"),
        (planted.target_copied, "classes", "target in features", "the column 'z' alone"),
        (planted.target_encoded, "classes", "target in features", "the column 'code' alone"),
    ],
)
def test_a_planted_leak_is_found_and_nothing_else_is(
    tmp_path: Path, change: Change, kind: str, guard: str, words: str
) -> None:
    here = ground(tmp_path, kind, change)
    assert here.doubted() == [guard]
    result = here.found(guard)
    assert result.verdict == "suspicious"
    assert words in result.sentence


def test_a_leak_that_the_test_does_not_have_is_none_of_the_hold_outs(tmp_path: Path) -> None:
    def in_training_alone(table: list[Row], rng: np.random.Generator) -> list[Row]:
        return planted.repeated_rows(table, rng)[:-TEST_ROWS] + table[-TEST_ROWS:]

    here = ground(tmp_path, "classes", in_training_alone)
    assert here.doubted() == []
    assert here.found("duplicate rows").evidence["validation_share"] == 0


def test_a_hold_out_that_cannot_be_like_the_test_is_reported(tmp_path: Path) -> None:
    here = ground(tmp_path, "classes", planted.two_rows_repeated)
    assert here.found("split").verdict == "suspicious"
    assert "of the withheld rows repeat a training row, but 0.0% of the test rows" in here.found("split").sentence
    assert here.found("duplicate rows").verdict == "suspicious"


def test_rows_that_are_equal_because_columns_have_few_values_are_no_duplicates(tmp_path: Path) -> None:
    def coarse(table, rng):  # type: ignore[no-untyped-def]
        return [{"id": row["id"], "a": int(row["a"] > 0), "b": int(row["b"] > 0), "y": row["y"]} for row in table]

    assert ground(tmp_path, "classes", coarse).found("duplicate rows").passed


def test_rows_that_differ_in_nothing_but_their_labels_are_no_copies_but_copies_among_them_are(tmp_path: Path) -> None:
    def alike(table: list[Row], rng: np.random.Generator) -> list[Row]:
        kinds = [{name: row[name] for name in "abc"} for row in table[: len(table) * 7 // 10]]
        return [{**row, **kinds[at % len(kinds)]} for at, row in enumerate(table)]

    def copied(table: list[Row], rng: np.random.Generator) -> list[Row]:
        return planted.repeated_rows(alike(table, rng), rng)

    found = ground(tmp_path / "alike", "quantity", alike).found("duplicate rows")
    assert found.passed and "labels of repeated rows differ" in found.sentence
    result = ground(tmp_path / "copied", "quantity", copied).found("duplicate rows")
    assert not result.passed and "with the same label but a different id" in result.sentence


def test_repeated_rows_of_which_no_label_is_known_are_not_passed_over(tmp_path: Path) -> None:
    def in_test_alone(table: list[Row], rng: np.random.Generator) -> list[Row]:
        test = [{**row, **{name: table[at][name] for name in "abc"}} for at, row in enumerate(table[-TEST_ROWS:])]
        return table[:-TEST_ROWS] + test

    result = ground(tmp_path, "classes", in_test_alone).found("duplicate rows")
    assert result.verdict == "suspicious"
    assert "of the test rows repeat a training row, but too few of them have labels" in result.sentence


def test_a_table_that_is_sorted_by_a_time_may_have_labels_that_follow_it(tmp_path: Path) -> None:
    train = [(f"2020-01-{1 + n // 24:02d} {n % 24:02d}:00:00", n % 7, n / 10 + n % 5) for n in range(600)]
    test = [(f"2020-02-{1 + n // 24:02d} {n % 24:02d}:00:00", n % 7, 1) for n in range(200)]
    task = card(id_column="id")
    data = competition(tmp_path / "data", train, test, default=(0,))
    write(data / "test.csv", ["id", "x"], [row[:-1] for row in test])
    build_view(data, task, "holdout", 0, tmp_path / "view", tmp_path / "labels")
    view = LabelledView(tmp_path / "view", tmp_path / "labels", task)
    found = {one.guard: one for one in guard_view(view)}
    assert [one.sentence for one in found.values() if not one.passed] == []
    assert "separates validation rows from training rows" in found["time"].sentence
    assert "sorted by 'id'" in found["row order"].sentence


def test_a_guard_that_cannot_run_has_not_passed(tmp_path: Path) -> None:
    here = ground(tmp_path)
    (here.labels / "labels.csv").unlink()
    found = {one.guard: one for one in guard_view(here.labelled)}
    assert found["target in features"].verdict == "not run"
    assert "labels.csv does not exist" in found["target in features"].sentence
    write(here.data / "train.csv", ["x"], [[1]])
    (here.labels / INFO).unlink()
    assert {one.verdict for one in guard_view(here.labelled)} == {"not run"}


def test_columns_that_there_was_no_time_for_are_not_passed_over(tmp_path: Path) -> None:
    view = ground(tmp_path).view
    assert target_in_features("it", view).passed
    assert target_in_features("it", view, seconds=-1.0).sentence == "only 0 of 3 columns could be tested within -1 s"
    assert not target_in_features("it", view, seconds=-1.0).passed


def test_guards_for_which_no_time_is_left_have_not_passed(tmp_path: Path) -> None:
    here = ground(tmp_path)
    assert {one.verdict for one in guard_view(here.labelled, seconds=-1.0)} == {"not run"}

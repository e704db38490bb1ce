"""Intervals: the hidden score of the same model lies inside as often as promised, and each part of it does what it is for."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bot.evaluation.answers import Interval, LabelledView
from bot.evaluation.scoring.interval import FEWEST, validation_interval
from scrapers.snapshots.card import TaskCard
from state.errors import InfrastructureFailure, InvalidSubmission
from tests.bot.evaluation.graders.parts import ABSOLUTE
from tests.bot.evaluation.parts import card, read, write

CAREFUL = """    if submission["id"].duplicated().any() or list(submission["id"]) != list(answers["id"]):
        raise ValueError("each id once, and in its place")
"""
ROWS, HIDDEN = 240, 120
MAE = card("mae")


def laid_out(
    folder: Path, errors: np.ndarray[Any, Any], hidden: int = HIDDEN, *, dates: bool = False, groups: int | None = None
) -> Path:
    """Write a hold-out view whose validation predictions err by so much; labels spread far."""
    rng = np.random.default_rng(9)
    labels = rng.normal(0, 5, len(errors))
    train = [f"t{n}" for n in range(4 * len(errors))]
    ids = [f"v{n}" for n in range(len(errors))]
    if dates:
        train = [f"2020-{1 + n // 28:02d}-{1 + n % 28:02d}" for n in range(300)]
        ids = [f"20{21 + n // 336}-{1 + n // 28 % 12:02d}-{1 + n % 28:02d}" for n in range(len(errors))]
    of = [n * (groups or 0) // len(errors) for n in range(len(errors))]
    others = [1000 + n // 8 for n in range(len(train))]
    view = folder / "view"
    write(
        view / "train.csv",
        ["id", "of", "y"],
        zip(train, others if groups else [0] * len(train), range(len(train)), strict=True),
    )
    write(view / "test.csv", ["id", "of"], ([f"h{n}", 5000 + n // 8 if groups else 0] for n in range(hidden)))
    write(view / "validation.csv", ["id", "of"], zip(ids, of, strict=True))
    write(view / "sample_validation.csv", ["id", "y"], ([id, 0] for id in ids))
    write(view / "sample_submission.csv", ["id", "y"], ([f"h{n}", 0] for n in range(hidden)))
    write(folder / "labels" / "labels.csv", ["id", "y"], zip(ids, labels, strict=True))
    return write(folder / "own.csv", ["id", "y"], zip(ids, labels + errors, strict=True))


def interval_of(folder: Path, task: TaskCard = MAE, grader: Path | None = None, **more: Any) -> Interval:
    view = LabelledView(folder / "view", folder / "labels", task, grader)
    return validation_interval(view, folder / "own.csv", 0, **more)


def width(folder: Path, **more: Any) -> float:
    found = interval_of(folder, **{"refitted": False, **more})
    return float(found.high - found.low)


@pytest.mark.integration
def test_the_score_of_other_rows_lies_inside_nearly_always(tmp_path: Path) -> None:
    inside = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        errors = rng.standard_exponential(ROWS + HIDDEN)
        laid_out(tmp_path / str(seed), errors[:ROWS])
        found = interval_of(tmp_path / str(seed), refitted=False)
        inside += found.low <= errors[ROWS:].mean() <= found.high
    assert inside >= 17
    assert (found.test_rows, found.unit_column) == (HIDDEN, None)


def test_it_is_wider_than_the_mean_is_uncertain_and_the_more_so_the_smaller_the_hidden_test(tmp_path: Path) -> None:
    errors = np.random.default_rng(1).standard_exponential(ROWS)
    for hidden in (24, 240, 2_400):
        laid_out(tmp_path / str(hidden), errors, hidden)
    small, equal, large = (width(tmp_path / str(hidden)) for hidden in (24, 240, 2_400))
    assert small > equal > large
    mean = 2 * 1.96 * errors.std() / np.sqrt(ROWS)
    assert large > mean, "other training rows make another model"
    assert equal == pytest.approx(mean * np.sqrt(2.25), rel=0.25)


def test_a_refit_moves_the_better_end_alone(tmp_path: Path) -> None:
    laid_out(tmp_path, np.random.default_rng(1).standard_exponential(ROWS))
    plain, refitted = interval_of(tmp_path, refitted=False), interval_of(tmp_path)
    assert refitted.high == plain.high
    assert 0 < refitted.low < plain.low


@pytest.mark.parametrize("how", [{"dates": True}, {"groups": 12}])
def test_rows_that_go_together_make_it_wider(tmp_path: Path, how: dict[str, Any]) -> None:
    rng = np.random.default_rng(2)
    errors = 1 + np.repeat(rng.standard_exponential(12), ROWS // 12) + 0.1 * rng.normal(size=ROWS)
    laid_out(tmp_path / "alone", errors)
    laid_out(tmp_path / "together", errors, **how)
    assert interval_of(tmp_path / "together").unit_column == ("id" if "dates" in how else "of")
    assert width(tmp_path / "together") > 1.5 * width(tmp_path / "alone")


@pytest.mark.parametrize("keyed", [True, False])
def test_rows_of_one_id_are_drawn_together(tmp_path: Path, keyed: bool) -> None:
    """Where further columns say which row of an id is meant, and where their order does."""
    rng = np.random.default_rng(5)
    errors = np.repeat(rng.gamma(1.0, size=12), 20) + 0.1 * rng.random(ROWS)
    laid_out(tmp_path, errors)
    rows = [(f"d{n // 20}", n % 20) for n in range(ROWS)]
    key = ("id", "second") if keyed else ("id",)

    def spread(path: Path, header: tuple[str, ...], cells: list[list[Any]]) -> None:
        write(path, header, [[*row[: len(key)], *rest] for row, rest in zip(rows, cells, strict=True)])

    for path in (tmp_path / "own.csv", tmp_path / "labels" / "labels.csv"):
        spread(path, (*key, "y"), [[row[1]] for row in read(path)[1:]])
    view = tmp_path / "view"
    spread(view / "sample_validation.csv", (*key, "y"), [[0]] * ROWS)
    spread(view / "validation.csv", (*key, "x"), [[1]] * ROWS)
    train = [[f"t{n // 20}", *([n % 20] if keyed else []), 1, n] for n in range(400)]
    write(view / "train.csv", (*key, "x", "y"), train)
    write(view / "test.csv", (*key, "x"), [[f"h{n // 20}", *([n % 20] if keyed else []), 1] for n in range(HIDDEN)])
    write(
        view / "sample_submission.csv",
        (*key, "y"),
        [[f"h{n // 20}", *([n % 20] if keyed else []), 0] for n in range(HIDDEN)],
    )
    task = MAE.model_copy(update={"key_columns": key[1:]})
    found = interval_of(tmp_path, task, refitted=False)
    assert found.unit_column == "id"
    assert found.high - found.low > 3 * 2 * 1.96 * errors.std() / np.sqrt(ROWS)


@pytest.mark.integration
def test_a_graders_score_that_is_no_mean_over_rows_has_no_interval_and_none_goes_beyond_perfect(tmp_path: Path) -> None:
    errors = np.random.default_rng(4).gamma(1.0, size=ROWS)
    laid_out(tmp_path, errors, 4)
    grader = tmp_path / "grade.py"
    grader.write_text(ABSOLUTE.replace(".mean()", ".sum()"))
    found = interval_of(tmp_path, card("grade.py"), grader=grader, seconds=1e6)
    assert found.low is None and "it is not a mean over rows" in found.note
    grader.write_text(ABSOLUTE)
    found = interval_of(tmp_path, card("grade.py"), grader=grader, seconds=1e6)
    assert found.low >= 0.0


def test_a_score_without_a_single_error_is_not_believed_to_the_last_digit(tmp_path: Path) -> None:
    laid_out(tmp_path, np.zeros(ROWS))
    found = interval_of(tmp_path, refitted=False)
    assert found.low == 0 < found.high < 1


def test_a_metric_that_is_not_defined_has_no_interval_and_what_cannot_be_read_is_reported(tmp_path: Path) -> None:
    laid_out(tmp_path, np.ones(ROWS))
    assert (found := interval_of(tmp_path, card("roc_auc"))).low is None and found.draws == 0
    assert "gives no score for the validation rows as a whole" in found.note
    (tmp_path / "own.csv").unlink()
    with pytest.raises(InvalidSubmission):
        interval_of(tmp_path)
    (tmp_path / "labels" / "labels.csv").unlink()
    with pytest.raises(InfrastructureFailure, match="labels"):
        interval_of(tmp_path)


def test_draws_on_which_the_metric_is_not_defined_do_not_count(tmp_path: Path) -> None:
    laid_out(tmp_path, np.ones(40))
    ids = [f"v{n}" for n in range(40)]
    write(tmp_path / "labels" / "labels.csv", ["id", "y"], ([id, int(n < 2)] for n, id in enumerate(ids)))
    write(tmp_path / "own.csv", ["id", "y"], ([id, (7 * n) % 40] for n, id in enumerate(ids)))
    found = interval_of(tmp_path, card("roc_auc"), seconds=0.0)
    assert (found.note, found.draws) == (None, FEWEST), "some have no row of the rare class, and no score"
    write(tmp_path / "view" / "sample_submission.csv", ["id", "y"], [["h0", 0]])
    found = interval_of(tmp_path, card("roc_auc"), seconds=0.0)
    assert (found.low, found.note) == (
        None,
        "the metric roc_auc gave a score on only 0 resamples of the validation rows; at least 60 are needed",
    )


@pytest.mark.integration
@pytest.mark.parametrize("kinds", [{}, {"groups": 40}, {"hidden": 40}, {"hidden": 2000}])
def test_the_interval_of_a_competitions_own_grader_is_that_of_the_same_metric(
    tmp_path: Path, kinds: dict[str, int]
) -> None:
    errors = np.random.default_rng(4).gamma(1.0, size=ROWS)
    if groups := kinds.get("groups"):
        errors = np.repeat(np.random.default_rng(4).gamma(1.0, size=groups), ROWS // groups)
    laid_out(tmp_path, errors, kinds.get("hidden", HIDDEN), groups=groups)
    grader = tmp_path / "grade.py"
    grader.write_text(ABSOLUTE.replace("    return", CAREFUL + "    return"))
    own, known = interval_of(tmp_path, card("grade.py"), grader=grader, seconds=1e6), interval_of(tmp_path, seconds=1e6)
    assert (own.draws, own.unit_column, own.note) == (known.draws, known.unit_column, None)
    assert own.low < errors.mean() < own.high
    assert (own.high - own.low) / (known.high - known.low) == pytest.approx(1.0, abs=0.25)


@pytest.mark.integration
def test_where_a_grader_scores_whole_files_only_there_is_no_interval_and_it_says_so(tmp_path: Path) -> None:
    laid_out(tmp_path, np.ones(ROWS))
    rows = read(tmp_path / "labels" / "labels.csv")[1:]
    write(tmp_path / "labels" / "labels.csv", ["id", "y"], [*rows, ["another", 1.0]])
    grader = tmp_path / "grade.py"
    grader.write_text("def grade(submission, answers):\n    return 0.5\n")
    found = interval_of(tmp_path, card("grade.py"), grader=grader)
    assert found.low is None and "scores whole files only" in found.note

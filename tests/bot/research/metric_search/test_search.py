import csv
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from bot.evaluation.metrics.arrays import Values
from bot.evaluation.metrics.params import Params
from bot.evaluation.metrics.registry import METRICS, Metric
from bot.research.metric_search.grade_calls import GraderAnswer, grader_of, limits_for
from bot.research.metric_search.search import Candidate, MetricSearch, TrialTable, same, search_result
from bot.research.metric_search.trial_submissions import TrialSubmission
from state.errors import SnapshotError
from tests.bot.research.importers.mle_bench.prepared_folder import write_table


@pytest.mark.parametrize(("rows", "seconds"), [(0, 120.0), (1_000_000, 180.0), (30_000_000, 600.0)])
def test_the_time_of_a_score_grows_with_the_answers_up_to_ten_minutes(
    tmp_path: Path, rows: int, seconds: float
) -> None:
    (tmp_path / "answers.csv").write_bytes(b"\n" * rows)
    assert limits_for(tmp_path / "answers.csv").seconds == seconds


@pytest.mark.integration
def test_a_grader_that_hangs_is_stopped_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.research.metric_search.grade_calls._SECONDS", 2.0)
    (tmp_path / "grade.py").write_text("def grade(submission, answers):\n    while True:\n        pass\n")
    write_table(tmp_path / "answers.csv", ("id", "y"), [(1, 2)])
    with (
        pytest.raises(SnapshotError, match=r"grade.py took longer than 2"),
        grader_of(tmp_path / "grade.py", tmp_path / "answers.csv") as call,
    ):
        call(tmp_path / "answers.csv")


Columns = list[list[str]]
Grade = Callable[[Columns, Columns], float]
"""Takes the true columns and the predicted ones, as text."""


def search(tmp_path: Path, truth: Sequence[Sequence[object]], sample: Sequence[object], grade: Grade) -> MetricSearch:
    """A search with a grader of this process, which reads the file that is written and finds its columns by name."""
    cells = np.array([[str(cell) for cell in row] for row in truth], dtype=object)
    names = [f"y{place}" for place in range(cells.shape[1])]
    start = np.array([[str(cell) for cell in sample]] * len(cells), dtype=object)
    made = TrialTable(("id", *names), ("id",), [(f"r{row}",) for row in range(len(cells))], cells, start)

    def call(path: Path) -> GraderAnswer:
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert [row["id"] for row in rows] == list(made.ids)
        try:
            return GraderAnswer(
                grade([list(column) for column in cells.T], [[row[name] for row in rows] for name in names])
            )
        except (ValueError, ZeroDivisionError) as error:
            return GraderAnswer(None, str(error))

    return MetricSearch(made, call, tmp_path)


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def mae(true: Columns, predicted: Columns) -> float:
    return mean([abs(float(a) - float(b)) for a, b in zip(true[0], predicted[0], strict=True)])


def rmse(true: Columns, predicted: Columns) -> float:
    return mean([(float(a) - float(b)) ** 2 for a, b in zip(true[0], predicted[0], strict=True)]) ** 0.5


def accuracy(true: Columns, predicted: Columns) -> float:
    return mean([a == b for a, b in zip(true[0], predicted[0], strict=True)])


def squared_with_a_twist(true: Columns, predicted: Columns) -> float:
    return rmse(true, predicted) ** 1.5


WORDS = [f"w{number}" for number in range(40)]
AMOUNTS = [[round(2 + row * 0.61 % 7, 2)] for row in range(60)]
LETTERS = [["abcd"[row * 7 % 4]] for row in range(60)]


@pytest.mark.parametrize(
    ("truth", "sample", "grade", "name"),
    [(AMOUNTS, [0], mae, "mae"), (AMOUNTS, [0], rmse, "rmse"), (LETTERS, ["a"], accuracy, "accuracy")],
)
def test_a_metric_is_found_by_its_scores(tmp_path: Path, truth, sample, grade: Grade, name: str) -> None:
    looked = search(tmp_path, truth, sample, grade)
    direction = METRICS[name].direction
    result = search_result(looked, looked.run(), board_lower_is_better=direction == "minimize")
    assert (result.name, result.direction, result.params) == (name, direction, {})


def test_a_formula_that_is_not_in_the_registry_is_left_to_the_grader_with_the_direction_of_its_scores(
    tmp_path: Path,
) -> None:
    looked = search(tmp_path, AMOUNTS, [0], squared_with_a_twist)
    result = search_result(looked, looked.run(), board_lower_is_better=None)
    assert (result.name, result.direction) == ("grade.py", "minimize")
    assert result.params == {"predictions": "number"}
    assert "no metric in the registry" in result.explanation


def test_metrics_that_agree_on_the_first_submissions_are_distinguished_by_more_of_them(tmp_path: Path) -> None:
    looked = search(tmp_path, AMOUNTS, [0], mae)
    looked.run()
    first = len(looked.answers)
    worst = [_worst_row(looked.submissions.truth, trial.cells) for trial, _ in looked.answers]

    def nearly(true: Values, predicted: Values, params: Params) -> float:
        """Another metric only where a row is the worst that was not the worst of any first submission."""
        return METRICS["mae"].score(true, predicted, params) + (_worst_row(true, predicted) not in worst)

    class Nearly(Metric):
        def score(self, y_true: Values, y_pred: Values, params: Params) -> float:
            return nearly(y_true, y_pred, params)

    again = search(tmp_path, AMOUNTS, [0], mae)
    again.metrics = Nearly("errors.nearly", "minimize"), METRICS["mae"]
    assert [str(candidate) for candidate in again.run()] == ["mae"]
    assert len(again.answers) > first


def _worst_row(true: Values, predicted: Values) -> int:
    return int(np.abs(true.astype(float) - predicted.astype(float))[:, 0].argmax())


def test_parameters_are_tried_too(tmp_path: Path) -> None:
    """scikit-learn clips at the double's own step, Kaggle at 1e-15: the difference shows in sure and wrong rows."""

    def log_loss(true: Columns, predicted: Columns) -> float:
        step = float(np.finfo(float).eps)
        chance = [min(max(float(cell), step), 1 - step) for cell in predicted[0]]
        return mean([-float(np.log(p if int(t) else 1 - p)) for t, p in zip(true[0], chance, strict=True)])

    looked = search(tmp_path, [[row * 7 % 3 % 2] for row in range(60)], [0.5], log_loss)
    result = search_result(looked, looked.run(), board_lower_is_better=True)
    assert (result.name, result.params) == ("log_loss", {"eps": float(np.finfo(float).eps)})


@pytest.mark.parametrize(
    ("grade", "sentence"),
    [(rmse, "the leaderboard implies maximize, but rmse implies minimize"), (squared_with_a_twist, "contradiction")],
)
def test_a_board_in_the_other_order_is_a_contradiction(tmp_path: Path, grade: Grade, sentence: str) -> None:
    looked = search(tmp_path, AMOUNTS, [0], grade)
    with pytest.raises(SnapshotError, match=sentence):
        search_result(looked, looked.run(), board_lower_is_better=False)


def test_a_grader_whose_best_score_is_not_that_of_the_answers_takes_the_boards_direction_and_says_so(
    tmp_path: Path,
) -> None:
    looked = search(
        tmp_path, AMOUNTS, [0], lambda true, predicted: abs(mean([float(cell) for cell in predicted[0]]) - 7.0)
    )
    result = search_result(looked, looked.run(), board_lower_is_better=True)
    assert (result.name, result.direction) == ("grade.py", "minimize")
    assert any("grade.py does not give the answers the best score" in note for note in result.notes)
    with pytest.raises(SnapshotError, match="cannot show whether lower scores are better"):
        search_result(looked, [], board_lower_is_better=None)


def test_a_grader_that_scores_next_to_nothing_is_refused_with_its_reason(tmp_path: Path) -> None:
    def broken(true: Columns, predicted: Columns) -> float:
        raise ValueError("no module named cv2")

    with pytest.raises(SnapshotError, match="no module named cv2"):
        search(tmp_path, AMOUNTS, [0], broken).run()


def test_a_grader_that_scores_everything_the_same_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SnapshotError, match="1 different values: too few"):
        search(tmp_path, AMOUNTS, [0], lambda true, predicted: 0.5).run()


GRADES = [[row * 7 % 5] for row in range(80)]
SENTENCES = [[" ".join(WORDS[row * step % 9] for step in range(1, 3 + row % 5))] for row in range(80)]
LISTS = [[" ".join(sorted({WORDS[row * step % 40] for step in range(1, 2 + row % 4)}))] for row in range(80)]
RUNS = [["" if row % 4 == 0 else f"{1 + row} {3 + row % 7} {40 + row} {2 + row % 5}"] for row in range(80)]


@pytest.mark.parametrize(
    ("name", "params", "truth", "sample"),
    [
        ("quadratic_weighted_kappa", {}, GRADES, [2]),
        ("macro_f1", {}, LETTERS, ["a"]),
        ("r2", {}, AMOUNTS, [0]),
        ("spearman", {}, AMOUNTS, [0]),
        ("word_jaccard", {}, SENTENCES, ["w1"]),
        ("levenshtein", {}, SENTENCES, ["w1"]),
        ("map_at_k", {"k": 12}, LISTS, ["w1 w2"]),
        ("map_at_k", {}, [[str(1000 + row * 7 % 23)] for row in range(80)], ["1000"]),  # one true label, five predicted
        ("multilabel_micro_f1", {}, LISTS, ["w1 w2"]),
        ("multilabel_micro_f1", {"known_only": True}, LISTS, ["w1 w2"]),
        ("dice", {}, RUNS, [""]),
        (
            "mean_columnwise_rmse",
            {"columns": [0, 2]},
            [[row, row * 7 % 11, row * 3 % 5] for row in range(80)],
            [0, 0, 0],
        ),
    ],
)
def test_metrics_of_every_kind_are_found_again_with_their_parameters(
    tmp_path: Path, name: str, params: dict[str, object], truth: list[list[object]], sample: list[object]
) -> None:
    meant = Candidate(METRICS[name], params)

    def grade(true: Columns, predicted: Columns) -> float:
        true_cells, cells = (np.array(columns, dtype=object).T for columns in (true, predicted))
        score = meant.score(TrialSubmission("true", true_cells), TrialSubmission("predicted", cells))
        if not np.isfinite(score):
            raise ValueError("not defined")
        return score

    looked = search(tmp_path, truth, sample, grade)
    result = search_result(looked, looked.run(), board_lower_is_better=meant.metric.direction == "minimize")
    assert (result.name, result.params) == (name, params)


@pytest.mark.parametrize(
    ("sample", "truth", "kind"),
    [
        ([0], AMOUNTS, "number"),
        ([0], [[row if row % 3 else ""] for row in range(40)], "number"),  # some rows do not count
        (["a"], LETTERS, "label"),
        ([0], LETTERS, "label"),
        (["1 3"], [[f"{row} 2 {row + 9} 4"] for row in range(40)], "text"),
        ([""], LETTERS, "text"),
    ],
)
def test_the_kind_of_predictions_is_that_of_the_answers_and_the_sample(
    tmp_path: Path, sample: list[object], truth: list[list[object]], kind: str
) -> None:
    assert search(tmp_path, truth, sample, accuracy).kind() == kind


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (0.123451, 0.123449, True),
        (0.12345, 0.12346, True),
        (0.12345, 0.12347, False),
        (float("nan"), float("nan"), False),
        (123456789.12345, 123456789.12346, True),
    ],
)
def test_scores_are_equal_within_the_last_digit_that_is_kept(one: float, other: float, equal: bool) -> None:
    assert same(one, other) is equal

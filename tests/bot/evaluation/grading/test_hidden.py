import pytest

from bot.evaluation.grading.grade import grade_nodes
from tests.bot.evaluation.parts import card, write

BOARDS = {"rmse": [0.0, 0.5, 1.5, 2.5, 9.0], "accuracy": [1.0, 0.75, 0.5, 0.25, 0.0]}


def snapshot(folder, metric):
    write(folder / "data" / "sample_submission.csv", ["id", "y"], [[i, 0] for i in "abcd"])
    write(folder / "private" / "answers.csv", ["id", "y"], [[i, 1] for i in "abcd"])
    write(folder / "leaderboard.csv", ["score"], [[score] for score in BOARDS[metric]])
    return folder


def nodes(folder, **values):
    return {
        int(name[1:]): write(folder / f"{name}.csv", ["id", "y"], zip("abcd", v, strict=False))
        for name, v in values.items()
    }


@pytest.mark.parametrize("metric", ["rmse", "accuracy"])
def test_correlation_is_one_where_validation_orders_as_the_test_does(tmp_path, metric):
    files = nodes(tmp_path, n1=[1, 1, 1, 1], n2=[1, 1, 2, 2], n3=[1, 2, 2, 2])
    task, folder = card(metric), snapshot(tmp_path, metric)
    better = [0.1, 0.2, 0.3] if metric == "rmse" else [0.9, 0.8, 0.7]
    right = grade_nodes(folder, task, files, dict(zip(files, better, strict=True)))
    wrong = grade_nodes(folder, task, files, dict(zip(files, reversed(better), strict=True)))
    assert (right.rank_correlation, wrong.rank_correlation) == pytest.approx((1, -1))
    assert right.best_node == 1 and right.regret[1] == 0.0
    assert right.nodes[1].win_rate == 0.8
    assert right.regret[3] == abs(right.nodes[3].score - right.nodes[1].score)


def test_invalid_nodes_score_nothing_and_say_why(tmp_path):
    files = nodes(tmp_path, n1=[1, 1, 1, 1], n2=[1])
    graded = grade_nodes(snapshot(tmp_path, "rmse"), card(), files, {1: 0.5, 2: 0.1})
    assert graded.nodes[2].score is None and graded.nodes[2].win_rate == 0.0
    assert "4 are expected" in graded.nodes[2].message
    assert (graded.rank_correlation, graded.compared_count, graded.best_node) == (None, 1, 1)


def test_without_a_valid_node_there_is_no_best(tmp_path):
    graded = grade_nodes(snapshot(tmp_path, "rmse"), card(), {}, {})
    assert (graded.best_node, graded.regret) == (None, {})


def test_nodes_without_a_validation_score_are_graded_but_not_compared(tmp_path):
    files = nodes(tmp_path, n1=[1, 1, 1, 1], n2=[1, 1, 2, 2], n3=[1, 2, 2, 2])
    graded = grade_nodes(snapshot(tmp_path, "rmse"), card(), files, {2: 1.0, 3: 2.0})
    assert graded.rank_correlation == pytest.approx(1)
    assert (graded.compared_count, graded.best_node) == (2, 1)

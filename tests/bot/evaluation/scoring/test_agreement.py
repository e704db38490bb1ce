import numpy as np
import pytest

from bot.evaluation.metrics.ranks import spearman
from bot.evaluation.scoring.agreement import agree
from state.errors import InvalidSubmission
from tests.bot.evaluation.parts import card, write

RNG = np.random.default_rng(0)
IDS = [f"t{n}" for n in range(200)]


def submission(path, *columns):
    names = ["y", "z", "w"][: len(columns)]
    return write(path, ["id", *names], zip(IDS, *columns, strict=True))


def compare(tmp_path, left, right, metric, columns=1):
    task = card(metric, ("y", "z", "w")[:columns])
    sides = [left, right] if columns > 1 else [[left], [right]]
    return agree(submission(tmp_path / "a.csv", *sides[0]), submission(tmp_path / "b.csv", *sides[1]), task)


def test_a_slightly_other_quantity_agrees_and_shuffled_rows_do_not(tmp_path):
    values = RNG.gamma(2.0, 10.0, 200)
    assert compare(tmp_path, values, values * RNG.normal(1, 0.05, 200), "rmse").agrees
    result = compare(tmp_path, values, RNG.permutation(values), "rmse")
    assert not result.agrees and abs(result.correlation) < 0.3
    assert "the correlation is" in result.message


def test_the_same_order_on_another_scale_disagrees_for_a_quantity(tmp_path):
    values = RNG.gamma(2.0, 10.0, 200)
    result = compare(tmp_path, values, np.log1p(values), "rmsle")
    assert result.correlation == pytest.approx(1.0)
    assert not result.agrees and "standard deviations" in result.message


def test_that_a_constant_has_moved_is_reported_without_its_standard_deviation(tmp_path):
    message = compare(tmp_path, np.full(200, 3.0), np.linspace(4, 6, 200), "rmse").message
    assert "one file predicts 3 for every row, where the mean of the other is 5" in message
    assert "inf" not in message


def test_saturated_probabilities_agree_by_value_though_not_by_rank(tmp_path):
    sure = np.where(np.arange(200) % 4 == 0, 0.001, 0.999)
    left, right = (sure + RNG.uniform(-0.001, 0.001, 200) for _ in range(2))
    assert spearman(left, right) < 0.8
    assert compare(tmp_path, left, right, "roc_auc").agrees


def test_a_flipped_class_disagrees(tmp_path):
    chance = RNG.beta(0.5, 2.0, 200)
    result = compare(tmp_path, chance, 1 - chance, "log_loss")
    assert result.correlation == pytest.approx(-1.0)
    assert result.class_share_difference == pytest.approx(abs(1 - 2 * chance.mean()))
    assert not result.agrees


def test_a_class_that_grew_disagrees_though_ranks_agree(tmp_path):
    chance = RNG.uniform(0.1, 0.5, 200)
    result = compare(tmp_path, chance, chance + 0.4, "roc_auc")
    assert result.correlation == pytest.approx(1.0)
    assert result.class_share_difference == pytest.approx(0.4) and not result.agrees


def test_scores_without_a_scale_are_compared_by_rank_alone(tmp_path):
    scores = RNG.normal(0, 5, 200)
    result = compare(tmp_path, scores, scores * 3, "roc_auc")
    assert result.agrees and result.class_share_difference is None


def test_shares_of_several_classes_are_those_of_normalised_rows(tmp_path):
    left = np.tile([[2.0], [1.0], [1.0]], 200)
    right = np.tile([[0.25], [0.5], [0.25]], 200)
    assert compare(tmp_path, left, right, "log_loss", columns=3).class_share_difference == pytest.approx(0.25)


def test_labels_agree_by_the_share_of_equal_ones(tmp_path):
    labels = np.array(["cat", "dog"])[np.arange(200) % 2]
    other = np.where(np.arange(200) < 100, labels, "bird")
    assert compare(tmp_path, labels, labels, "accuracy").agrees
    result = compare(tmp_path, labels, other, "accuracy")
    assert (result.correlation, result.class_share_difference) == (0.5, 0.5)
    assert "share of equal labels" in result.message


def test_a_column_that_became_constant_agrees_in_nothing(tmp_path):
    assert compare(tmp_path, RNG.normal(size=200), np.zeros(200), "rmse").correlation == 0.0


def test_other_ids_cannot_be_compared(tmp_path):
    left = submission(tmp_path / "a.csv", np.zeros(200))
    right = write(tmp_path / "b.csv", ["id", "y"], [["t0", 1]])
    with pytest.raises(InvalidSubmission, match=r"b\.csv has 1 rows where 200 are expected"):
        agree(left, right, card())


@pytest.mark.parametrize(
    "content", [b"\x89PNG\r\n\x1a\n", b"id,y\nt0,0,1\n", b'id,y\n"t0,1', b"id,y\n", b"id;y\nt0;1\n", b""]
)
def test_what_is_no_prediction_file_is_an_invalid_submission_on_either_side(tmp_path, content):
    (tmp_path / "a.csv").write_bytes(content)
    good = submission(tmp_path / "b.csv", np.zeros(200))
    for pair in ((tmp_path / "a.csv", good), (good, tmp_path / "a.csv")):
        with pytest.raises(InvalidSubmission):
            agree(*pair, card())


def test_rank_correlation_gives_ties_their_mean_rank():
    assert spearman([1, 2, 2, 3], [1, 2, 3, 4]) == pytest.approx(4.5 / np.sqrt(4.5 * 5))
    assert spearman([1, 2, 3], [3, 2, 1]) == pytest.approx(-1)
    assert spearman([1.0], [1.0]) is None
    assert spearman([1, 1], [1, 2]) is None
    assert spearman([1, 1], [2, 2]) == 1.0


def test_lists_of_labels_agree_by_what_their_metric_gives_one_for_the_other(tmp_path):
    ranked = [f"a{n % 7} b c" for n in range(200)]
    swapped = [f"b a{n % 7} c" for n in range(200)]
    assert compare(tmp_path, ranked, ranked, "map_at_k").correlation == pytest.approx(1.0)
    result = compare(tmp_path, ranked, swapped, "map_at_k")
    assert result.agrees and result.class_share_difference is None
    assert not compare(tmp_path, ranked, ["x y z"] * 200, "map_at_k").agrees


def test_masks_agree_by_their_pixels_and_sentences_by_their_words(tmp_path):
    masks = ["" if n % 2 else f"{n + 1} 100" for n in range(200)]
    moved = ["" if n % 2 else f"{n + 11} 100" for n in range(200)]
    assert compare(tmp_path, masks, moved, "dice").correlation == pytest.approx((1 + 0.9) / 2)
    assert not compare(tmp_path, masks[1:] + masks[:1], masks, "dice").agrees
    first = ["he went to the old house"] * 200
    assert compare(tmp_path, first, ["he went to that old house"] * 200, "levenshtein").agrees
    assert not compare(tmp_path, first, ["nobody knows"] * 200, "levenshtein").agrees

import math

import numpy as np
import pytest

from tests.bot.evaluation.metrics.parts import score

RNG = np.random.default_rng(19)


def encoded(mask: np.ndarray) -> str:
    """Run lengths of a mask, column by column from pixel 1, pixel by pixel."""
    runs: list[list[int]] = []
    for place, on in enumerate(mask.ravel(order="F"), 1):
        if on and runs and runs[-1][0] + runs[-1][1] == place:
            runs[-1][1] += 1
        elif on:
            runs.append([place, 1])
    return " ".join(f"{start} {length}" for start, length in runs)


TRUTH = [RNG.random((12, 9)) < share for share in (0.5, 0.2, 0.9, 0.0, 0.0, 0.4)]
PREDICTED = [np.where(RNG.random((12, 9)) < 0.8, mask, ~mask) for mask in TRUTH[:4]] + [TRUTH[4], 0 * TRUTH[5]]
SIDES = [encoded(mask) for mask in TRUTH], [encoded(mask) for mask in PREDICTED]


@pytest.mark.parametrize("beta", [1, 0.5, 2])
def test_dice_and_f_beta_are_those_of_pixels(beta):
    from sklearn.metrics import fbeta_score

    each = [
        fbeta_score(
            t.ravel(), p.ravel().astype(bool), beta=beta, zero_division=1.0 if not t.any() and not p.any() else 0.0
        )
        for t, p in zip(TRUTH, PREDICTED, strict=True)
    ]
    assert score("dice", *SIDES, beta=beta) == pytest.approx(np.mean(each))


def test_global_dice_pools_the_pixels():
    both = sum((t & p.astype(bool)).sum() for t, p in zip(TRUTH, PREDICTED, strict=True))
    sizes = sum(t.sum() + p.astype(bool).sum() for t, p in zip(TRUTH, PREDICTED, strict=True))
    assert score("global_dice", *SIDES) == pytest.approx(2 * both / sizes)
    assert math.isnan(score("global_dice", ["", "-"], ["-", ""]))


def test_dice_by_hand():
    assert score("dice", ["1 4"], ["3 4"]) == pytest.approx(2 * 2 / (4 + 4))
    assert score("dice", ["1 4", ""], ["", "1 4"]) == 0.0
    assert score("dice", ["", "1 4"], ["", ""]) == 0.5


def iou_precision_by_definition(truth, predicted):
    if not truth.any() and not predicted.any():
        return 1.0
    if not truth.any() or not predicted.any():
        return 0.0
    iou = (truth & predicted).sum() / (truth | predicted).sum()
    hits = [iou > threshold for threshold in np.arange(0.5, 1.0, 0.05)]
    return sum(hits) / len(hits)


def test_map_over_thresholds_is_the_share_that_the_iou_exceeds():
    each = [iou_precision_by_definition(t, p.astype(bool)) for t, p in zip(TRUTH, PREDICTED, strict=True)]
    assert score("mask_map_iou", *SIDES) == pytest.approx(np.mean(each))


def test_map_over_thresholds_by_hand():
    # 7 of 10 pixels: more than 0.5 to 0.65, not more than 0.7 itself.
    assert score("mask_map_iou", ["1 10"], ["1 7"]) == pytest.approx(4 / 10)
    assert score("mask_map_iou", ["1 10"], ["1 7"], thresholds=[0.6, 0.9]) == 0.5
    assert score("mask_map_iou", ["1 10", "", ""], ["", "1 9", ""]) == pytest.approx(1 / 3)


@pytest.mark.parametrize("name", ["dice", "global_dice", "mask_map_iou"])
def test_what_is_no_run_lengths_has_no_score(name):
    assert math.isnan(score(name, ["1 4", "1 2"], ["1 4", "1 2 3"]))
    assert math.isnan(score(name, ["nonsense"], ["1 4"]))

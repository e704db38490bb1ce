"""Draws are scored as the metric scores them, whether their losses were computed before or they are counted in bins."""

import math
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from bot.evaluation.answers import LabelledView
from bot.evaluation.metrics.registry import METRICS, Metric
from bot.evaluation.scoring.registry_scorer import BINS, draw_scorer
from bot.evaluation.scoring.score import score_predictions
from tests.bot.evaluation.parts import card, write

BY_ROWS = [metric for metric in METRICS.values() if metric.rows]
PARAMS = {
    "log_loss": [{}, {"normalize": False}, {"eps": 1e-3}],
    "weighted_log_loss": [{}, {"weights": [3, 1, 2], "positive": 2}],
    "mean_columnwise_rmse": [{}, {"columns": [0, 2]}],
}
CASES = [(metric, params) for metric in BY_ROWS for params in PARAMS.get(metric.name, [{}])]


def predictions(metric: Metric, rows: int, columns: int, seed: int) -> tuple[NDArray[Any], NDArray[Any]]:
    rng = np.random.default_rng(seed)
    if metric.input_kind == "label":
        return tuple(rng.integers(0, 3, (2, rows, columns)).astype(str).astype(object))
    if metric.name == "log_loss" and columns > 1:
        return np.eye(columns)[rng.integers(0, columns, rows)], rng.random((rows, columns))
    if metric.of_classes:
        return rng.integers(0, 2, (rows, columns)).astype(float), rng.random((rows, columns))
    return rng.random((2, rows, columns))


@pytest.mark.parametrize(("metric", "params"), CASES, ids=lambda one: getattr(one, "name", str(one)))
@settings(max_examples=15)
@given(rows=st.integers(1, 60), seed=st.integers(0, 99), alone=st.booleans())
def test_draws_by_losses_are_scored_as_the_metric_scores_them(metric, params, rows, seed, alone):
    truth, predicted = predictions(metric, rows, 1 if alone and not params else 3, seed)
    drawn = np.random.default_rng(seed).integers(0, rows, rows)
    score = draw_scorer(metric, truth, predicted, params)
    assert score(drawn) == pytest.approx(metric.score(truth[drawn], predicted[drawn], params), rel=1e-12, abs=1e-15)
    assert score(np.arange(rows)) == pytest.approx(metric.score(truth, predicted, params), rel=1e-12, abs=1e-15)
    assert math.isnan(score(np.array([], dtype=np.int64)))


@settings(max_examples=40)
@given(rows=st.integers(2, 300), ties=st.integers(1, 50), columns=st.integers(1, 3), seed=st.integers(0, 99))
def test_areas_of_few_values_are_exact_and_undefined_where_the_metric_is(rows, ties, columns, seed):
    metric, rng = METRICS["roc_auc"], np.random.default_rng(seed)
    truth = rng.integers(0, 2, (rows, columns)).astype(float)
    predicted = rng.integers(0, ties, (rows, columns)) / 7
    drawn = rng.integers(0, rows, rows)
    expected = metric.score(truth[drawn], predicted[drawn], {})
    assert draw_scorer(metric, truth, predicted, {})(drawn) == pytest.approx(expected, rel=1e-12, nan_ok=True)


def test_areas_of_many_values_are_off_by_a_millionth():
    metric, rng = METRICS["roc_auc"], np.random.default_rng(0)
    truth = (rng.random((40 * BINS, 1)) < 0.3).astype(float)
    predicted = truth * 0.7 + rng.normal(size=truth.shape)
    drawn = rng.integers(0, len(truth), len(truth))
    expected = metric.score(truth[drawn], predicted[drawn], {})
    assert draw_scorer(metric, truth, predicted, {})(drawn) == pytest.approx(expected, abs=5e-6)


def test_a_metric_that_is_no_mean_is_computed_on_each_draw():
    metric, rng = METRICS["spearman"], np.random.default_rng(0)
    truth, predicted = rng.random((2, 50, 1))
    drawn = rng.integers(0, 50, 50)
    assert draw_scorer(metric, truth, predicted, {})(drawn) == metric.score(truth[drawn], predicted[drawn], {})


def labelled(place, name, rows):
    rng = np.random.default_rng(0)
    truth = (rng.random(rows) < 0.4).astype(int)
    ids = [f"r{n}" for n in range(rows)]
    write(place / "view" / "sample_validation.csv", ["id", "y"], ([id, 0.5] for id in ids))
    write(place / "labels" / "labels.csv", ["id", "y"], zip(ids, truth.tolist(), strict=True))
    files = []
    for own in ("a", "b"):
        chance = np.clip(0.2 + 0.5 * truth + rng.normal(0, 0.2, rows), 0.01, 0.99).round(6)
        files.append(write(place / f"{own}.csv", ["id", "y"], zip(ids, chance.tolist(), strict=True)))
    return LabelledView(place / "view", place / "labels", card(name)), files


@pytest.mark.parametrize("name", ["log_loss", "roc_auc", "rmse"])
def test_all_draws_are_made_in_little_time(name, tmp_path):
    view, files = labelled(tmp_path, name, 5_000)
    began = time.process_time()
    found = score_predictions(view, *files, 0)
    spent = time.process_time() - began
    assert found.std_error > 0 and found.gain.std_error > 0
    assert spent < 1.0, "five times what it may take, for a machine that is busy"


def test_a_file_that_was_read_is_read_again_only_where_it_has_changed(tmp_path):
    view, (own, other) = labelled(tmp_path, "log_loss", 200)
    first = score_predictions(view, own, other, 0)
    assert score_predictions(view, own, other, 0) == first
    own.write_bytes(other.read_bytes())
    assert score_predictions(view, own, other, 0).gain.value == 0
    write(view.labels / "labels.csv", ["id", "y"], ([f"r{n}", 1] for n in range(200)))
    assert score_predictions(view, other, None, 0).std_error != first.std_error

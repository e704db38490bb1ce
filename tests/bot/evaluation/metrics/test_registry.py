import subprocess
import sys

import pytest

from bot.evaluation.metrics.registry import CLASSIFICATION_METRICS, METRICS, prediction_kind
from tests.bot.evaluation.parts import card


def test_what_is_known_of_metrics_needs_no_numpy():
    code = "import sys, bot.evaluation.metrics.registry\nprint('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("name", METRICS)
def test_a_metrics_kind_follows_from_its_name(name):
    assert prediction_kind(card(name, ("y",))) == METRICS[name].input_kind


def test_labels_are_of_classes_and_errors_of_quantities():
    assert {name for name, metric in METRICS.items() if metric.input_kind == "label"} <= CLASSIFICATION_METRICS
    assert {"log_loss", "roc_auc", "lwlrap", "top_k_error"} <= CLASSIFICATION_METRICS
    assert not {"rmse", "r2", "kl_divergence", "word_jaccard", "dice"} & CLASSIFICATION_METRICS


def test_a_range_begins_before_it_ends():
    assert all(facts.minimum < facts.maximum for facts in METRICS.values())

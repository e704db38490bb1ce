import subprocess
import sys

import pytest

from bot.evaluation.directions import CLASSIFICATION_METRICS, LABEL_METRICS, METRIC_FACTS, TEXT_METRICS, prediction_kind
from tests.bot.evaluation.parts import card


def test_what_is_known_of_metrics_needs_no_numpy():
    code = "import sys, bot.evaluation.directions, bot.evaluation.bounds\nprint('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("name", METRIC_FACTS)
def test_a_metrics_kind_is_told_by_its_name(name):
    assert prediction_kind(card(name, ("y",))) == METRIC_FACTS[name].takes
    assert (name in LABEL_METRICS) == (METRIC_FACTS[name].takes == "label")
    assert (name in TEXT_METRICS) == (METRIC_FACTS[name].takes == "text")


def test_labels_are_of_classes_and_errors_of_quantities():
    assert LABEL_METRICS <= CLASSIFICATION_METRICS
    assert {"log_loss", "roc_auc", "lwlrap", "top_k_error"} <= CLASSIFICATION_METRICS
    assert not {"rmse", "r2", "kl_divergence", "word_jaccard", "dice"} & CLASSIFICATION_METRICS


def test_a_range_begins_before_it_ends():
    assert all(facts.least < facts.most for facts in METRIC_FACTS.values())

"""The official metrics by name; all take arrays of shape (rows, prediction columns).

A metric's direction, what it takes and what scores it can give stand in `bot.evaluation.directions`, which needs no numpy. All
give NaN where they are not defined (no rows, mostly a constant truth), and raise nothing but UsageError for a wrong parameter.
"""

from collections.abc import Callable, Mapping

import numpy as np

from bot.evaluation.directions import METRIC_DIRECTIONS
from bot.evaluation.metrics import (
    correlations,
    errors,
    label_lists,
    labels,
    masks,
    points,
    probabilities,
    ranking,
    texts,
)
from bot.evaluation.metrics.metric import Metric, Params, ScoreFunction, Values, defined
from state.errors import UsageError

__all__ = ["METRICS", "Metric", "Params", "ScoreFunction", "Values", "metric_named"]

_FUNCTIONS: Mapping[str, ScoreFunction] = {
    "log_loss": probabilities.log_loss,
    "mean_columnwise_log_loss": probabilities.mean_columnwise_log_loss,
    "weighted_log_loss": probabilities.weighted_log_loss,
    "kl_divergence": probabilities.kl_divergence,
    "roc_auc": ranking.roc_auc,
    "weighted_auc": ranking.weighted_auc,
    "average_precision": ranking.average_precision,
    "lwlrap": ranking.lwlrap,
    "probabilistic_f1": ranking.probabilistic_f1,
    "rmse": errors.rmse,
    "mse": errors.mse,
    "rmsle": errors.rmsle,
    "msle": errors.msle,
    "mean_columnwise_rmse": errors.mean_columnwise_rmse,
    "mean_columnwise_rmsle": errors.mean_columnwise_rmsle,
    "mae": errors.mae,
    "median_absolute_error": errors.median_ae,
    "mape": errors.mape,
    "smape": errors.smape,
    "rmspe": errors.rmspe,
    "pinball_loss": errors.pinball_loss,
    "r2": correlations.r2,
    "pearson": correlations.pearson,
    "spearman": correlations.spearman,
    "gini": correlations.gini,
    "laplace_log_likelihood": correlations.laplace_log_likelihood,
    "mean_angular_error": correlations.mean_angular_error,
    "accuracy": labels.accuracy,
    "error_rate": labels.error_rate,
    "balanced_accuracy": labels.balanced_accuracy,
    "cohen_kappa": labels.cohen_kappa,
    "quadratic_weighted_kappa": labels.quadratic_weighted_kappa,
    "mcc": labels.mcc,
    "macro_f1": labels.macro_f1,
    "micro_f1": labels.micro_f1,
    "weighted_f1": labels.weighted_f1,
    "binary_f1": labels.binary_f1,
    "binary_f_beta": labels.binary_f_beta,
    "multilabel_micro_f1": label_lists.multilabel_micro_f1,
    "multilabel_macro_f1": label_lists.multilabel_macro_f1,
    "multilabel_samples_f1": label_lists.multilabel_samples_f1,
    "map_at_k": label_lists.map_at_k,
    "top_k_error": label_lists.top_k_error,
    "word_jaccard": texts.word_jaccard,
    "levenshtein": texts.levenshtein,
    "levenshtein_ratio": texts.levenshtein_ratio,
    "kendall_tau": texts.kendall_tau,
    "dice": masks.dice,
    "global_dice": masks.global_dice,
    "mask_map_iou": masks.mask_map_iou,
    "points_in_boxes_f1": points.points_in_boxes_f1,
}

_PERFECT: Mapping[str, Callable[[Values], Values]] = {"points_in_boxes_f1": points.centres}

METRICS: Mapping[str, Metric] = {
    name: Metric(name, METRIC_DIRECTIONS[name], defined(function), _PERFECT.get(name, np.asarray))
    for name, function in _FUNCTIONS.items()
}


def metric_named(name: str) -> Metric:
    """Return the metric of that name.

    Raises:
        UsageError: no metric has that name.
    """
    if name not in METRICS:
        raise UsageError(f"The metric {name!r} is not known; known are {', '.join(METRICS)}.")
    return METRICS[name]

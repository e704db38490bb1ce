"""Tests of the names of metrics, as Kaggle's field and people write them."""

import pytest

from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from scrapers.kaggle.card.names import find_names, whole_name
from scrapers.kaggle.card.wording import comparable, uncamel
from tests.scrapers.kaggle.card.test_derive import UNTOLD

FIELDS = {
    "rmse": ["RMSE", "Root Mean Squared Error", "RootMeanSquaredError", "root-mean-square error (RMSE)"],
    "rmsle": ["RMSLE", "Root Mean Squared Logarithmic Error", "RootMeanSquaredLogError"],
    "mae": ["MAE", "Mean Absolute Error", "MeanAbsoluteError"],
    "roc_auc": ["AUC", "Roc Auc Score", "ROC\u2013AUC", "Area Under Receiver Operating Characteristic Curve", "AUROC"],
    "log_loss": ["LogLoss", "Log Loss", "MulticlassLoss", "Multi-class Log Loss", "Binary Cross-Entropy"],
    "accuracy": ["CategorizationAccuracy", "Accuracy Score", "Classification Accuracy", "Accuracy"],
    "quadratic_weighted_kappa": ["QuadraticWeightedKappa", "Quadratic Weighted Kappa", "QWK"],
    "macro_f1": ["Macro F1", "MacroFScore", "Macro F1-Score"],
    "r2": ["R2 Score", "R\u00b2", "R^2", "Coefficient of Determination"],
    "pearson": ["Pearson Correlation Coefficient", "PearsonCorrelation"],
    "map_at_k": ["MAP@3", "Mean Average Precision @ 12", "MAP@{K}"],
    "mse": ["MSE", "Mean Squared Error"],
    "smape": ["SMAPE", "Symmetric Mean Absolute Percentage Error"],
    "msle": ["MSLE", "Mean Squared Log Error"],
    "mape": ["MAPE", "Mean Absolute Percentage Error"],
    "rmspe": ["RMSPE", "RootMeanSquaredPercentageError"],
    "median_absolute_error": ["Median Absolute Error", "MEDAE"],
    "spearman": ["Spearman", "Spearman's rank correlation coefficient"],
    "gini": ["Gini", "NormalizedGini", "Normalized Gini Index"],
    "micro_f1": ["Micro F1", "Micro-averaged F1-Score"],
    "weighted_f1": ["Weighted F1", "F1 weighted"],
    "balanced_accuracy": ["Balanced Accuracy", "BalancedAccuracy"],
    "cohen_kappa": ["Cohen's kappa", "Cohen Kappa Score"],
    "error_rate": ["Error Rate", "Misclassification Rate"],
    "average_precision": ["Average Precision", "AveragePrecisionScore"],
    "kl_divergence": ["KL Divergence", "Kullback-Leibler divergence"],
    "lwlrap": ["lwlrap", "Label-weighted label-ranking average precision"],
    "probabilistic_f1": ["Probabilistic F1 Score", "Probabilistic F1"],
    "word_jaccard": ["Word-level Jaccard score"],
    "dice": ["Mean Dice Coefficient"],
    "global_dice": ["Global Dice Coefficient"],
    "levenshtein": ["Mean Levenshtein Distance"],
    "mean_angular_error": ["Mean Angular Error"],
    "mcc": ["Matthews Correlation Coefficient", "MCC"],
}
OTHER = [
    "",
    "Custom Metric",
    "Weighted RMSE",
    "RMSE + MAE",
    "Balanced Log Loss",
    "PostProcessorKernel",
    "log of RMSE",
    "RMSE per store",
]


@pytest.mark.parametrize(
    ("metric", "field"), [(metric, field) for metric, fields in FIELDS.items() for field in fields]
)
def test_a_field_is_known_by_all_its_usual_names(metric: str, field: str) -> None:
    named = whole_name(comparable(uncamel(field)))
    assert named is not None
    assert (named.metric, named.columnwise) == (metric, False)


@pytest.mark.parametrize("field", OTHER)
def test_a_field_that_says_more_than_a_name_is_none(field: str) -> None:
    assert whole_name(comparable(uncamel(field))) is None


@pytest.mark.parametrize("field", ["MCRMSLE", "Mean Columnwise RMSLE", "Mean Column-Wise Root Mean Squared Log Error"])
def test_a_name_says_that_columns_are_averaged(field: str) -> None:
    named = whole_name(comparable(uncamel(field)))
    assert named is not None
    assert (named.metric, named.columnwise) == ("rmsle", True)


def test_the_longest_of_names_within_one_another_is_meant() -> None:
    text = "root mean squared logarithmic error, mean squared error, balanced accuracy, weighted mean absolute error"
    assert [named.metric for named in find_names(text)] == ["rmsle", "mse", "balanced_accuracy", "wmae"]


def test_words_that_hold_a_name_are_no_names() -> None:
    assert find_names("maestro, auction, primary maps, unmaerked rmsex") == []


def test_every_metric_of_the_registry_has_a_name() -> None:
    of_columns = {"mean_columnwise_rmsle", "mean_columnwise_rmse", "mean_columnwise_log_loss"}
    of_lists = {"multilabel_micro_f1", "multilabel_macro_f1"}
    assert METRIC_DIRECTIONS.keys() - UNTOLD <= of_columns | of_lists | set(FIELDS)

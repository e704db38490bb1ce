"""Which metric Kaggle's own field names; only its pages say whether something is added to it."""

import re
from collections.abc import Collection, Mapping, Sequence

_WAYS: Mapping[str, Collection[str]] = {
    "rmse": ("root mean squared error", "root mean square error"),
    "rmsle": ("root mean squared logarithmic error", "root mean squared log error"),
    "mae": ("mean absolute error",),
    "mse": ("mean squared error",),
    "msle": ("mean squared logarithmic error", "mean squared log error"),
    "mape": ("mean absolute percentage error",),
    "smape": ("symmetric mean absolute percentage error",),
    "rmspe": ("root mean squared percentage error", "root mean square percentage error"),
    "r2": ("r2 score", "coefficient of determination"),
    "roc_auc": (
        *("auc", "roc auc score", "auc roc", "area under the roc curve", "area under curve"),
        *(
            "area under receiver operating characteristic curve",
            "area under the receiver operating characteristic curve",
        ),
    ),
    "log_loss": ("multiclass loss", "multiclass log loss", "multi class log loss"),
    "mean_columnwise_rmsle": (
        *("mcrmsle", "mean columnwise rmsle", "mean columnwise root mean squared log error"),
        "mean columnwise root mean squared logarithmic error",
    ),
    "mean_columnwise_rmse": ("mcrmse", "mean columnwise rmse", "mean columnwise root mean squared error"),
    "mean_columnwise_log_loss": ("mean columnwise log loss",),
    "accuracy": ("categorization accuracy", "accuracy score"),
    "average_precision": ("average precision score",),
    "cohen_kappa": ("cohens kappa", "cohen kappa score"),
    "gini": ("normalized gini", "normalized gini coefficient", "normalized gini index"),
    "mcc": ("matthews correlation coefficient",),
    "pearson": ("pearson correlation coefficient",),
    "spearman": ("spearman correlation coefficient", "spearmans correlation coefficient"),
    "macro_f1": ("macro f1 score", "f1 score macro"),
    "weighted_f1": ("weighted f1 score",),
    "word_jaccard": ("word level jaccard score",),
    "levenshtein": ("mean levenshtein distance",),
    "dice": ("mean dice coefficient",),
    "global_dice": ("global dice coefficient",),
}
"""What Kaggle calls them, besides the registry's own names; blanks, hyphens and capitals do not matter."""
_COLUMNWISE: Mapping[str, Collection[str]] = {
    "roc_auc": (
        *("mcauc", "mean columnwise auc", "mean columnwise area under the roc curve"),
        "mean columnwise area under receiver operating characteristic curve",
    ),
    "spearman": ("mean columnwise spearmans correlation coefficient",),
}
"""Names that say besides that each column is scored by itself, as ours do."""
_OF_COLUMNS = frozenset(
    (
        *("mae", "mse", "msle", "mape", "smape", "kl_divergence", "lwlrap", "mean_angular_error"),
        *("mean_columnwise_rmse", "mean_columnwise_rmsle", "mean_columnwise_log_loss"),
    )
)
"""Those whose names say how several prediction columns are scored."""
_CUTOFF = re.compile(r"(?:map|mean ?average ?precision) ?@ ?(\d{1,3})", re.IGNORECASE)


def named_by_field(
    field: str, metrics: Collection[str], predictions: Sequence[str], *, one_of_classes: bool
) -> tuple[str, dict[str, int]] | None:
    """Return the metric and its parameters that Kaggle's field names; None where it names none of `metrics` for certain.

    Args:
        field: `evaluationMetric`, perhaps empty.
        metrics: the metrics that can be computed, by name.
        predictions: the prediction columns.
        one_of_classes: whether one column of the training data has values that name them.
    """
    if (cutoff := _CUTOFF.fullmatch(field.strip())) is not None:
        return ("map_at_k", {"k": int(cutoff[1])}) if "map_at_k" in metrics else None
    said, many = _squashed(field), len(predictions) > 1
    for name in metrics:
        if said in map(_squashed, _COLUMNWISE.get(name, ())):
            return name, {}
        if said in map(_squashed, (name, *_WAYS.get(name, ()))) and name != "map_at_k":
            certain = not many or name in _OF_COLUMNS or (name == "log_loss" and one_of_classes)
            return (name, {}) if certain else None
    return None


def _squashed(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).casefold()

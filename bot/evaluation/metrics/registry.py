"""The official metrics: one entry each, with all that is known of it; importable without numpy, which comes with the first score.

Formulas take arrays of shape (rows, prediction columns), give NaN where they are not defined (no rows, mostly a constant truth),
and raise nothing but UsageError for a wrong parameter.
"""

import importlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, get_args

from bot.evaluation.metrics.params import Params
from scrapers.snapshots.card import Direction, TaskCard
from state.errors import UsageError
from state.words import did_you_mean

if TYPE_CHECKING:
    from bot.evaluation.metrics.arrays import ScoreFunction, Values

PredictionKind = Literal["number", "label", "text"]
"""`number`: finite; `label`: text that is never empty, where a number may be spelled in several ways (`1`, `1.0`); `text`: any
text, an empty one too (a run-length mask of nothing)."""

Space = Literal["mean", "logit", "log", "rank", "vote", "ordinal", "share", "fusion", "pixels", "classes", "numbers"]
"""What a blend takes the weighted mean of: `mean` predictions as they are, `logit` their logits (logarithms where a row's sum
to 1), `log` log(1 + prediction), `rank` ranks within a column, `fusion` places in a ranked list, `ordinal` labels that are
numbers, which is then cut into labels again. Or it has members vote: `vote` on a text as a whole, `share` on each label of a
list, `pixels` on each pixel of a mask. Where labels were made of numbers that are known, `classes` takes the logarithms of the
classes' probabilities, and then the best class, and `numbers` the numbers of ordered labels, which are then cut."""


@dataclass(frozen=True)
class Bounds:
    """The predictions that a metric takes, and why no others."""

    low: float = -math.inf
    high: float = math.inf
    reason: str = ""


@dataclass(frozen=True)
class Metric:
    """A metric, which has the name of its formula."""

    formula: str
    """`file.function` below this package, which returns the score, or losses (rows, columns) whose mean it is."""
    direction: Direction
    input_kind: PredictionKind = "number"
    of_classes: bool = False
    """Whether its targets are classes; else they are quantities, or texts."""
    minimum: float = -math.inf
    """No score is smaller."""
    maximum: float = math.inf
    """No score is larger."""
    of_varied: bool = False
    """Whether a truth that is constant may leave it undefined, if only for predictions that are right."""
    scores_constants: bool = True
    """Whether predictions that are all alike have a score, where the truth varies."""
    bounds: Bounds = Bounds()
    """What scikit-learn, and so MLE-bench, refuses is refused."""
    rescaled: Bounds | None = None
    """Whether, with several columns, rows are divided by their sums by default; None: they never are."""
    rows: str = ""
    """`file.function` that returns each row's losses (rows, columns), where the score is the mean of them all; else nothing."""
    rooted: bool = False
    """Whether it is the mean over these columns of the root of each column's mean."""
    variants: Sequence[Params] = ({},)
    """Parameters that an unknown grader may mean, its own first."""
    blended: Sequence[Space] = ()
    """How its predictions are blended, see `spaces`; empty: by their mean where they are numbers, else by votes."""
    by_column: bool = False
    """Whether the better each column's score by itself, the better that of several, so that each may have weights of its own."""
    of_order: bool = False
    """Whether it compares rows by their predictions' order alone: models of several folds differ in scale, so that their
    predictions are scored per fold."""
    unblended: str = ""
    """Why they are not blended, a sentence; empty: they are."""

    @property
    def name(self) -> str:
        """Its name in task cards."""
        return self.formula.partition(".")[2]

    @property
    def spaces(self) -> Sequence[Space]:
        """The spaces in which predictions may be blended: weights are fitted in the first, and then each is tried."""
        return self.blended or (("mean",) if self.input_kind == "number" else ("vote",))

    def score(self, y_true: "Values", y_pred: "Values", params: Params) -> float:
        """Return the score of predictions; NaN where it is not defined."""
        return self._defined_formula(*self._sides(y_true, y_pred), params)

    def row_losses(self, y_true: "Values", y_pred: "Values", params: Params) -> "Values | None":
        """Return the losses (rows, columns) that the score is a mean of; None where it is no such mean."""
        losses: Values | None = _function(self.rows)(*self._sides(y_true, y_pred), params) if self.rows else None
        return losses

    def _sides(self, y_true: "Values", y_pred: "Values") -> "tuple[Values, Values]":
        numbers = self.input_kind == "number"
        return (y_true.astype(float, copy=False), y_pred.astype(float, copy=False)) if numbers else (y_true, y_pred)

    @cached_property
    def _defined_formula(self) -> "ScoreFunction":
        defined: ScoreFunction = _function("arrays.defined")(_function(self.formula))
        return defined


def _function(place: str) -> Any:
    file, _, name = place.partition(".")
    return getattr(importlib.import_module(f"bot.evaluation.metrics.{file}"), name)


_LOGARITHMS = Bounds(
    low=0.0, reason="the metric takes the logarithm of 1 + prediction, so predictions must not be negative"
)
_SHARES = Bounds(low=0.0, reason="probabilities must not be negative")
_PROBABILITIES = Bounds(low=0.0, high=1.0, reason="probabilities must be between 0 and 1")

_SMALLEST_DOUBLE = 2.220446049250313e-16
"""The step after 1.0, at which scikit-learn clips probabilities."""
_CLIPS: Sequence[Params] = ({}, {"eps": _SMALLEST_DOUBLE}, {"eps": 1e-7})
_RAW_CLIPS: Sequence[Params] = ({"normalize": False}, {"normalize": False, "eps": _SMALLEST_DOUBLE})
_CUTOFFS: Sequence[Params] = ({}, *({"k": k} for k in (1, 2, 3, 5, 7, 10, 12, 15, 20, 25, 50, 100)))
_BETAS: Sequence[Params] = ({}, {"beta": 0.5}, {"beta": 2.0})
_FROM_40_TO_75: Params = {"thresholds": [0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75]}


_probability_metric = partial(
    Metric, direction="minimize", minimum=0.0, bounds=_PROBABILITIES, blended=("mean", "logit")
)
_ranking_metric = partial(Metric, direction="maximize", of_classes=True, minimum=0.0, maximum=1.0, of_varied=True)
_error_metric = partial(Metric, direction="minimize", minimum=0.0)
_log_error_metric = partial(
    Metric, direction="minimize", minimum=0.0, bounds=_LOGARITHMS, blended=("log",), by_column=True
)
_correlation_metric = partial(Metric, direction="maximize", minimum=-1.0, maximum=1.0, of_varied=True)
_label_metric = partial(Metric, direction="maximize", input_kind="label", of_classes=True, minimum=0.0, maximum=1.0)
_text_metric = partial(Metric, direction="maximize", input_kind="text", minimum=0.0, maximum=1.0)

_ALL = (
    _probability_metric(
        "probabilities.log_loss",
        of_classes=True,
        rescaled=_SHARES,
        rows="probabilities.log_loss",
        variants=(*_CLIPS, *_RAW_CLIPS),
    ),
    _probability_metric(
        "probabilities.mean_columnwise_log_loss",
        of_classes=True,
        rows="probabilities.mean_columnwise_log_loss",
        variants=_CLIPS,
        by_column=True,
    ),
    _probability_metric(
        "probabilities.weighted_log_loss", of_classes=True, rows="probabilities.weighted_log_loss", variants=_CLIPS
    ),
    _probability_metric(
        "probabilities.kl_divergence",
        rescaled=_SHARES,
        rows="probabilities.kl_divergence",
        variants=(*_CLIPS, *_RAW_CLIPS),
    ),
    _ranking_metric("ranking.roc_auc", of_order=True, blended=("rank", "mean"), by_column=True),
    _ranking_metric("ranking.average_precision", of_order=True, blended=("rank", "mean"), by_column=True),
    _ranking_metric("ranking.lwlrap"),
    _ranking_metric("ranking.probabilistic_f1", variants=_BETAS, blended=("mean", "logit")),
    _error_metric("errors.rmse", rows="errors.squares", rooted=True, by_column=True),
    _error_metric("errors.mse", rows="errors.squares", by_column=True),
    _log_error_metric("errors.rmsle", rows="errors.log_squares", rooted=True),
    _log_error_metric("errors.msle", rows="errors.log_squares"),
    _error_metric("errors.mean_columnwise_rmse", rows="errors.column_squares", rooted=True, by_column=True),
    _log_error_metric("errors.mean_columnwise_rmsle", rows="errors.column_log_squares", rooted=True),
    _error_metric("errors.mae", rows="errors.mae", by_column=True),
    _error_metric("errors.median_absolute_error"),
    _error_metric("errors.mape", blended=("mean", "log")),
    _error_metric("errors.smape", blended=("mean", "log")),
    _error_metric("errors.rmspe", blended=("mean", "log")),
    _error_metric("errors.pinball_loss"),
    Metric("correlations.r2", "maximize", maximum=1.0, of_varied=True),
    _correlation_metric("correlations.pearson", scores_constants=False, by_column=True),
    _correlation_metric(
        "correlations.spearman", of_order=True, scores_constants=False, blended=("rank", "mean"), by_column=True
    ),
    _correlation_metric("correlations.gini", of_order=True, blended=("rank", "mean")),
    Metric("correlations.laplace_log_likelihood", "maximize"),
    _error_metric(
        "correlations.mean_angular_error",
        maximum=math.pi,
        unblended="The mean of two angles is not always between the two directions.",
    ),
    _label_metric("labels.accuracy", rows="labels.accuracy"),
    _label_metric("labels.mean_columnwise_accuracy", rows="labels.mean_columnwise_accuracy"),
    _label_metric("labels.error_rate", direction="minimize", rows="labels.error_rate"),
    _label_metric("labels.balanced_accuracy"),
    _label_metric("labels.cohen_kappa", minimum=-1.0, of_varied=True),
    _label_metric("labels.quadratic_weighted_kappa", minimum=-1.0, of_varied=True, blended=("vote", "ordinal")),
    _label_metric("labels.mcc", minimum=-1.0, of_varied=True),
    _label_metric("labels.macro_f1"),
    _label_metric("labels.micro_f1"),
    _label_metric("labels.weighted_f1"),
    _label_metric("labels.binary_f1", of_varied=True, blended=("vote", "ordinal")),
    _label_metric("labels.binary_f_beta", of_varied=True, variants=_BETAS[1:], blended=("vote", "ordinal")),
    _text_metric("label_lists.multilabel_micro_f1", variants=({}, {"known_only": True}), blended=("share",)),
    _text_metric("label_lists.multilabel_macro_f1", variants=({}, {"known_only": True}), blended=("share",)),
    _text_metric("label_lists.multilabel_samples_f1", blended=("share",)),
    _text_metric("label_lists.map_at_k", variants=_CUTOFFS, blended=("fusion",)),
    _text_metric(
        "label_lists.top_k_error", direction="minimize", of_classes=True, variants=_CUTOFFS, blended=("fusion",)
    ),
    _text_metric("texts.word_jaccard"),
    _error_metric("texts.levenshtein", input_kind="text"),
    _error_metric("texts.levenshtein_ratio", input_kind="text"),
    _text_metric("texts.kendall_tau", minimum=-1.0, blended=("fusion",)),
    _text_metric("masks.dice", variants=_BETAS, blended=("pixels",)),
    _text_metric("masks.global_dice", variants=_BETAS, blended=("pixels",)),
    _text_metric("masks.mask_map_iou", variants=({}, _FROM_40_TO_75), blended=("pixels",)),
)

METRICS: Mapping[str, Metric] = {metric.name: metric for metric in _ALL}

METRIC_DIRECTIONS: Mapping[str, Direction] = {name: metric.direction for name, metric in METRICS.items()}

CLASSIFICATION_METRICS = frozenset(name for name, metric in METRICS.items() if metric.of_classes)
"""Metrics whose targets are classes; the others take quantities or texts."""


ABBREVIATIONS: Mapping[str, str] = {
    "acc": "accuracy",
    "auc": "roc_auc",
    "auroc": "roc_auc",
    "rocauc": "roc_auc",
    "ap": "average_precision",
    "cross_entropy": "log_loss",
    "f1": "binary_f1",
    "jaccard": "word_jaccard",
    "kappa": "cohen_kappa",
    "logloss": "log_loss",
    "qwk": "quadratic_weighted_kappa",
    "root_mean_squared_error": "rmse",
    "mean_squared_error": "mse",
    "mean_absolute_error": "mae",
}
"""Other names under which people know metrics."""


def nearest_metric(name: str) -> str:
    """Return `did you mean X?` for a metric that is not known, or the names of all that are."""
    plain = name.strip().lower().replace(" ", "_").replace("-", "_")
    return did_you_mean(ABBREVIATIONS.get(plain, name), METRICS)


def metric_named(name: str) -> Metric:
    """Return the metric of that name. Raises UsageError: no metric has that name."""
    if name not in METRICS:
        raise UsageError(f"Unknown metric {name!r}; {nearest_metric(name)}")
    return METRICS[name]


def needs_variation(card: TaskCard) -> bool:
    """Return whether a task's metric may be undefined where the truth of a column is constant; an unknown one may."""
    metric = METRICS.get(card.metric.name)
    return metric is None or metric.of_varied


def metric_per_fold(card: TaskCard) -> bool:
    """Return whether a task's metric is computed per fold and averaged; an unknown one is computed on all rows at once."""
    metric = METRICS.get(card.metric.name)
    return metric is not None and metric.of_order


def prediction_kind(card: TaskCard) -> PredictionKind:
    """Return the kind of a task's predictions; for its own grader that of `params["predictions"]` (default `number`).

    Raises UsageError: `params["predictions"]` is none of the kinds.
    """
    if card.metric.name in METRICS:
        return METRICS[card.metric.name].input_kind
    kind_name = card.metric.params.get("predictions", "number")
    kinds: tuple[PredictionKind, ...] = get_args(PredictionKind)
    for kind in kinds:
        if kind_name == kind:
            return kind
    raise UsageError(f"metric.params.predictions is {kind_name!r}; it must be one of {', '.join(kinds)}.")


def line_space(card: TaskCard) -> Space | None:
    """Return the space in which combined predictions are scaled and moved; None where the metric sees their order alone."""
    metric = METRICS.get(card.metric.name)
    if metric is None or metric.spaces[0] not in ("mean", "log"):
        return None
    return "logit" if "logit" in metric.spaces else metric.spaces[0]


def sums_to_one(card: TaskCard) -> bool:
    """Return whether each row's predictions count as shares of their sum."""
    metric = METRICS.get(card.metric.name)
    return metric is not None and prediction_bounds(card) is metric.rescaled


def prediction_bounds(card: TaskCard) -> Bounds:
    """Return which predictions the task's metric takes."""
    metric = METRICS.get(card.metric.name)
    if metric is None:
        return Bounds()
    if metric.rescaled and len(card.prediction_columns) > 1 and card.metric.params.get("normalize", True):
        return metric.rescaled
    return metric.bounds

"""The official metrics: one entry each, with all that is known of it; importable without numpy, which comes with the first score.

Formulas take arrays of shape (rows, prediction columns), give NaN where they are not defined (no rows, mostly a constant truth),
and raise nothing but UsageError for a wrong parameter.
"""

import importlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
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

Space = Literal["mean", "logit", "log", "rank", "vote", "ordinal", "share", "fusion", "pixels"]
"""What a blend takes the weighted mean of: `mean` predictions as they are, `logit` their logits (logarithms where a row's sum
to 1), `log` log(1 + prediction), `rank` ranks within a column, `fusion` places in a ranked list, `ordinal` labels that are
numbers, which is then cut into labels again. Or it has members vote: `vote` on a text as a whole, `share` on each label of a
list, `pixels` on each pixel of a mask."""


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
    """`file.function` below this package."""
    direction: Direction
    takes: PredictionKind = "number"
    of_classes: bool = False
    """Whether its targets are classes; else they are quantities, or texts."""
    least: float = -math.inf
    """No score is smaller."""
    most: float = math.inf
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
    unblended: str = ""
    """Why they are not blended, a sentence; empty: they are."""

    @property
    def name(self) -> str:
        """Its name in task cards."""
        return self.formula.partition(".")[2]

    @property
    def spaces(self) -> Sequence[Space]:
        """The spaces in which predictions may be blended: weights are fitted in the first, and then each is tried."""
        return self.blended or (("mean",) if self.takes == "number" else ("vote",))

    def score(self, y_true: "Values", y_pred: "Values", params: Params) -> float:
        """Return the score of predictions; NaN where it is not defined."""
        return self._defined_formula(y_true, y_pred, params)

    def row_losses(self, y_true: "Values", y_pred: "Values", params: Params) -> "Values | None":
        """Return the losses (rows, columns) that the score is a mean of; None where it is no such mean."""
        if not self.rows:
            return None
        losses: Values = _function(self.rows)(y_true, y_pred, params)
        return losses

    @cached_property
    def _defined_formula(self) -> "ScoreFunction":
        defined: ScoreFunction = _function("arrays.defined")(_function(self.formula))
        return defined


def _function(place: str) -> Any:
    file, _, name = place.partition(".")
    return getattr(importlib.import_module(f"bot.evaluation.metrics.{file}"), name)


_LOGARITHMS = Bounds(low=0.0, reason="the metric takes logarithms of 1 + prediction and refuses negative ones")
_SHARES = Bounds(low=0.0, reason="probabilities cannot be negative")
_PROBABILITIES = Bounds(low=0.0, high=1.0, reason="probabilities lie between 0 and 1")

_SMALLEST_DOUBLE = 2.220446049250313e-16
"""The step after 1.0, at which scikit-learn clips probabilities."""
_CLIPS: Sequence[Params] = ({}, {"eps": _SMALLEST_DOUBLE}, {"eps": 1e-7})
_RAW_CLIPS: Sequence[Params] = ({"normalize": False}, {"normalize": False, "eps": _SMALLEST_DOUBLE})
_CUTOFFS: Sequence[Params] = ({}, *({"k": k} for k in (1, 2, 3, 5, 7, 10, 12, 15, 20, 25, 50, 100)))
_BETAS: Sequence[Params] = ({}, {"beta": 0.5}, {"beta": 2.0})
_FROM_40_TO_75: Params = {"thresholds": [0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75]}


_ALL = (
    Metric(
        "probabilities.log_loss",
        "minimize",
        of_classes=True,
        least=0.0,
        bounds=_PROBABILITIES,
        rescaled=_SHARES,
        rows="probabilities.log_losses",
        variants=(*_CLIPS, *_RAW_CLIPS),
        blended=("mean", "logit"),
    ),
    Metric(
        "probabilities.mean_columnwise_log_loss",
        "minimize",
        of_classes=True,
        least=0.0,
        bounds=_PROBABILITIES,
        rows="probabilities.cell_losses",
        variants=_CLIPS,
        blended=("mean", "logit"),
        by_column=True,
    ),
    Metric(
        "probabilities.weighted_log_loss",
        "minimize",
        of_classes=True,
        least=0.0,
        bounds=_PROBABILITIES,
        rows="probabilities.weighted_losses",
        variants=_CLIPS,
        blended=("mean", "logit"),
    ),
    Metric(
        "probabilities.kl_divergence",
        "minimize",
        least=0.0,
        bounds=_PROBABILITIES,
        rescaled=_SHARES,
        rows="probabilities.divergences",
        variants=(*_CLIPS, *_RAW_CLIPS),
        blended=("mean", "logit"),
    ),
    Metric(
        "ranking.roc_auc",
        "maximize",
        of_classes=True,
        least=0.0,
        most=1.0,
        of_varied=True,
        blended=("rank", "mean"),
        by_column=True,
    ),
    Metric(
        "ranking.average_precision",
        "maximize",
        of_classes=True,
        least=0.0,
        most=1.0,
        of_varied=True,
        blended=("rank", "mean"),
        by_column=True,
    ),
    Metric("ranking.lwlrap", "maximize", of_classes=True, least=0.0, most=1.0, of_varied=True),
    Metric(
        "ranking.probabilistic_f1",
        "maximize",
        of_classes=True,
        least=0.0,
        most=1.0,
        of_varied=True,
        variants=_BETAS,
        blended=("mean", "logit"),
    ),
    Metric("errors.rmse", "minimize", least=0.0, rows="errors.squares", rooted=True, by_column=True),
    Metric("errors.mse", "minimize", least=0.0, rows="errors.squares", by_column=True),
    Metric(
        "errors.rmsle",
        "minimize",
        least=0.0,
        bounds=_LOGARITHMS,
        rows="errors.log_squares",
        rooted=True,
        blended=("log",),
        by_column=True,
    ),
    Metric(
        "errors.msle",
        "minimize",
        least=0.0,
        bounds=_LOGARITHMS,
        rows="errors.log_squares",
        blended=("log",),
        by_column=True,
    ),
    Metric(
        "errors.mean_columnwise_rmse", "minimize", least=0.0, rows="errors.column_squares", rooted=True, by_column=True
    ),
    Metric(
        "errors.mean_columnwise_rmsle",
        "minimize",
        least=0.0,
        bounds=_LOGARITHMS,
        rows="errors.column_log_squares",
        rooted=True,
        blended=("log",),
        by_column=True,
    ),
    Metric("errors.mae", "minimize", least=0.0, rows="errors.absolutes", by_column=True),
    Metric("errors.median_absolute_error", "minimize", least=0.0),
    Metric("errors.mape", "minimize", least=0.0, blended=("mean", "log")),
    Metric("errors.smape", "minimize", least=0.0, blended=("mean", "log")),
    Metric("errors.rmspe", "minimize", least=0.0, blended=("mean", "log")),
    Metric("errors.pinball_loss", "minimize", least=0.0),
    Metric("correlations.r2", "maximize", most=1.0, of_varied=True),
    Metric(
        "correlations.pearson", "maximize", least=-1.0, most=1.0, of_varied=True, scores_constants=False, by_column=True
    ),
    Metric(
        "correlations.spearman",
        "maximize",
        least=-1.0,
        most=1.0,
        of_varied=True,
        scores_constants=False,
        blended=("rank", "mean"),
        by_column=True,
    ),
    Metric("correlations.gini", "maximize", least=-1.0, most=1.0, of_varied=True, blended=("rank", "mean")),
    Metric("correlations.laplace_log_likelihood", "maximize"),
    Metric(
        "correlations.mean_angular_error",
        "minimize",
        least=0.0,
        most=math.pi,
        unblended="The mean of two angles need not lie between their directions.",
    ),
    Metric("labels.accuracy", "maximize", "label", of_classes=True, least=0.0, most=1.0, rows="labels.right_rows"),
    Metric("labels.error_rate", "minimize", "label", of_classes=True, least=0.0, most=1.0, rows="labels.wrong_rows"),
    Metric("labels.balanced_accuracy", "maximize", "label", of_classes=True, least=0.0, most=1.0),
    Metric("labels.cohen_kappa", "maximize", "label", of_classes=True, least=-1.0, most=1.0, of_varied=True),
    Metric(
        "labels.quadratic_weighted_kappa",
        "maximize",
        "label",
        of_classes=True,
        least=-1.0,
        most=1.0,
        of_varied=True,
        blended=("vote", "ordinal"),
    ),
    Metric("labels.mcc", "maximize", "label", of_classes=True, least=-1.0, most=1.0, of_varied=True),
    Metric("labels.macro_f1", "maximize", "label", of_classes=True, least=0.0, most=1.0),
    Metric("labels.micro_f1", "maximize", "label", of_classes=True, least=0.0, most=1.0),
    Metric("labels.weighted_f1", "maximize", "label", of_classes=True, least=0.0, most=1.0),
    Metric(
        "labels.binary_f1",
        "maximize",
        "label",
        of_classes=True,
        least=0.0,
        most=1.0,
        of_varied=True,
        blended=("vote", "ordinal"),
    ),
    Metric(
        "labels.binary_f_beta",
        "maximize",
        "label",
        of_classes=True,
        least=0.0,
        most=1.0,
        of_varied=True,
        variants=_BETAS[1:],
        blended=("vote", "ordinal"),
    ),
    Metric(
        "label_lists.multilabel_micro_f1",
        "maximize",
        "text",
        least=0.0,
        most=1.0,
        variants=({}, {"known_only": True}),
        blended=("share",),
    ),
    Metric(
        "label_lists.multilabel_macro_f1",
        "maximize",
        "text",
        least=0.0,
        most=1.0,
        variants=({}, {"known_only": True}),
        blended=("share",),
    ),
    Metric("label_lists.multilabel_samples_f1", "maximize", "text", least=0.0, most=1.0, blended=("share",)),
    Metric("label_lists.map_at_k", "maximize", "text", least=0.0, most=1.0, variants=_CUTOFFS, blended=("fusion",)),
    Metric(
        "label_lists.top_k_error",
        "minimize",
        "text",
        of_classes=True,
        least=0.0,
        most=1.0,
        variants=_CUTOFFS,
        blended=("fusion",),
    ),
    Metric("texts.word_jaccard", "maximize", "text", least=0.0, most=1.0),
    Metric("texts.levenshtein", "minimize", "text", least=0.0),
    Metric("texts.levenshtein_ratio", "minimize", "text", least=0.0),
    Metric("texts.kendall_tau", "maximize", "text", least=-1.0, most=1.0, blended=("fusion",)),
    Metric("masks.dice", "maximize", "text", least=0.0, most=1.0, variants=_BETAS, blended=("pixels",)),
    Metric("masks.global_dice", "maximize", "text", least=0.0, most=1.0, variants=_BETAS, blended=("pixels",)),
    Metric(
        "masks.mask_map_iou",
        "maximize",
        "text",
        least=0.0,
        most=1.0,
        variants=({}, _FROM_40_TO_75),
        blended=("pixels",),
    ),
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
    """Return the metric of that name.

    Raises:
        UsageError: no metric has that name.
    """
    if name not in METRICS:
        raise UsageError(f"The metric {name!r} is not known; {nearest_metric(name)}")
    return METRICS[name]


def needs_variation(card: TaskCard) -> bool:
    """Return whether a task's metric may be undefined where the truth of a column is constant; an unknown one may."""
    metric = METRICS.get(card.metric.name)
    return metric is None or metric.of_varied


def prediction_kind(card: TaskCard) -> PredictionKind:
    """Return the kind of a task's predictions; for its own grader that of `params["predictions"]` (default `number`).

    Raises:
        UsageError: `params["predictions"]` is none of the kinds.
    """
    if card.metric.name in METRICS:
        return METRICS[card.metric.name].takes
    named = card.metric.params.get("predictions", "number")
    kinds: tuple[PredictionKind, ...] = get_args(PredictionKind)
    for kind in kinds:
        if named == kind:
            return kind
    raise UsageError(f"metric.params.predictions is {named!r}; it is one of {', '.join(kinds)}.")


def prediction_bounds(card: TaskCard) -> Bounds:
    """Return which predictions the task's metric takes."""
    metric = METRICS.get(card.metric.name)
    if metric is None:
        return Bounds()
    if metric.rescaled and len(card.prediction_columns) > 1 and card.metric.params.get("normalize", True):
        return metric.rescaled
    return metric.bounds

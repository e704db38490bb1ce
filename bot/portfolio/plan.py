"""The portfolio of models that is fitted on a coder's features: what a job says, and which models come next."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Self

from pydantic import NonNegativeInt, PositiveFloat, PositiveInt, model_validator

from bot.evaluation.answers.experiments import FoldKind, TargetKind
from state.closed_model import ClosedModel
from state.errors import UsageError
from state.words import did_you_mean

SCRIPT = Path(__file__).with_name("fit_portfolio.py")
"""Runs by itself, in a job's folder as working directory."""


class PortfolioModel(ClosedModel):
    """One model to fit."""

    name: str
    """Its folder's, below `out/`."""
    family: str
    """One of `fit_portfolio.FAMILIES`."""
    settings: Mapping[str, Any]
    seed: NonNegativeInt = 0
    """Above 0: once more, with other random numbers."""


class PortfolioJob(ClosedModel):
    """What `job.json` holds, for `SCRIPT`."""

    kind: TargetKind
    """Of `target.npy`: numbers, also ordered labels, (rows,) or (rows, columns); indices of classes (rows,); 0 or 1 by label."""
    classes: NonNegativeInt = 0
    """How many there are, where the kind is `multiclass`."""
    logarithmic: bool = False
    """Whether log(1 + target) is learned; it is not where a target is negative."""
    categories: tuple[NonNegativeInt, ...] = ()
    """Columns of features that are categories."""
    encode: tuple[NonNegativeInt, ...] = ()
    """Columns of features that are replaced by means of the target, by the rows learned from."""
    fold_kind: FoldKind
    seed: NonNegativeInt = 0
    models: tuple[PortfolioModel, ...]
    """In the order in which they are fitted."""
    cpu_seconds: PositiveFloat
    """Processor seconds for all models in `out/`, those of earlier starts included."""
    cpus: PositiveInt = 1

    @model_validator(mode="after")
    def _says_how_many_classes(self) -> Self:
        if self.kind == "multiclass" and self.classes < 2:
            raise ValueError("A multiclass portfolio job needs `classes`, the number of classes.")
        return self


_LOGARITHMIC = ("rmsle", "msle", "mean_columnwise_rmsle", "mape", "smape", "rmspe")
_MEDIAN = ("mae", "median_absolute_error", "mape", "smape", "pinball_loss", "laplace_log_likelihood")
"""Metrics of the registry; numbers for all others are learned by squares, classes by likelihood. Boosting that stops by the area
under the curve did worse: where rows are few, it stops at the first tree."""


def is_logarithmic(metric: str, kind: TargetKind) -> bool:
    """Return whether log(1 + target) is learned for a metric of the registry."""
    return metric in _LOGARITHMIC and kind == "number"


_COMMON: Mapping[str, Mapping[str, Any]] = {
    "lightgbm": {"deterministic": True, "min_data_per_group": 20, "subsample_freq": 1, "verbosity": -1},
    "xgboost": {"enable_categorical": True, "tree_method": "hist", "verbosity": 0},
    "catboost": {"allow_writing_files": False, "verbose": False, "max_ctr_complexity": 1},
    "histogram": {"early_stopping": False},
}
_OF_MEDIAN: Mapping[str, Mapping[str, Any]] = {
    "lightgbm": {"objective": "quantile", "alpha": 0.5},
    "xgboost": {"objective": "reg:quantileerror", "quantile_alpha": 0.5},
    "catboost": {"loss_function": "Quantile:alpha=0.5"},
    "histogram": {"loss": "quantile", "quantile": 0.5},
}
_BAGGED = {"subsample": 0.9, "colsample_bytree": 0.8}
CONFIGURATIONS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "linear": ("linear", {}),
    "lightgbm-1": ("lightgbm", {"learning_rate": 0.05}),
    "lightgbm-2": ("lightgbm", {"learning_rate": 0.06, "extra_trees": True, "subsample": 0.9}),
    "network-1": ("network", {"hidden_layer_sizes": [128, 64], "learning_rate_init": 2e-3, "alpha": 1e-3}),
    "xgboost-1": ("xgboost", {"learning_rate": 0.05, "max_depth": 6, **_BAGGED}),
    "histogram-1": ("histogram", {"learning_rate": 0.06}),
    "extra-trees": ("forest", {"kind": "ExtraTrees", "trees": 300, "max_features": 0.75}),
    "catboost-1": ("catboost", {"learning_rate": 0.1, "depth": 6}),
    "kernel": ("kernel", {"width": 0.4, "parts": 800}),
    "neighbours": ("neighbours", {"weights": "distance"}),
    "lightgbm-3": (
        "lightgbm",
        {"learning_rate": 0.03, "num_leaves": 84, "min_child_samples": 3, "colsample_bytree": 0.53, "subsample": 0.98}
        | {"reg_alpha": 0.03, "reg_lambda": 0.84},
    ),
    "network-2": ("network", {"hidden_layer_sizes": [256], "learning_rate_init": 1e-3, "alpha": 1e-2}),
    "xgboost-2": (
        "xgboost",
        {"learning_rate": 0.03, "max_depth": 10, "min_child_weight": 0.6, "colsample_bytree": 0.69},
    ),
    "catboost-2": ("catboost", {"learning_rate": 0.08, "depth": 6, "grow_policy": "Depthwise", "l2_leaf_reg": 2.8}),
    "histogram-2": ("histogram", {"learning_rate": 0.05, "max_leaf_nodes": 12, "l2_regularization": 3.0}),
    "catboost-3": ("catboost", {"learning_rate": 0.08, "depth": 4, "l2_leaf_reg": 4.6}),
    "random-forest": ("forest", {"kind": "RandomForest", "trees": 200, "max_features": 0.5}),
    "xgboost-3": (
        "xgboost",
        {"learning_rate": 0.07, "max_depth": 4, "min_child_weight": 4, "colsample_bytree": 0.6, "reg_lambda": 5},
    ),
    "lightgbm-4": (
        "lightgbm",
        {"learning_rate": 0.05, "num_leaves": 8, "colsample_bytree": 0.9, "subsample": 0.8, "min_child_samples": 24},
    ),
}
"""Family and settings by name, in the order in which they are fitted: cheap ones first, then what adds most. Boosting has
settings from AutoGluon's zero-shot portfolios (Salinas and Erickson, 2024, "TabRepo", arXiv 2311.02971), with larger steps."""
_ALWAYS_ALIKE = ("linear", "neighbours")
"""Families without random numbers."""


def portfolio_model(name: str, metric: str, kind: TargetKind) -> PortfolioModel:
    """Return the model of that name: a configuration's, or `CONFIGURATION-seed-N` for one more of it.

    Raises:
        UsageError: no configuration has that name.
    """
    configuration, _, seed = name.partition("-seed-")
    if configuration not in CONFIGURATIONS or (seed and not seed.isdecimal()):
        raise UsageError(f"Unknown portfolio model {name!r}; {did_you_mean(configuration, CONFIGURATIONS)}")
    family, settings = CONFIGURATIONS[configuration]
    objective = _OF_MEDIAN.get(family, {}) if metric in _MEDIAN and kind == "number" else {}
    merged = {**_COMMON.get(family, {}), **settings, **objective}
    return PortfolioModel(name=name, family=family, settings=merged, seed=int(seed or 0))


def next_models(fitted: Collection[str], weights: Mapping[str, float], seeds: int = 5) -> list[str]:
    """Return the names of models to fit next: what is missing of the configurations, then more seeds of the ensemble's members.

    `fitted` are complete, or cannot be fitted; `weights` are those of the ensemble's members, where a seed counts
    for its configuration. One configuration gets at most `seeds`, the first included.
    """
    missing = [name for name in CONFIGURATIONS if name not in fitted]
    totals = dict.fromkeys(CONFIGURATIONS, 0.0)
    for name, weight in weights.items():
        if (configuration := name.partition("-seed-")[0]) in totals:
            totals[configuration] += weight
    random = [name for name in totals if totals[name] > 0 and CONFIGURATIONS[name][0] not in _ALWAYS_ALIKE]
    heaviest = sorted(random, key=lambda name: -totals[name])
    repeats = [f"{name}-seed-{seed}" for seed in range(1, seeds) for name in heaviest]
    return missing + [name for name in repeats if name not in fitted]

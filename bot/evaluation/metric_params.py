"""Which parameters of a metric an unknown grader may mean; the first are the metric's own."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

Params = Mapping[str, Any]

_SMALLEST_DOUBLE = 2.220446049250313e-16
"""The step after 1.0, at which scikit-learn clips probabilities."""
_CLIPS: Sequence[Params] = ({}, {"eps": _SMALLEST_DOUBLE}, {"eps": 1e-7})
_RAW_CLIPS: Sequence[Params] = ({"normalize": False}, {"normalize": False, "eps": _SMALLEST_DOUBLE})
_CUTOFFS = tuple({"k": k} for k in (1, 2, 3, 5, 7, 10, 12, 15, 20, 25, 50, 100))
_BETAS: Sequence[Params] = ({}, {"beta": 0.5}, {"beta": 2.0})
_FROM_40_TO_75 = [0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75]
_MOST_COLUMNS = 5
"""Of a submission, whose parts are tried as the scored ones."""

_CHOICES: Mapping[str, Sequence[Params]] = {
    "log_loss": (*_CLIPS, *_RAW_CLIPS),
    "kl_divergence": (*_CLIPS, *_RAW_CLIPS),
    "mean_columnwise_log_loss": _CLIPS,
    "weighted_log_loss": _CLIPS,
    "map_at_k": ({}, *_CUTOFFS),
    "top_k_error": ({}, *_CUTOFFS),
    "dice": _BETAS,
    "global_dice": _BETAS,
    "probabilistic_f1": _BETAS,
    "mask_map_iou": ({}, {"thresholds": _FROM_40_TO_75}),
    "multilabel_macro_f1": ({}, {"known_only": True}),
}


def params_to_try(name: str, columns: int, labels: Sequence[str]) -> list[Params]:
    """Return parameters of a metric, its own defaults first.

    Args:
        name: the metric's.
        columns: how many prediction columns there are.
        labels: the different true labels where there are two, else none.
    """
    if name == "mean_columnwise_rmse" and 2 < columns <= _MOST_COLUMNS:
        widths = range(2, columns)
        return [{}, *({"columns": list(chosen)} for width in widths for chosen in combinations(range(columns), width))]
    if name in ("binary_f1", "binary_f_beta"):
        positive: list[Params] = [{}, *({"positive": label} for label in labels)]
        betas: Sequence[Params] = _BETAS[1:] if name == "binary_f_beta" else ({},)
        return [{**one, **beta} for beta in betas for one in positive]
    return list(_CHOICES.get(name, ({},)))

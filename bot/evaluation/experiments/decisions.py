"""Labels out of numbers: cut points of ordered labels and thresholds of lists, fitted on rows that they are not applied to."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bot.evaluation.blending.ordinal import Cuts, cut, fit_cuts, halfway
from bot.evaluation.experiments.form import Form
from bot.evaluation.metrics.params import whole_number
from bot.evaluation.metrics.registry import metric_named

Values = NDArray[Any]
Decide = Callable[[Values], Values]
"""Takes raw numbers (rows, numbers), and returns texts (rows, 1)."""

_FITTED_ON = 2_000
"""Most rows that numbers are fitted on."""
_THRESHOLDS = (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6)
_PLACES = {"map_at_k": 5, "top_k_error": 1}
"""Labels of a ranked list unless the task's parameter says otherwise; of another metric all."""


def decided(
    form: Form, raw: Values, labels: Values, folds: NDArray[np.int64], name: str, seed: int
) -> tuple[Values, Decide]:
    """Return texts for training rows, and what makes texts of other rows' numbers, as `decision` does.

    Args:
        raw: out of fold (rows, numbers).
        labels: of these rows (rows, 1).
        folds: their folds; those of even number are decided by what is fitted on the others, and the other way round.
    """
    whole = decision(form, name, raw, labels, seed)
    side = folds % 2
    if not _is_fitted(form, raw) or len(np.unique(side)) < 2:
        return whole(raw), whole
    texts: Values = np.empty((len(raw), 1), dtype=object)
    for own in (0, 1):
        other = side != own
        texts[~other] = decision(form, name, raw[other], labels[other], seed)(raw[~other])
    return texts, whole


def decision(form: Form, name: str, raw: Values | None = None, labels: Values | None = None, seed: int = 0) -> Decide:
    """Return what makes texts of numbers; without rows to fit on cut points are halfway, and thresholds a half."""
    chosen = None
    if raw is not None and labels is not None and _is_fitted(form, raw):
        rows = np.random.default_rng(seed).permutation(len(raw))[:_FITTED_ON]
        raw, labels = raw[rows], labels[rows]
        chosen = rows
    if form.kind == "ordered":
        return _ordered(form, name, raw if chosen is not None else None, labels)
    if form.kind == "lists":
        return _lists(form, raw if chosen is not None else None, labels)
    return lambda values: form.best_classes(values, name)


def _is_fitted(form: Form, raw: Values) -> bool:
    if form.kind == "ordered":
        return form.on_the_scale(raw[:1]) is not None
    return form.kind == "lists" and metric_named(form.card.metric.name).spaces[0] == "share" and raw.dtype.kind == "f"


def _score(form: Form, labels: Values) -> Callable[[Values], float]:
    metric, card = metric_named(form.card.metric.name), form.card
    return lambda made: card.oriented(metric.score(labels, made, card.metric.params))


def _ordered(form: Form, name: str, raw: Values | None, labels: Values | None) -> Decide:
    cuts: Cuts = halfway(form.levels or [])
    if raw is not None and labels is not None and (means := form.on_the_scale(raw)) is not None:
        cuts = fit_cuts(means, cuts, _score(form, labels))

    def decide(values: Values) -> Values:
        means = form.on_the_scale(values)
        return form.best_classes(values, name) if means is None else cut(means, cuts)

    return decide


def _lists(form: Form, raw: Values | None, labels: Values | None) -> Decide:
    names, metric = list(form.classes), metric_named(form.card.metric.name)
    if metric.spaces[0] == "fusion":
        most = _PLACES.get(metric.name, len(names))
        places = min(len(names), whole_number(form.card.metric.params, "k", most, least=1))
        return lambda values: _texts(names, np.argsort(-values, axis=1, kind="stable")[:, :places])

    def above(threshold: float) -> Decide:
        def decide(values: Values) -> Values:
            # The best label is named even where no label is likely.
            chosen = (values > threshold) | (values == values.max(axis=1, keepdims=True)) & (values > 0)
            return _texts(names, [np.flatnonzero(row) for row in chosen])

        return decide

    if raw is None or labels is None:
        return above(0.5)
    score = _score(form, labels)
    return max((above(one) for one in _THRESHOLDS), key=lambda decide: score(decide(raw)))


def _texts(names: Sequence[str], rows: Any) -> Values:
    found: Values = np.empty((len(rows), 1), dtype=object)
    found[:, 0] = [" ".join(names[at] for at in row) for row in rows]
    return found

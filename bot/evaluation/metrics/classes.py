"""The classes of a task, in the order in which arrays of predictions have them."""

from collections.abc import Iterable

from bot.evaluation.metrics.registry import METRICS, prediction_kind
from bot.evaluation.metrics.same_labels import canonical_label
from scrapers.snapshots.card import TaskCard

LISTS = ("share", "fusion")
"""Spaces of texts that list labels."""


def classes_of(card: TaskCard, labels: Iterable[str]) -> list[str]:
    """Return a task's classes; nothing where it has none. `labels` are the training rows' cells, in the metric's form.

    Returns:
        Where probabilities of several classes are submitted, the prediction columns. Where labels are, each label once, as
        it is first written: by size if all are numbers, else by their letters. Where lists of labels are, the labels in them.
    """
    metric, kind = METRICS.get(card.metric.name), prediction_kind(card)
    if kind == "number":
        several = metric is not None and metric.of_classes and len(card.prediction_columns) > 1
        return list(card.prediction_columns) if several else []
    if kind == "text":
        lists = metric is not None and metric.spaces[0] in LISTS
        return sorted({label for text in set(labels) for label in text.split()}) if lists else []
    written: dict[object, str] = {}
    for label in dict.fromkeys(labels):
        written.setdefault(canonical_label(label), label)
    numbers = all(isinstance(own, int | float) for own in written)
    return [written[own] for own in sorted(written, key=lambda own: own if numbers else str(own))]  # type: ignore[arg-type, return-value]

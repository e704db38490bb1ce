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
        has_class_columns = metric is not None and metric.of_classes and len(card.prediction_columns) > 1
        return list(card.prediction_columns) if has_class_columns else []
    if kind == "text":
        lists = metric is not None and metric.spaces[0] in LISTS
        return sorted({label for text in set(labels) for label in text.split()}) if lists else []
    spellings: dict[object, str] = {}
    for label in dict.fromkeys(labels):
        spellings.setdefault(canonical_label(label), label)
    numbers = all(isinstance(label, int | float) for label in spellings)
    return [spellings[label] for label in sorted(spellings, key=lambda label: label if numbers else str(label))]  # type: ignore[arg-type, return-value]

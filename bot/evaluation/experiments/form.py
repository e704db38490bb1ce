"""The shape of a task's arrays, and what is made of their numbers: predictions in the form that the metric takes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from bot.evaluation.blending.ordinal import levels_of
from bot.evaluation.experiments.array_file import shown_shape
from bot.evaluation.metrics.arrays import Values
from bot.evaluation.metrics.classes import LISTS
from bot.evaluation.metrics.registry import METRICS, prediction_bounds, prediction_kind
from scrapers.snapshots.card import TaskCard
from state.errors import InvalidSubmission

Kind = Literal["numbers", "labels", "ordered", "lists", "files"]
"""Numbers as they are submitted; labels, of classes or of an order; lists of labels; texts that only a file has."""


_LITTLE = 1e-9
"""Added to probabilities, so that they have a sum."""


@dataclass(frozen=True)
class ArrayFormat:
    """What a task's arrays hold."""

    card: TaskCard
    classes: Sequence[str]
    """As `classes_of` returns them."""

    @property
    def kind(self) -> Kind:
        """How they are read."""
        kind, metric = prediction_kind(self.card), METRICS.get(self.card.metric.name)
        if kind == "number":
            return "numbers"
        if kind == "text":
            return "lists" if metric is not None and metric.spaces[0] in LISTS and self._columns == 1 else "files"
        has_levels = metric is not None and "ordinal" in metric.spaces and self._columns == 1
        return "ordered" if has_levels and self.levels is not None else "labels"

    @property
    def levels(self) -> list[float] | None:
        """The classes as numbers, in order; None where they are none."""
        return levels_of(np.array(self.classes, dtype=object)) if self.classes else None

    @property
    def _columns(self) -> int:
        return len(self.card.prediction_columns)

    def widths(self) -> list[int | None]:
        """Return the columns that an array may have; None: it has one side alone."""
        column_count, class_count = self._columns, len(self.classes)
        widths: list[int | None] = [None, 1] if column_count == 1 else [column_count]
        if self.kind == "numbers":
            metric = METRICS.get(self.card.metric.name)
            return [*widths, 2] if column_count == 1 and metric is not None and metric.of_classes else widths
        if self.kind == "lists":
            return [class_count]
        return [*widths, class_count] if column_count == 1 and class_count > 1 else widths

    def check(self, shape: tuple[int, ...], rows: Sequence[int], name: str, answers: int = 1) -> None:
        """Check the shape of an array, which may have so many rows, with so many answers to each.

        Raises InvalidSubmission: it is another; the sentence names those that are expected.
        """
        if self.kind == "files":
            raise InvalidSubmission(f"{name} is an array; expected a file in the submission format.")
        allowed = [(r,) if width is None else (r, width) for r in rows for width in self.widths()]
        if answers > 1 and self._columns == 1:
            allowed.append((rows[0], answers))
        if shape not in allowed:
            expected = " or ".join(dict.fromkeys(map(shown_shape, allowed)))
            raise InvalidSubmission(f"{name} has the shape {shown_shape(shape)}; expected: {expected}.")

    def numbers(self, raw: Values, name: str) -> tuple[Values, str | None]:
        """Return numbers (rows, prediction columns) within the metric's bounds, and a sentence if some were not."""
        values, bounds = raw[:, -1:] if self._columns == 1 else raw, prediction_bounds(self.card)
        clipped = np.clip(values, bounds.low, bounds.high)
        outside = int((clipped != values).sum() - (np.isnan(values).sum() if values.dtype.kind == "f" else 0))
        if not outside:
            return clipped, None
        lows, highs = int((values < bounds.low).sum()), int((values > bounds.high).sum())
        clipped_counts = " and ".join(
            f"{count:,} {words}"
            for count, words in ((lows, f"below {bounds.low:g}"), (highs, f"above {bounds.high:g}"))
            if count
        )
        return clipped, f"{name}: of {values.size:,} values, {clipped_counts} were clipped because {bounds.reason}."

    def best_classes(self, raw: Values, name: str) -> Values:
        """Return the best class of each row of probabilities, or those that indices name: texts (rows, prediction columns).

        Raises InvalidSubmission: indices are none.
        """
        names, class_count = np.array(self.classes, dtype=object), len(self.classes)
        if raw.shape[1] == class_count and class_count > 1 and self._columns == 1:
            return np.asarray(names[raw.argmax(axis=1)][:, None])
        index = np.round(raw).astype(np.int64)
        if class_count == 2 and (index != raw).any() and ((raw >= 0) & (raw <= 1)).all():
            return np.asarray(names[index])
        wrong = (index != raw) | (index < 0) | (index >= class_count)
        if wrong.any():
            row = int(np.flatnonzero(wrong.any(axis=1))[0])
            raise InvalidSubmission(
                f"{name} contains {raw[row][wrong[row]][0]:g}, which is not an index into classes.json (0 to {class_count - 1}); "
                f"class probabilities must have the shape (rows, {class_count})."
            )
        return np.asarray(names[index])

    def numbers_behind(self, raw: Values) -> Values | None:
        """Return the numbers that an ensemble combines in place of labels; None: there are none.

        Of ordered labels (rows, 1) on their scale, of others the probabilities (rows, classes), of lists as they are.
        """
        class_count = len(self.classes)
        if self.kind == "lists":
            return raw
        if self.kind not in ("labels", "ordered") or self._columns > 1 or class_count < 2:
            return None
        if self.kind == "ordered" and (scale := self.on_the_scale(raw)) is not None:
            return scale
        if raw.shape[1] == 1 and class_count == 2 and (raw != np.round(raw)).any():
            raw = np.hstack([1 - raw, raw])
        if raw.shape[1] != class_count or (raw < 0).any():  # such as logits
            return None
        shares = np.maximum(raw.astype(float), 0.0)
        shares = (shares + _LITTLE) / (shares + _LITTLE).sum(axis=1, keepdims=True)
        return np.asarray(shares @ np.array(self.levels)[:, None]) if self.kind == "ordered" else shares

    def on_the_scale(self, raw: Values) -> Values | None:
        """Return numbers (rows, 1) on the scale of ordered labels; None: probabilities of several classes."""
        if raw.shape[1] == 1:
            return raw.astype(float)
        levels = self.levels or []
        return levels[0] + raw[:, -1:].astype(float) * (levels[1] - levels[0]) if len(levels) == 2 else None

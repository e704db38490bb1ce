"""What a score's noise comes from: sentences on one column, one class or a few rows that carry most of it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bot.evaluation.scoring.scored_rows import ScoredRows
from bot.evaluation.scoring.truth import PredictionSet, Rows

_LARGE_SHARE = 0.5
"""Of the variance of the loss."""
_UNUSUAL = 2.0
"""A share of the variance is unusual if it is so many times the share of the rows, or of the columns, it is of."""
_FEW_ROWS_SHARE = 0.01
"""Share of rows that are few."""
_CLASSES = 100


def loss_shares(rows: ScoredRows, predictions: PredictionSet, subset: Rows | None) -> list[str]:
    """Return sentences on what carries more than half of the variance of the rows' loss; none where it is no mean of rows."""
    parts = rows.influences(predictions, subset)
    if parts is None or len(parts) < 1 / _FEW_ROWS_SHARE:
        return []
    return [*_by_column(parts, rows), *_by_class(parts, rows, subset), *_by_row(parts)]


def _by_column(parts: NDArray[np.float64], rows: ScoredRows) -> list[str]:
    shares, columns = (parts**2).sum(axis=0), rows.card.prediction_columns
    if parts.shape[1] != len(columns) or len(columns) < 2 or not shares.sum():
        return []
    column, share = int(shares.argmax()), float(shares.max() / shares.sum())
    if share <= max(_LARGE_SHARE, min(0.8, _UNUSUAL / len(columns))):
        return []
    return [f"The column {columns[column]} carries {share:.0%} of the variance of the loss."]


def _by_class(parts: NDArray[np.float64], rows: ScoredRows, subset: Rows | None) -> list[str]:
    metric, labels = rows.metric, rows.labels
    if metric is None or labels is None or not metric.of_classes:
        return []
    own_labels = labels if subset is None else labels[subset]
    names: Any = np.array(rows.card.prediction_columns, dtype=object)
    if own_labels.shape[1] > 1:
        if own_labels.dtype == object or not (own_labels.sum(axis=1) == 1).all():
            return []
        place = own_labels.argmax(axis=1)
    else:
        names, place = np.unique(own_labels[:, 0].astype(str), return_inverse=True)
    if not 2 <= len(names) <= _CLASSES:
        return []
    squares = np.bincount(place, (parts.mean(axis=1)) ** 2, minlength=len(names))
    if not squares.sum():
        return []
    largest = int(squares.argmax())
    share, of_rows = float(squares[largest] / squares.sum()), float((place == largest).mean())
    if share <= _LARGE_SHARE or share < _UNUSUAL * of_rows:
        return []
    return [f"The class {names[largest]}, {of_rows:.1%} of the rows, carries {share:.0%} of the variance of the loss."]


def _by_row(parts: NDArray[np.float64]) -> list[str]:
    squares = np.sort(parts.mean(axis=1) ** 2)[::-1]
    total, few_rows = squares.sum(), int(len(squares) * _FEW_ROWS_SHARE)
    if not total or squares[:few_rows].sum() <= _LARGE_SHARE * total:
        return []
    row_count = int(np.searchsorted(np.cumsum(squares), _LARGE_SHARE * total)) + 1
    return [f"{row_count:,} of {len(squares):,} rows carry half of the variance of the loss."]

"""Noise: how uncertain a score on the hold-out part is, and the difference of two, by resampling its rows.

The bootstrap (Efron 1979): the metric is computed again and again on as many rows drawn with replacement, and the standard
deviation of what comes out estimates the standard error. Both candidates are scored on the same draws: most of what makes
a score uncertain, easy and hard rows, is the same for both and falls out of the difference. Rows count as independent; where
they hang together in groups or in time, the truth is larger.
"""

import math
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bot.evaluation.metrics import Metric, metric_named
from bot.evaluation.submission_file import read_submission, read_truth
from scrapers.card import TaskCard
from state.errors import InfrastructureFailure, InvalidSubmission

DRAWS = 200
"""From these the standard error itself is known within 5%."""
FEWEST = 30
"""Draws on which the metric must be defined; of fewer nothing is said."""

SMALLEST = 100
"""Rows of a draw, however slow the metric is."""

Values = NDArray[Any]


def score_noise(
    labels_dir: Path,
    view_dir: Path,
    predictions: Path,
    other: Path | None,
    card: TaskCard,
    seed: int,
    seconds: float = 20.0,
) -> dict[str, Any]:
    """Estimate the standard error of a score, and of its difference to another's.

    Args:
        labels_dir: holds the view's labels.csv.
        view_dir: the view's `data` folder.
        predictions: of the rows of `sample_validation.csv`.
        other: as many of another script; None, or a file that is not there or cannot be read: none.
        card: the task.
        seed: of the draws.
        seconds: after which no more draws are made; a metric that is too slow for `FEWEST` of them on all rows is computed on
            fewer rows, and the result scaled (by the square root of their share).

    Returns:
        `score_error`; `gain` (oriented: above 0 the first is better) and `gain_error`, None without another one, each None
        where the metric was defined on too few draws; `draws` and `rows` that were used.

    Raises:
        InvalidSubmission: the predictions cannot be read.
        InfrastructureFailure: the labels cannot.
        UsageError: the card's metric is not known.
    """
    metric = metric_named(card.metric.name)
    sample = view_dir / "sample_validation.csv"
    ids, first = read_submission(predictions, sample, card)
    try:
        truth = read_truth(labels_dir / "labels.csv", ids, card)
    except InvalidSubmission as error:
        raise InfrastructureFailure(f"The labels of this view cannot be read: {error}") from error
    second = _read(other, sample, card)
    sides = [first] if second is None else [first, second]
    scores, rows = _resampled(metric, truth, sides, card, seed, seconds)
    scale = math.sqrt(rows / len(ids))
    gain = None
    if second is not None:
        whole = [metric.score(truth, side, card.metric.params) for side in sides]
        gain = _finite(card.oriented(whole[0]) - card.oriented(whole[1]))
    return {
        "score_error": _spread(scores[:, 0], scale),
        "gain": gain,
        "gain_error": None if second is None else _spread(scores[:, 0] - scores[:, 1], scale),
        "draws": len(scores),
        "rows": rows,
    }


def _read(path: Path | None, sample: Path, card: TaskCard) -> Values | None:
    try:
        return None if path is None else read_submission(path, sample, card)[1]
    except InvalidSubmission:
        return None


def _resampled(
    metric: Metric, truth: Values, sides: list[Values], card: TaskCard, seed: int, seconds: float
) -> tuple[NDArray[np.float64], int]:
    """Return the scores of each draw (draws, sides), and the rows of each."""
    rng = np.random.default_rng(seed)
    many, params = len(truth), card.metric.params

    def draw(rows: int) -> list[float]:
        drawn = rng.integers(0, many, rows)
        return [metric.score(truth[drawn], side[drawn], params) for side in sides]

    began = time.monotonic()
    scores, rows = [draw(many)], many
    needed = FEWEST * (time.monotonic() - began)
    if needed > seconds and many > SMALLEST:
        rows = max(SMALLEST, int(many * seconds / needed))
        scores.clear()
    while len(scores) < DRAWS and (time.monotonic() - began < seconds or len(scores) < FEWEST):
        scores.append(draw(rows))
    return np.array(scores, dtype=float).reshape(-1, len(sides)), rows


def _spread(values: NDArray[np.float64], scale: float) -> float | None:
    defined = values[np.isfinite(values)]
    return _finite(float(defined.std(ddof=1)) * scale) if len(defined) >= FEWEST else None


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None

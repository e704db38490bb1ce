"""The question which metric a competition's own grader computes, and the answer to it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scrapers.snapshots.card import Direction


@dataclass(frozen=True)
class MetricQuestion:
    """What is needed to identify a metric; all files exist."""

    slug: str
    grader: Path
    """`grade.py`, with the modules that it imports beside it."""
    answers: Path
    """As `grade.py` takes them."""
    truth: Path | None
    """The snapshot's answers: the key and the prediction columns; None where the true predictions are not known."""
    sample: Path
    key: tuple[str, ...]
    """The columns that identify a row."""
    columns: tuple[str, ...]
    """The prediction columns."""
    board_lower_is_better: bool | None
    """The direction by the leaderboard's order; None if it shows none."""


@dataclass(frozen=True)
class FoundMetric:
    """A metric of the registry that agrees with the grader, or the grader itself."""

    name: str
    """`grade.py` where no metric of the registry agrees."""
    direction: Direction
    explanation: str
    """One sentence: how it was found."""
    params: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


FindMetric = Callable[[MetricQuestion], FoundMetric]
"""Raises SnapshotError if the grader does not work, or contradicts the leaderboard."""

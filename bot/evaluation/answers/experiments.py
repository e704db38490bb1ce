"""Experiments, scored from arrays of predictions: light types, which the bot's own process can import."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from bot.evaluation.answers import Gain
from bot.evaluation.answers.blends import BlendRecipe

Role = Literal["oof", "validation", "test"]
"""What an array predicts: training rows out of fold, validation rows, or test rows."""
TargetKind = Literal["number", "binary", "multiclass", "ordered", "multilabel"]
FoldKind = Literal["random", "stratified", "grouped", "forward"]
"""`grouped`: what has one value of the column is in one fold, be it a group or a time; `forward`: fold k is predicted from
the folds before it, and from the rows of fold -1, alone."""
LeakCheck = Literal["agrees", "gains less than its folds suggest", "not checked"]


@dataclass(frozen=True)
class Arrays:
    """Predictions of one experiment: names of files in the run's bank; None: they were not given."""

    oof: str | None = None
    validation: str | None = None
    test: str | None = None


@dataclass(frozen=True)
class Reference:
    """An experiment that was logged before, to compare with."""

    name: str
    arrays: Arrays


@dataclass(frozen=True)
class FitRows:
    """What a portfolio fit learns from."""

    kind: TargetKind
    classes: int
    """How many there are, where the kind is `multiclass`."""
    fold_kind: FoldKind
    rows: int
    """Training rows, as in folds.csv."""


@dataclass(frozen=True)
class PresentEnsemble:
    """The newest ensemble: its predictions of the training rows, out of fold."""

    recipe: BlendRecipe
    oof: str
    """File in the bank."""


@dataclass(frozen=True)
class ScoredExperiment:
    """What the evaluator knows of an experiment's arrays."""

    arrays: Arrays
    """Where they are kept."""
    score: float
    """Out of fold; without such predictions, on the hold-out. In the metric's own sign."""
    std_error: float | None
    holdout: float | None
    """On the hold-out half of the validation rows; for the engine alone."""
    internal_test: float | None
    """On the other half; for the final selection alone."""
    gain: Gain | None = None
    """Over the reference, paired on the rows that both have."""
    ensemble_gain: Gain | None = None
    """What adding it to the present ensemble gains, approximately."""
    folds: tuple[int, ...] | None = None
    """The folds that it predicts, where some are left out; None: all."""
    columns: Mapping[str, float] = field(default_factory=dict)
    """Score by predicted column, where the metric is a mean over columns."""
    warnings: tuple[str, ...] = ()
    """Sentences for the coder: one column, class or few rows that carry most of the noise; distributions that differ."""
    check: LeakCheck = "not checked"

"""Scores an experiment from its arrays: out of fold, against another, beside the ensemble, and on the validation rows."""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bot.evaluation.answers import Gain, LabelledView
from bot.evaluation.answers.blends import BlendRecipe
from bot.evaluation.answers.experiments import LeakCheck, PresentEnsemble, Reference, Role, ScoredExperiment
from bot.evaluation.blending.ordinal import cut
from bot.evaluation.blending.spaces import NUMBERS, VOTES, combine, enter
from bot.evaluation.experiments.experiment_arrays import Received, receive
from bot.evaluation.experiments.leak_check import (
    FEWEST_ROWS,
    FEWEST_UNITS,
    compare_gains,
    loss_shares,
    secret_number,
    spread_over,
)
from bot.evaluation.experiments.scoring_data import ScoringData, open_rows
from bot.evaluation.scoring.bank import read_predicted
from bot.evaluation.scoring.scored_rows import ScoredRows
from bot.evaluation.scoring.truth import PredictionSet, Rows
from state.errors import InfrastructureFailure, InvalidSubmission

Values = NDArray[Any]

WEIGHTS = (0.1, 0.2, 0.35, 0.5, 0.75)
"""Of the experiment; the ensemble has the rest."""
_CELLS = 100_000
"""Most values of each that are tried."""
_NAME = "the ensemble"


def ensemble_gain(
    rows: ScoredRows, recipe: BlendRecipe, own_values: Values, ensemble: Values, shared_rows: Rows, seed: int
) -> Gain | None:
    """Return the gain of the best weight, 0 where none gains; None: what is combined are no predictions, or they have no score.

    Args:
        own_values: the experiment's predictions of all rows.
        ensemble: the ensemble's, out of fold.
    """
    if recipe.space in (*VOTES, *NUMBERS) or rows.metric is None or not len(shared_rows):
        return None
    max_rows = max(1_000, _CELLS // own_values.shape[1])
    if len(shared_rows) > max_rows:
        shared_rows = np.sort(np.random.default_rng(seed).permutation(shared_rows)[:max_rows])
    mixed = _mixer(rows, recipe, own_values[shared_rows], ensemble[shared_rows])
    mixture = ensemble.copy()
    before = rows.predictions(ensemble)
    best, value = None, 0.0
    for weight in WEIGHTS:
        mixture[shared_rows] = mixed(weight)
        gain = rows.card.oriented(rows.score(rows.predictions(mixture), shared_rows) - rows.score(before, shared_rows))
        if gain > value:
            best, value = weight, gain
    if best is None:
        return Gain(0.0, None, _NAME) if np.isfinite(rows.score(before, shared_rows)) else None
    mixture[shared_rows] = mixed(best)
    return rows.gain(rows.predictions(mixture), before, shared_rows, _NAME, seed)


def _mixer(rows: ScoredRows, recipe: BlendRecipe, own_values: Values, ensemble: Values) -> Callable[[float], Values]:
    space_values = [enter(recipe.space, values, rows.card) for values in (ensemble, own_values)]
    plain = replace(recipe, weights={}, columns={}, calibration={})  # its ties stay

    def mixed(weight: float) -> Values:
        if recipe.space == "ordinal":
            return cut((1 - weight) * space_values[0] + weight * space_values[1], recipe.calibration)
        reweighted = replace(plain, weights={0: 1 - weight, 1: weight})
        return combine(reweighted, lambda node, _: space_values[node], rows.card)

    return mixed


_CLEAR = 0.3
"""Kolmogorov-Smirnov distance that is clear: of test and validation rows beyond what validation and training rows have."""
_NOISE = 2.0
"""Times the root of 1/n + 1/m, beyond which a distance is no accident (p = 0.0007)."""
_ROWS, _COLUMNS = 20_000, 50
"""That are compared at most."""


def shifts(oof: Values | None, validation: Values | None, test: Values | None, columns: Sequence[str]) -> list[str]:
    """Return sentences on clear differences between distributions of predictions (rows, columns); texts count by frequency."""
    if validation is None or not len(validation):
        return []
    usual = [0.0] * validation.shape[1]
    sentences = []
    for values, first, second in ((oof, "training", "validation"), (test, "validation", "test")):
        if values is None or not len(values):
            continue
        distances = [_distance(values[:, i], validation[:, i]) for i in range(min(_COLUMNS, validation.shape[1]))]
        noise = _NOISE * math.sqrt(1 / min(_ROWS, len(values)) + 1 / min(_ROWS, len(validation)))
        clear = [i for i, distance in enumerate(distances) if distance - usual[i] > max(_CLEAR, noise)]
        if values is oof:
            usual = distances + [0.0] * (validation.shape[1] - len(distances))
        if clear:
            worst = max(clear, key=lambda i: distances[i])
            others_words = f" and {len(clear) - 1} more columns" if len(clear) > 1 else ""
            name = columns[worst] if worst < len(columns) else f"number {worst}"
            sentences.append(
                f"Predictions for {second} rows are distributed differently from those for {first} rows ({name}{others_words}; "
                f"distance {distances[worst]:.2f} on a scale of 0 to 1): check their order and scale."
            )
    return sentences


def _distance(first: Values, second: Values) -> float:
    """Return the largest difference of the two distribution functions; of texts half the sum of differences of frequencies."""
    first, second = first[:: -(-len(first) // _ROWS)], second[:: -(-len(second) // _ROWS)]
    if first.dtype.kind in "OU":
        names, place = np.unique(np.concatenate([first, second]).astype(str), return_inverse=True)
        if len(names) > len(second) / 5:
            return 0.0
        counts = [
            np.bincount(side, minlength=len(names)) / len(side) for side in (place[: len(first)], place[len(first) :])
        ]
        return float(np.abs(counts[0] - counts[1]).sum() / 2)
    first, second = np.sort(first), np.sort(second)
    all_values = np.concatenate([first, second])
    shares = [np.searchsorted(side, all_values, side="right") / len(side) for side in (first, second)]
    return float(np.abs(shares[0] - shares[1]).max())


def score_experiment(
    folds: LabelledView | None,
    view: LabelledView,
    files: Mapping[Role, Path],
    bank: Path,
    comparison: Reference | None,
    reference: Reference | None,
    ensemble: PresentEnsemble | None,
    check: bool,
    seed: int,
) -> ScoredExperiment:
    """Score an experiment from its arrays, and keep them.

    Args:
        folds: the training rows with a fold, as `build_folds` makes them; None: no folds could be cut.
        view: the hold-out view; its places of `final` are the internal test.
        files: the arrays by what they predict: of `.npy` with one row for each line of folds.csv, of sample_validation.csv or
            of sample_submission.csv, or a file in the form of the submission.
        comparison: what the gain is over; None: nothing.
        reference: what the check against leaks compares with; None: nothing is checked.
        check: whether to check against leaks. Its answer and those about the validation rows must not reach a coder in any
            other form than the phrase.

    Raises:
        InvalidSubmission: an array cannot be scored; the text is one sentence, which names what is expected.
        InfrastructureFailure: the labels cannot be read.
        SnapshotError: the competition's grader cannot be used.
    """
    if folds is None and "oof" in files:
        raise InvalidSubmission("This data has no folds: log predictions for the validation rows only.")
    if not {"oof", "validation"} & files.keys():
        raise InvalidSubmission("A score requires oof or validation predictions; neither was given.")
    with ExitStack() as stack:
        data = open_rows(folds, view, stack)
        if data.holdout.truth.ids is None:
            raise InfrastructureFailure("The grader scores only whole files, not subsets of the rows.")
        return _Scoring(data, receive(data, files, bank, seed), bank, seed).experiment(
            comparison, reference if check else None, ensemble
        )


def take_test(
    folds: LabelledView | None, view: LabelledView, file: Path, bank: Path, oof: str | None, seed: int
) -> str:
    """Keep an array of test predictions as those of an experiment are kept, and return its file in the bank.

    `oof` is the bank's file with the experiment's predictions out of fold, by which numbers become labels.

    Raises InvalidSubmission: it is not what is expected; the text is one sentence.
    """
    with ExitStack() as stack:
        name = receive(open_rows(folds, view, stack), {"test": file}, bank, seed, oof).arrays.test
    if name is None:
        raise InvalidSubmission("No test predictions.")
    return name


@dataclass(frozen=True)
class _Scoring:
    data: ScoringData
    received: Received
    bank: Path
    seed: int

    def experiment(
        self, comparison: Reference | None, reference: Reference | None, ensemble: PresentEnsemble | None
    ) -> ScoredExperiment:
        arrays, data = self.received, self.data
        holdout = None if arrays.validation is None else data.holdout.predictions(arrays.validation)
        final = None if arrays.validation is None or data.final is None else data.final.predictions(arrays.validation)
        training = None if arrays.oof is None or data.training is None else data.training.predictions(arrays.oof)
        rows, predictions, subset = (
            (data.training, training, data.of_folds(arrays.folds))
            if training is not None
            else (data.holdout, holdout, None)
        )
        if rows is None or predictions is None:
            raise InvalidSubmission("A score requires oof or validation predictions; neither was given.")
        score = rows.score(predictions, subset)
        if not math.isfinite(score):
            fault = rows.truth.fault(subset) or rows.truth.why_not(predictions, subset)
            raise InvalidSubmission(f"The predictions cannot be scored: {fault}.")
        return ScoredExperiment(
            arrays=arrays.arrays,
            score=score,
            std_error=rows.error(predictions, subset, self.seed),
            holdout=None if holdout is None else _finite(data.holdout.score(holdout)),
            internal_test=None if final is None or data.final is None else _finite(data.final.score(final)),
            gain=None if comparison is None or training is None else self._gain(comparison, training, score),
            ensemble_gain=self._ensemble_gain(ensemble, training),
            folds=arrays.folds,
            # What is said of validation rows alone would tell their labels.
            columns={} if training is None else rows.columns(predictions, subset),
            warnings=(
                *arrays.warnings,
                *(() if training is None else loss_shares(rows, predictions, subset)),
                *shifts(
                    None if arrays.oof is None else arrays.oof[data.of_folds(arrays.folds)],
                    arrays.validation,
                    arrays.test,
                    data.form.card.prediction_columns,
                ),
            ),
            check=self._check(reference, training, holdout),
        )

    def _gain(self, over: Reference, training: PredictionSet, score: float) -> Gain | None:
        data, values = self.data, self._read(over.arrays.oof, "oof")
        if values is None or data.training is None or not len(shared_rows := self._shared_rows(values)):
            return None
        known_score = score if len(shared_rows) == len(data.of_folds(self.received.folds)) else None
        reference = data.training.predictions(values)
        return data.training.gain(training, reference, data.all_or(shared_rows), over.name, self.seed, known_score)

    def _ensemble_gain(self, ensemble: PresentEnsemble | None, training: PredictionSet | None) -> Gain | None:
        rows = self.data.training
        if ensemble is None or training is None or rows is None or self.received.oof is None:
            return None
        values = self._read(ensemble.oof, "oof")
        if values is None:
            return None
        return ensemble_gain(rows, ensemble.recipe, self.received.oof, values, self._shared_rows(values), self.seed)

    def _check(
        self, reference: Reference | None, training: PredictionSet | None, holdout: PredictionSet | None
    ) -> LeakCheck:
        data, arrays = self.data, self.received
        rows, held_rows = data.training, data.holdout
        if reference is None or training is None or holdout is None or rows is None or arrays.validation is None:
            return "not checked"
        units = len(np.unique(held_rows.units))
        if len(held_rows.places) < FEWEST_ROWS or units < FEWEST_UNITS:
            return "not checked"
        oof, validation = self._read(reference.arrays.oof, "oof"), self._read(reference.arrays.validation, "validation")
        if oof is None or validation is None:
            return "not checked"
        places, shared_rows = held_rows.places, self._shared_rows(oof)
        if not len(shared_rows) or not spread_over(arrays.validation[places], validation[places]):
            return "not checked"
        base = rows.predictions(oof)
        oof_gain = rows.gain(training, base, data.all_or(shared_rows), reference.name, self.seed)
        holdout_gain = held_rows.gain(holdout, held_rows.predictions(validation), None, reference.name, self.seed)
        if oof_gain is None or holdout_gain is None:
            return "not checked"
        of_each = [shared_rows[data.fold[shared_rows] == fold] for fold in np.unique(data.fold[shared_rows])]
        by_fold = [rows.gain(training, base, part, reference.name, self.seed) for part in of_each]
        names = (arrays.arrays.oof or "", arrays.arrays.validation or "", reference.name)
        return compare_gains(
            oof_gain,
            [gain for gain in by_fold if gain is not None],
            holdout_gain,
            len(places) / len(shared_rows),
            secret_number(data.view.truth, names, self.seed),
        )

    def _shared_rows(self, other_values: Values) -> Rows:
        """Return the training rows that another experiment predicts as well."""
        empty = np.isnan(other_values) if other_values.dtype.kind == "f" else np.equal(other_values, "")
        own_rows = self.data.of_folds(self.received.folds)
        return own_rows[~np.asarray(empty[own_rows]).any(axis=1)]

    def _read(self, name: str | None, role: Role) -> Values | None:
        """Return what another experiment predicted; None: it did not, its file is gone, or it is of other rows."""
        if name is None:
            return None
        labelled = self.data.folds if role == "oof" and self.data.folds is not None else self.data.view
        try:
            values = read_predicted(self.bank / name, labelled.data / "sample_validation.csv", labelled.card)
        except InvalidSubmission:
            return None
        own_values = self.received.oof if role == "oof" else self.received.validation
        return values if own_values is None or values.shape == own_values.shape else None


def _finite(score: float) -> float | None:
    return score if math.isfinite(score) else None

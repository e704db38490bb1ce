"""Scores an experiment from its arrays: out of fold, against another, beside the ensemble, and on the validation rows."""

import math
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bot.evaluation.answers import Gain, LabelledView
from bot.evaluation.answers.experiments import (
    LeakCheck,
    PresentEnsemble,
    Reference,
    Role,
    ScoredExperiment,
)
from bot.evaluation.experiments.ensemble_gain import ensemble_gain
from bot.evaluation.experiments.leak_check import (
    FEWEST_ROWS,
    FEWEST_UNITS,
    compare_gains,
    secret_number,
    spread_over,
)
from bot.evaluation.experiments.loss_shares import loss_shares
from bot.evaluation.experiments.opened import Opened, open_rows
from bot.evaluation.experiments.received import Received, receive
from bot.evaluation.scoring.bank import read_predicted
from bot.evaluation.scoring.truth import Predicted, Rows
from state.errors import InfrastructureFailure, InvalidSubmission

Values = NDArray[Any]

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
    found = []
    for values, first, second in ((oof, "training", "validation"), (test, "validation", "test")):
        if values is None or not len(values):
            continue
        distances = [_distance(values[:, at], validation[:, at]) for at in range(min(_COLUMNS, validation.shape[1]))]
        noise = _NOISE * math.sqrt(1 / min(_ROWS, len(values)) + 1 / min(_ROWS, len(validation)))
        clear = [at for at, own in enumerate(distances) if own - usual[at] > max(_CLEAR, noise)]
        if values is oof:
            usual = distances + [0.0] * (validation.shape[1] - len(distances))
        if clear:
            at = max(clear, key=lambda one: distances[one])
            more = f" and {len(clear) - 1} more columns" if len(clear) > 1 else ""
            name = columns[at] if at < len(columns) else f"number {at}"
            found.append(
                f"Predictions of {second} rows are distributed otherwise than those of {first} rows ({name}{more}; distance "
                f"{distances[at]:.2f} of 1): check their order and scale."
            )
    return found


def _distance(left: Values, right: Values) -> float:
    """Return the largest difference of the two distribution functions; of texts half the sum of differences of frequencies."""
    left, right = left[:: -(-len(left) // _ROWS)], right[:: -(-len(right) // _ROWS)]
    if left.dtype.kind in "OU":
        names, place = np.unique(np.concatenate([left, right]).astype(str), return_inverse=True)
        if len(names) > len(right) / 5:
            return 0.0
        counts = [np.bincount(one, minlength=len(names)) / len(one) for one in (place[: len(left)], place[len(left) :])]
        return float(np.abs(counts[0] - counts[1]).sum() / 2)
    left, right = np.sort(left), np.sort(right)
    both = np.concatenate([left, right])
    shares = [np.searchsorted(own, both, side="right") / len(own) for own in (left, right)]
    return float(np.abs(shares[0] - shares[1]).max())


def score_experiment(
    folds: LabelledView | None,
    view: LabelledView,
    files: Mapping[Role, Path],
    bank: Path,
    against: Reference | None,
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
        against: what the gain is over; None: nothing.
        reference: what the check against leaks compares with; None: nothing is checked.
        check: whether to check against leaks. Its answer and those about the validation rows must not reach a coder in any
            other form than the phrase.

    Raises:
        InvalidSubmission: an array cannot be scored; the text is one sentence, which names what is expected.
        InfrastructureFailure: the labels cannot be read.
        SnapshotError: the competition's grader cannot be used.
    """
    if folds is None and "oof" in files:
        raise InvalidSubmission("No folds could be cut from this data: send predictions of validation rows alone.")
    if not {"oof", "validation"} & files.keys():
        raise InvalidSubmission("Neither oof nor validation was given; one of them is needed for a score.")
    with ExitStack() as stack:
        opened = open_rows(folds, view, stack)
        if opened.held.truth.ids is None:
            raise InfrastructureFailure(
                "The grader scores whole files only, so that no part of the rows can be scored."
            )
        return _Scoring(opened, receive(opened, files, bank, seed), bank, seed).experiment(
            against, reference if check else None, ensemble
        )


def take_test(
    folds: LabelledView | None, view: LabelledView, file: Path, bank: Path, oof: str | None, seed: int
) -> str:
    """Keep an array of test predictions as those of an experiment are kept, and return its file in the bank.

    `oof` is the bank's file with the experiment's predictions out of fold, by which numbers become labels.

    Raises:
        InvalidSubmission: it is not what is expected; the text is one sentence.
    """
    with ExitStack() as stack:
        name = receive(open_rows(folds, view, stack), {"test": file}, bank, seed, oof).arrays.test
    if name is None:
        raise InvalidSubmission("There are no test predictions.")
    return name


@dataclass(frozen=True)
class _Scoring:
    """One experiment while it is scored."""

    opened: Opened
    own: Received
    bank: Path
    seed: int

    def experiment(
        self, against: Reference | None, reference: Reference | None, ensemble: PresentEnsemble | None
    ) -> ScoredExperiment:
        own, opened = self.own, self.opened
        held = None if own.validation is None else opened.held.predicted(own.validation)
        final = None if own.validation is None or opened.final is None else opened.final.predicted(own.validation)
        training = None if own.oof is None or opened.training is None else opened.training.predicted(own.oof)
        rows, predicted, some = (
            (opened.training, training, opened.of_folds(own.folds))
            if training is not None
            else (opened.held, held, None)
        )
        if rows is None or predicted is None:
            raise InvalidSubmission("Neither oof nor validation was given; one of them is needed for a score.")
        score = rows.score(predicted, some)
        if not math.isfinite(score):
            fault = rows.truth.fault(some) or rows.truth.why_not(predicted, some)
            raise InvalidSubmission(f"The predictions have no score: {fault}.")
        return ScoredExperiment(
            arrays=own.arrays,
            score=score,
            std_error=rows.error(predicted, some, self.seed),
            holdout=None if held is None else _finite(opened.held.score(held)),
            internal_test=None if final is None or opened.final is None else _finite(opened.final.score(final)),
            gain=None if against is None else self._gain(against, training, held, score),
            ensemble_gain=self._ensemble_gain(ensemble, training),
            folds=own.folds,
            columns=rows.columns(predicted, some),
            warnings=(
                *own.warnings,
                *loss_shares(rows, predicted, some),
                *shifts(
                    None if own.oof is None else own.oof[opened.of_folds(own.folds)],
                    own.validation,
                    own.test,
                    opened.form.card.prediction_columns,
                ),
            ),
            check=self._check(reference, training, held),
        )

    def _gain(self, over: Reference, training: Predicted | None, held: Predicted | None, score: float) -> Gain | None:
        """Return the gain on the training rows that both have, or else on the hold-out."""
        opened = self.opened
        if training is not None and (values := self._read(over.arrays.oof, "oof")) is not None:
            some = self._both(values)
            if opened.training is None or not len(some):
                return None
            known = score if len(some) == len(opened.of_folds(self.own.folds)) else None
            other = opened.training.predicted(values)
            return opened.training.gain(training, other, opened.all_or(some), over.name, self.seed, known)
        if held is not None and (values := self._read(over.arrays.validation, "validation")) is not None:
            return opened.held.gain(held, opened.held.predicted(values), None, over.name, self.seed)
        return None

    def _ensemble_gain(self, ensemble: PresentEnsemble | None, training: Predicted | None) -> Gain | None:
        rows = self.opened.training
        if ensemble is None or training is None or rows is None or self.own.oof is None:
            return None
        values = self._read(ensemble.oof, "oof")
        if values is None:
            return None
        return ensemble_gain(rows, ensemble.recipe, self.own.oof, values, self._both(values), self.seed)

    def _check(self, reference: Reference | None, training: Predicted | None, held: Predicted | None) -> LeakCheck:
        opened, own = self.opened, self.own
        rows, held_rows = opened.training, opened.held
        if reference is None or training is None or held is None or rows is None or own.validation is None:
            return "not checked"
        units = len(np.unique(held_rows.units))
        if len(held_rows.places) < FEWEST_ROWS or units < FEWEST_UNITS:
            return "not checked"
        oof, validation = self._read(reference.arrays.oof, "oof"), self._read(reference.arrays.validation, "validation")
        if oof is None or validation is None:
            return "not checked"
        places, some = held_rows.places, self._both(oof)
        if not len(some) or not spread_over(own.validation[places], validation[places]):
            return "not checked"
        other = rows.predicted(oof)
        whole = rows.gain(training, other, opened.all_or(some), reference.name, self.seed)
        apart = held_rows.gain(held, held_rows.predicted(validation), None, reference.name, self.seed)
        if whole is None or apart is None:
            return "not checked"
        of_each = [some[opened.fold[some] == fold] for fold in np.unique(opened.fold[some])]
        by_fold = [rows.gain(training, other, one, reference.name, self.seed) for one in of_each]
        names = (own.arrays.oof or "", own.arrays.validation or "", reference.name)
        return compare_gains(
            whole,
            [gain for gain in by_fold if gain is not None],
            apart,
            len(places) / len(some),
            secret_number(opened.view.truth, names, self.seed),
        )

    def _both(self, other: Values) -> Rows:
        """Return the training rows that another experiment predicts as well."""
        empty = np.isnan(other) if other.dtype.kind == "f" else np.equal(other, "")
        mine = self.opened.of_folds(self.own.folds)
        return mine[~np.asarray(empty[mine]).any(axis=1)]

    def _read(self, name: str | None, role: Role) -> Values | None:
        """Return what another experiment predicted; None: it did not, its file is gone, or it is of other rows."""
        if name is None:
            return None
        of = self.opened.folds if role == "oof" and self.opened.folds is not None else self.opened.view
        try:
            values = read_predicted(self.bank / name, of.data / "sample_validation.csv", of.card)
        except InvalidSubmission:
            return None
        own = self.own.oof if role == "oof" else self.own.validation
        return values if own is None or values.shape == own.shape else None


def _finite(score: float) -> float | None:
    return score if math.isfinite(score) else None

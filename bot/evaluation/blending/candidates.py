"""Which scripts may be members of a blend: readable, finite, not constant, and no near-copies of better ones."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bot.evaluation.answers import LabelledView
from bot.evaluation.answers.blends import Member
from bot.evaluation.metrics.arrays import Values
from bot.evaluation.metrics.registry import prediction_kind
from bot.evaluation.scoring.bank import read_predicted
from bot.evaluation.tables.csv_table import read_table
from scrapers.snapshots.card import TaskCard
from state.errors import InvalidSubmission

_NEAR_SHARE = 0.01
"""Root mean squared distance of two scripts' predictions, as a share of their spread, up to which they are near-copies: that of
two seeds of one model is ten times as large. Of texts: the share of those that differ."""


@dataclass(frozen=True)
class BlendCandidates:
    """The scripts that a blend is fitted on, best first."""

    members: Sequence[Member]
    sample: Values
    """Their predictions (members, rows of the sample, columns)."""
    rejected: dict[int, str] = field(default_factory=dict)
    """Nodes that could be no members, each with the reason in a sentence."""


@dataclass(frozen=True)
class PredictionFormat:
    """What a script's files must hold."""

    sample: Path
    test_sample: Path
    rows: int
    test_rows: int
    card: TaskCard

    @staticmethod
    def for_view(view: LabelledView) -> "PredictionFormat":
        """Return the form of the files that scripts write on a view."""
        samples = view.data / "sample_validation.csv", view.data / "sample_submission.csv"
        rows, test_rows = (sum(1 for _ in read_table(sample).rows()) for sample in samples)
        return PredictionFormat(*samples, rows, test_rows, view.card)

    def read(self, file: Path, *, test: bool = False) -> Values:
        """Return the predictions (rows, columns) of a file of the withheld rows, or of the test rows.

        Raises InvalidSubmission: they can be no part of a blend; the message is a sentence.
        """
        part = "test" if test else "validation"
        values = read_predicted(file, self.test_sample if test else self.sample, self.card)
        expected = (self.test_rows if test else self.rows, len(self.card.prediction_columns))
        if values.shape != expected:
            raise InvalidSubmission(
                f"Its predictions for the {part} rows have the shape {values.shape}; expected: {expected}."
            )
        kind = prediction_kind(self.card)
        if values.dtype.kind not in ("fiu" if kind == "number" else "O"):
            raise InvalidSubmission(f"Its predictions for the {part} rows are not {kind}s.")
        if kind == "number" and (wrong := int((~np.isfinite(values)).any(axis=1).sum())):
            raise InvalidSubmission(f"It predicts NaN or infinity for {wrong:,} of the {part} rows.")
        return values


def candidates(
    members: Sequence[Member],
    form: PredictionFormat,
    sample: NDArray[np.int64],
    score: Callable[[Values], float],
    max_members: int,
    place: Callable[[Member, Values], Values],
) -> BlendCandidates:
    """Return the best scripts by a sample of the hold-out rows.

    The `score` is of all withheld rows, and more is better; `place` puts predictions of the sample into the space in which
    they are compared.
    """
    rejected: dict[int, str] = {}
    ranking: list[tuple[float, float, int, Member]] = []
    for member in members:
        try:
            values = form.read(member.predictions)
            # Nearly always the sample shows that they differ; to compare all texts takes long.
            if len(values) > 1 and (values[sample] == values[0]).all() and (values == values[0]).all():
                raise InvalidSubmission("It predicts the same value for all validation rows.")
        except InvalidSubmission as error:
            rejected[member.node] = str(error)
            continue
        if np.isfinite(value := score(values)):
            # Of equal ones the faster stays.
            ranking.append((-value, member.seconds, member.node, member))
        else:
            rejected[member.node] = "No score."
    distinct: list[tuple[Member, Values, Values]] = []
    for *_, member in sorted(ranking, key=lambda entry: entry[:3]):
        try:
            form.read(member.submission, test=True)
        except InvalidSubmission as error:
            rejected[member.node] = str(error)
            continue
        values = form.read(member.predictions)[sample]
        comparable = place(member, values)
        twin = next((earlier.node for earlier, _, previous in distinct if _nearly_equal(previous, comparable)), None)
        if twin is not None:
            rejected[member.node] = f"Its predictions are (nearly) identical to those of node {twin}."
            continue
        distinct.append((member, values, comparable))
        if len(distinct) == max_members:
            break
    sample_values = np.stack([values for _, values, _ in distinct]) if distinct else np.empty(0)
    return BlendCandidates([member for member, *_ in distinct], sample_values, rejected)


def _nearly_equal(first: Values, second: Values) -> bool:
    if first.dtype != second.dtype:
        return False
    if first.dtype == object:
        return float((first != second).mean()) <= _NEAR_SHARE
    spread = float(first.std(axis=0).mean())
    return float(np.sqrt(((first - second) ** 2).mean())) <= _NEAR_SHARE * spread

"""Opens the rows that candidates were scored on, and compares the candidates on them."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np

from bot.evaluation.answers.choices import Candidate, Choice, Predictions
from bot.evaluation.blending.blend import blend_files
from bot.evaluation.choosing.choose import Part, choose
from bot.evaluation.scoring import Scorer, open_scorer, parts_of
from bot.evaluation.scoring.interval import clusters_of
from bot.evaluation.scoring.truth import PartOfTruth, Predicted, Rows, Truth
from bot.evaluation.tables.csv_table import read_table
from state.errors import InfrastructureFailure, InvalidSubmission

_SAMPLE = "sample_validation.csv"


def choose_candidate(
    candidates: Sequence[Candidate], predictions: Sequence[Predictions], seed: int, seconds: float
) -> Choice:
    """Put candidates in order by all rows that they were scored on.

    Args:
        candidates: scripts and blends.
        predictions: those of the hold-out view first, with all candidates' files; then those of fold views, of which only the
            rows count that the hold-out view trains on, so that no row counts twice.
        seed: of the draws.
        seconds: for them.

    Raises:
        InfrastructureFailure: labels cannot be read.
        SnapshotError: the task's grade.py cannot be used.
    """
    held = predictions[0].view
    with closing(open_scorer(held.card, held.grader)) as scorer:
        parts = [part for one in predictions for part in _parts(one, candidates, scorer, held.data)]
        times = {one.node: one.seconds for one in candidates}
        blends = {one.node for one in candidates if one.recipe is not None}
        return choose(parts, times, blends, held.card.lower_is_better, seed, seconds)


def _parts(one: Predictions, candidates: Sequence[Candidate], scorer: Scorer, held: Path) -> Iterator[Part]:
    """Yield the parts of one view; a part without rows is left out."""
    try:
        truth, final = parts_of(one.view, scorer)
    except InvalidSubmission as error:
        raise InfrastructureFailure(f"the labels of a view cannot be read: {error}") from error
    whole = truth.whole if isinstance(truth, PartOfTruth) else truth
    predicted = dict(_predicted(one, candidates, whole, scorer))
    ids = whole.ids
    if ids is None:  # a grader of whole files: a fold's has rows that the hold-out has as well
        if one.view.data == held:
            yield Part(one.parts[0], whole, predicted, ())
        return
    # In the view's own folder no rows stand apart, so that all are read.
    units, _ = clusters_of(replace(one.view, labels=one.view.data), ids)
    for name in one.parts:
        part = {"holdout": truth, "final": final}.get(name, _not_withheld(whole, ids, one, held))
        if part is None:
            continue
        rows = part.places if isinstance(part, PartOfTruth) else np.arange(len(ids))
        if len(rows):
            yield Part(name, part, predicted, _within(units, rows, len(ids)))


def _predicted(
    one: Predictions, candidates: Sequence[Candidate], truth: Truth, scorer: Scorer
) -> Iterator[tuple[int, Predicted]]:
    """Yield the predictions of those candidates that have any; a blend without a file is made of its members' files."""
    sample, card = one.view.data / _SAMPLE, one.view.card
    for candidate in candidates:
        node, recipe = candidate.node, candidate.recipe
        try:
            if node in one.files:
                yield node, truth.read(one.files[node])
            elif recipe is not None and recipe.weights.keys() <= one.files.keys() and scorer.kind == "registry":
                yield node, Predicted(f"node {node}", blend_files(recipe, one.files, sample, card))
        except InvalidSubmission:  # its file is gone: it was not scored here
            continue


def _not_withheld(whole: Truth, ids: Sequence[str], one: Predictions, held: Path) -> PartOfTruth:
    """Return a fold's rows that the hold-out view trains on."""
    withheld = set(read_table(held / _SAMPLE).keys(one.view.card.row_columns))
    return PartOfTruth(whole, np.array([row for row, id in enumerate(ids) if id not in withheld], dtype=np.int64))


def _within(units: Sequence[Rows], rows: Rows, many: int) -> list[Rows]:
    """Return what belongs together among some of so many rows, which are numbered anew."""
    number = np.full(many, -1, dtype=np.int64)
    number[rows] = np.arange(len(rows))
    kept = (number[unit][number[unit] >= 0] for unit in units)
    return [unit for unit in kept if len(unit)]

"""Checks whether a file for submission is valid, and whether it is the same as a public one or another node's."""

import base64
import filecmp
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bot.evaluation.answers import PublicCopy
from bot.evaluation.answers.findings import GuardFinding, passed, spoiling, suspicious
from bot.evaluation.guards.traces import Traces
from bot.evaluation.metrics.ranks import spearman
from bot.evaluation.metrics.registry import prediction_kind
from bot.evaluation.metrics.same_labels import equal_labels
from bot.evaluation.scoring.prediction_file import OF_OTHERS, read_submission, read_truth
from bot.evaluation.tables.csv_table import read_table
from bot.evaluation.tables.untrusted_csv import open_rows
from scrapers.posts.sketches import sketch_of
from scrapers.snapshots.card import TaskCard
from state.errors import InvalidSubmission

SAME_CELLS = 0.999
"""Share of equal cells above which two files are the same."""
SAME_ORDER = 1.0 - 1e-9
"""Rank correlation, in every column, above which a file is another one with its numbers transformed."""
_CLOSE = 1e-6
"""Numbers are equal that differ by no more than this share of the column's spread."""
_OURS = frozenset({"train.csv", "validation.csv", "sample_validation.csv"})

Values = NDArray[Any]


def check_file(file: Path, view_dir: Path, outputs: Path | None, card: TaskCard) -> PublicCopy:
    """Validate a file, and look for it among public ones: the sample submission, others of the competition's data, and outputs.

    The view's sample_submission.csv defines a valid file; `outputs` is a folder with files that public kernels have written.

    Raises:
        InvalidSubmission: the site would not take it; the text gives the reason.
    """
    mine = read_submission(file, view_dir / "sample_submission.csv", card)[1]
    return public_copy(mine, view_dir, outputs, card)


def public_copy(mine: Values, view_dir: Path, outputs: Path | None, card: TaskCard) -> PublicCopy:
    """Look for predictions of the test rows (rows, prediction columns) among public files; see `check_file`."""
    sample = view_dir / "sample_submission.csv"
    ids = read_table(sample).keys(card.row_columns)
    labels = prediction_kind(card) != "number"
    compared = 0
    for path in _public(view_dir, outputs, card):
        try:
            other = read_truth(path, ids, card, OF_OTHERS)
        except InvalidSubmission:
            continue  # of other rows, or without values
        compared += 1
        if (how := _same(mine, other, labels=labels)) is not None:
            kind = "the sample submission" if path == sample else f"the public file {_named(path, view_dir, outputs)}"
            return PublicCopy(f"{how} {kind}", compared)
    return PublicCopy(None, compared)


def same_values(mine: Values, other: Values, *, labels: bool) -> bool:
    """Whether two files have the same value in nearly every row (`SAME_CELLS`), but not the same in all rows."""
    equal = equal_labels(mine, other) if labels else _equal_numbers(mine, other)
    return equal > SAME_CELLS and not _constant(other)


def _public(view_dir: Path, outputs: Path | None, card: TaskCard) -> Sequence[Path]:
    folders = [view_dir] if outputs is None or not outputs.is_dir() else [view_dir, outputs]
    found = [path for folder in folders for path in sorted(folder.rglob("*.csv"))]
    return [path for path in found if path.name not in _OURS and _may_be_one(path, card)]


def _named(path: Path, view_dir: Path, outputs: Path | None) -> str:
    """Return a file's path below its folder, which for an output names its kernel."""
    folder = view_dir if outputs is None or path.is_relative_to(view_dir) else outputs
    return path.relative_to(folder).as_posix()


def _may_be_one(path: Path, card: TaskCard) -> bool:
    try:
        with open_rows(path, OF_OTHERS) as rows:
            return set(card.columns) <= set(rows.header)
    except InvalidSubmission:
        return False


def _same(mine: Values, other: Values, *, labels: bool) -> str | None:
    """Return how two files are the same; None if they are not."""
    equal = equal_labels(mine, other) if labels else _equal_numbers(mine, other)
    if equal == 1.0:
        return "every value is that of"
    # A good file may share nearly all values with a constant one, as with rare classes.
    if equal > SAME_CELLS and not _constant(other):
        return f"{equal:.2%} of the values are those of"
    if labels or len(mine) < 2:
        return None
    each = [spearman(a, b) for a, b in zip(mine.T, other.T, strict=True)]
    if all(one is not None and one >= SAME_ORDER for one in each):
        return "all rows stand in the order of"
    return None


def _constant(values: Values) -> bool:
    return bool((values == values[:1]).all())


def _equal_numbers(mine: Values, other: Values) -> float:
    spread = np.ptp(np.vstack([mine, other]), axis=0)
    return float((np.abs(mine - other) <= _CLOSE * np.maximum(spread, 1e-12)).mean())


def sketch_script(text: str) -> dict[str, str | None] | None:
    """Return a script's sketch, None for one without a word.

    Returns:
        `sha256`, and `code` and `prose`: the signatures of `scrapers.posts.sketches` in base64, None where there is too little.
    """
    made = sketch_of(text, "kernel", "script")
    if made is None:
        return None
    return {"sha256": made.sha256, "code": _text(made.code), "prose": _text(made.prose)}


def _text(signature: bytes | None) -> str | None:
    return None if signature is None else base64.b64encode(signature).decode()


MOST_NODES = 20
"""Latest nodes whose files are compared value by value; of all others byte by byte."""


def copied_submission(guard: str, traces: Traces) -> GuardFinding:
    """Compare the submission with public files, which may not be submitted, and with those of earlier nodes."""
    view = traces.view
    found = public_copy(traces.submitted, view.folder, None, view.card)
    if found.copied is not None:
        return spoiling(guard, f"in the submission {found.copied}")
    labels = prediction_kind(view.card) != "number"
    for other in traces.others:
        if other.submission.is_file() and filecmp.cmp(traces.submission, other.submission, shallow=False):
            return suspicious(guard, f"every value of the submission is that of node {other.node}", node=other.node)
    for other in traces.others[-MOST_NODES:]:
        try:
            values = traces.submitted_by(other.submission)
        except InvalidSubmission:
            continue  # it is gone, or was invalid
        if same_values(traces.submitted, values, labels=labels):
            return suspicious(guard, f"every value of the submission is that of node {other.node}", node=other.node)
    sentence = f"it is like none of {found.compared} public files and {len(traces.others)} other nodes"
    return passed(guard, sentence, public=found.compared, nodes=len(traces.others))

"""Checks whether a file for submission is valid, and whether it is the same as a public one or another node's."""

import base64
import filecmp
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bot.evaluation.answers import PublicCopy
from bot.evaluation.answers.findings import GuardFinding, guard_passed, spoiling, suspicious
from bot.evaluation.guards.scores import repeats_latest
from bot.evaluation.guards.traces import Traces
from bot.evaluation.metrics.ranking import spearman
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
_OWN_FILES = frozenset({"train.csv", "validation.csv", "sample_validation.csv"})

Values = NDArray[Any]


def check_file(file: Path, view_dir: Path, outputs: Path | None, card: TaskCard) -> PublicCopy:
    """Validate a file, and look for it among public ones: the sample submission, others of the competition's data, and outputs.

    The view's sample_submission.csv defines a valid file; `outputs` is a folder with files that public kernels have written.

    Raises:
        InvalidSubmission: the site would not take it; the text gives the reason.
    """
    own_values = read_submission(file, view_dir / "sample_submission.csv", card)[1]
    return public_copy(own_values, view_dir, outputs, card)


def public_copy(own_values: Values, view_dir: Path, outputs: Path | None, card: TaskCard) -> PublicCopy:
    """Look for predictions of the test rows (rows, prediction columns) among public files; see `check_file`."""
    sample = view_dir / "sample_submission.csv"
    ids = read_table(sample).keys(card.row_columns)
    labels = prediction_kind(card) != "number"
    file_count = 0
    for path in _public(view_dir, outputs, card):
        try:
            public = read_truth(path, ids, card, OF_OTHERS)
        except InvalidSubmission:
            continue  # of other rows, or without values
        file_count += 1
        if (likeness := _likeness(own_values, public, labels=labels)) is not None:
            kind = "the sample submission" if path == sample else f"the public file {_path(path, view_dir, outputs)}"
            return PublicCopy(f"{likeness} {kind}", file_count)
    return PublicCopy(None, file_count)


def same_values(own_values: Values, public_values: Values, *, labels: bool) -> bool:
    """Whether two files have the same value in nearly every row (`SAME_CELLS`), but not the same in all rows."""
    equal = equal_labels(own_values, public_values) if labels else _equal_numbers(own_values, public_values)
    return equal > SAME_CELLS and not _constant(public_values)


def _public(view_dir: Path, outputs: Path | None, card: TaskCard) -> Sequence[Path]:
    folders = [view_dir] if outputs is None or not outputs.is_dir() else [view_dir, outputs]
    csv_files = [path for folder in folders for path in sorted(folder.rglob("*.csv"))]
    return [path for path in csv_files if path.name not in _OWN_FILES and _may_be_one(path, card)]


def _path(path: Path, view_dir: Path, outputs: Path | None) -> str:
    """Return a file's path below its folder, which for an output names its kernel."""
    folder = view_dir if outputs is None or path.is_relative_to(view_dir) else outputs
    return path.relative_to(folder).as_posix()


def _may_be_one(path: Path, card: TaskCard) -> bool:
    try:
        with open_rows(path, OF_OTHERS) as rows:
            return set(card.columns) <= set(rows.header)
    except InvalidSubmission:
        return False


def _likeness(own_values: Values, public_values: Values, *, labels: bool) -> str | None:
    """Return how two files are the same; None if they are not."""
    equal = equal_labels(own_values, public_values) if labels else _equal_numbers(own_values, public_values)
    if equal == 1.0:
        return "every value is that of"
    # A good file may share nearly all values with a constant one, as with rare classes.
    if equal > SAME_CELLS and not _constant(public_values):
        return f"{equal:.2%} of the values are those of"
    if labels or len(own_values) < 2:
        return None
    correlations = [spearman(a, b) for a, b in zip(own_values.T, public_values.T, strict=True)]
    if all(correlation is not None and correlation >= SAME_ORDER for correlation in correlations):
        return "all rows stand in the order of"
    return None


def _constant(values: Values) -> bool:
    return bool((values == values[:1]).all())


def _equal_numbers(own_values: Values, public_values: Values) -> float:
    spread = np.ptp(np.vstack([own_values, public_values]), axis=0)
    return float((np.abs(own_values - public_values) <= _CLOSE * np.maximum(spread, 1e-12)).mean())


def sketch_script(text: str) -> dict[str, str | None] | None:
    """Return a script's sketch, None for one without a word.

    Returns:
        `sha256`, and `code` and `prose`: the signatures of `scrapers.posts.sketches` in base64, None where there is too little.
    """
    sketch = sketch_of(text, "kernel", "script")
    if sketch is None:
        return None
    return {"sha256": sketch.sha256, "code": _text(sketch.code), "prose": _text(sketch.prose)}


def _text(signature: bytes | None) -> str | None:
    return None if signature is None else base64.b64encode(signature).decode()


MOST_NODES = 20
"""Latest nodes whose files are compared value by value; of all others byte by byte."""


def copied_submission(guard: str, traces: Traces) -> GuardFinding:
    """Compare the submission with public files, which may not be submitted, and with those of earlier nodes."""
    view = traces.view
    copy = public_copy(traces.submitted, view.folder, None, view.card)
    if copy.copied is not None and not repeats_latest(traces):
        return spoiling(guard, f"in the submission {copy.copied}")
    labels = prediction_kind(view.card) != "number"
    for node in traces.earlier_nodes:
        if node.submission.is_file() and filecmp.cmp(traces.submission, node.submission, shallow=False):
            return suspicious(guard, f"every value of the submission is that of node {node.node}", node=node.node)
    for node in traces.earlier_nodes[-MOST_NODES:]:
        try:
            values = traces.submitted_by(node.submission)
        except InvalidSubmission:
            continue  # it is gone, or was invalid
        if same_values(traces.submitted, values, labels=labels):
            return suspicious(guard, f"every value of the submission is that of node {node.node}", node=node.node)
    sentence = f"it resembles none of {copy.file_count} public files and {len(traces.earlier_nodes)} other nodes"
    return guard_passed(guard, sentence, public=copy.file_count, nodes=len(traces.earlier_nodes))

"""Checks whether a file for submission is valid, and whether it is the same as a public one or another node's."""

import filecmp
from pathlib import Path

import numpy as np

from bot.evaluation.answers import PublicCopy
from bot.evaluation.answers.findings import GuardFinding, guard_passed, spoiling, suspicious
from bot.evaluation.guards.scores import repeats_latest
from bot.evaluation.guards.traces import Traces
from bot.evaluation.metrics.arrays import Values
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


def check_file(file: Path, view_dir: Path, outputs: Path | None, card: TaskCard) -> PublicCopy:
    """Validate a file, and look for it among public ones: the sample submission, others of the competition's data, and outputs.

    The view's sample_submission.csv defines a valid file; `outputs` is a folder with files that public kernels have written.

    Raises InvalidSubmission: the site would not take it; the text gives the reason.
    """
    own_values = read_submission(file, view_dir / "sample_submission.csv", card)[1]
    return public_copy(own_values, view_dir, outputs, card)


def public_copy(own_values: Values, view_dir: Path, outputs: Path | None, card: TaskCard) -> PublicCopy:
    """Look for predictions of the test rows (rows, prediction columns) among public files; see `check_file`."""
    sample = view_dir / "sample_submission.csv"
    ids = read_table(sample).keys(card.row_columns)
    labels = prediction_kind(card) != "number"
    folders = [view_dir, *([outputs] if outputs is not None and outputs.is_dir() else [])]
    files = [(folder, path) for folder in folders for path in sorted(folder.rglob("*.csv"))]
    file_count = 0
    for folder, path in files:
        if path.name in _OWN_FILES or not _may_be_one(path, card):
            continue
        try:
            public = read_truth(path, ids, card, OF_OTHERS)
        except InvalidSubmission:
            continue  # of other rows, or without values
        file_count += 1
        if (likeness := _likeness(own_values, public, labels=labels)) is not None:
            # Below its folder, which for an output names its kernel.
            name = path.relative_to(folder).as_posix()
            return PublicCopy(
                f"{likeness} {'the sample submission' if path == sample else f'the public file {name}'}", file_count
            )
    return PublicCopy(None, file_count)


def _may_be_one(path: Path, card: TaskCard) -> bool:
    try:
        with open_rows(path, OF_OTHERS) as rows:
            return set(card.columns) <= set(rows.header)
    except InvalidSubmission:
        return False


def _likeness(own_values: Values, public_values: Values, *, labels: bool) -> str | None:
    """Return how two files are the same; None if they are not."""
    equal = _equal_share(own_values, public_values, labels=labels)
    if equal == 1.0:
        return "every value is the same as in"
    # A good file may share nearly all values with a constant one, as with rare classes.
    if equal > SAME_CELLS and not _constant(public_values):
        return f"{equal:.2%} of the values are the same as in"
    if labels or len(own_values) < 2:
        return None
    correlations = [spearman(a, b) for a, b in zip(own_values.T, public_values.T, strict=True)]
    if all(correlation is not None and correlation >= SAME_ORDER for correlation in correlations):
        return "all rows are in the same order as in"
    return None


def _constant(values: Values) -> bool:
    return bool((values == values[:1]).all())


def _equal_share(own_values: Values, public_values: Values, *, labels: bool) -> float:
    if labels:
        return equal_labels(own_values, public_values)
    spread = np.ptp(np.vstack([own_values, public_values]), axis=0)
    return float((np.abs(own_values - public_values) <= _CLOSE * np.maximum(spread, 1e-12)).mean())


def sketch_script(text: str) -> tuple[str, str, str] | None:
    """Return a script's `scrapers.posts.sketches.Sketch`, None for one without a word.

    Returns:
        The SHA-256, and the signatures of code and prose in hex, empty where there is too little.
    """
    sketch = sketch_of(text, "kernel", "script")
    return None if sketch is None else (sketch.sha256, (sketch.code or b"").hex(), (sketch.prose or b"").hex())


MOST_NODES = 20
"""Latest nodes whose files are compared value by value; of all others byte by byte."""


def copied_submission(guard: str, traces: Traces) -> GuardFinding:
    """Compare the submission with public files, which may not be submitted, and with those of earlier nodes."""
    view = traces.view
    copy = public_copy(traces.submitted, view.folder, None, view.card)
    if copy.copied is not None and not repeats_latest(traces):
        return spoiling(guard, f"in the submission, {copy.copied}")
    labels = prediction_kind(view.card) != "number"
    for node in traces.earlier_nodes:
        if node.submission.is_file() and filecmp.cmp(traces.submission, node.submission, shallow=False):
            return suspicious(guard, f"the submission shares all values with node {node.node}", node=node.node)
    for node in traces.earlier_nodes[-MOST_NODES:]:
        try:
            values = traces.submitted_by(node.submission)
        except InvalidSubmission:
            continue  # it is gone, or was invalid
        if _equal_share(traces.submitted, values, labels=labels) > SAME_CELLS and not _constant(values):
            return suspicious(guard, f"the submission shares nearly all values with node {node.node}", node=node.node)
    sentence = f"it resembles none of the {copy.file_count} public files and {len(traces.earlier_nodes)} other nodes"
    return guard_passed(guard, sentence, public=copy.file_count, nodes=len(traces.earlier_nodes))

"""Copied submission: the same as the sample, as a public file, or as another node's."""

import filecmp

from bot.evaluation.answers.findings import Finding, passed, spoiling, suspicious
from bot.evaluation.guards.copies import public_copy, same_values
from bot.evaluation.guards.traces import Traces
from bot.evaluation.metrics.registry import prediction_kind
from state.errors import InvalidSubmission

MOST_NODES = 20
"""Latest nodes whose files are compared value by value; of all others byte by byte."""


def copied_submission(guard: str, traces: Traces) -> Finding:
    """Compare the submission with public files, which may not be submitted, and with those of earlier nodes."""
    view = traces.view
    found = public_copy(traces.submitted, view.folder, traces.public, view.card)
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

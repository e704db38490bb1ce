"""Find the metric of a prepared competition: with many rows, the search runs on a sample and is confirmed on all rows."""

import contextlib
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bot.evaluation.metrics.registry import METRICS
from bot.evaluation.tables.csv_table import read_table, write_table
from bot.research.metric_search.grade_calls import FoundMetric, MetricQuestion, grader_of
from bot.research.metric_search.search import Candidate, MetricSearch, TrialTable, same, search_result
from bot.research.metric_search.trial_submissions import Cells, numbers, trials
from scrapers.snapshots.card import OWN_GRADER
from scrapers.snapshots.tables import Repeats, row_key
from state.errors import Problem, SnapshotError, UnsupportedLayout

MAX_ROWS = 5_000
"""Maximum rows of a search; of more rows, this many are sampled."""
MAX_CELLS = 200_000
"""Maximum cells of these rows in all prediction columns: twenty submissions are held in memory as text."""
_MIN_ROWS = 1_000
_CONFIRMED = 4
"""Submissions of all rows that confirm a metric found on a sample of rows."""
_SEED = 7


def find_metric(question: MetricQuestion, max_rows: int = MAX_ROWS) -> FoundMetric:
    """Compare the metrics of the registry with a competition's own grader on submissions made of its answers.

    The sample submission has the rows of the answers; of those that are alike in the key, in the same order.

    Raises:
        SnapshotError: the grader cannot be used, scores too little, or contradicts the leaderboard; or a table cannot be read.
    """
    if question.truth is None:
        return _by_sample_alone(question)
    grader, answers, sample = question.grader, question.answers, question.sample
    try:
        all_rows = _submissions(question.truth, sample, question.key)
    except UnsupportedLayout as error:
        raise SnapshotError([Problem(sample.name, None, str(error))]) from error
    max_rows = min(max_rows, max(_MIN_ROWS, MAX_CELLS // all_rows.truth.shape[1]))
    with tempfile.TemporaryDirectory(prefix="metric-") as folder:
        scratch = Path(folder)
        is_large_csv = len(all_rows.ids) > max_rows and answers.suffix.lower() == ".csv"
        if is_large_csv and set(all_rows.key) <= set(read_table(answers).header):
            row_numbers = np.random.default_rng(_SEED).choice(len(all_rows.ids), max_rows, replace=False)
            keys = {all_rows.ids[row] for row in row_numbers}
            sampled = np.array([row for row, id in enumerate(all_rows.ids) if id in keys])
            part = _part_of(answers, all_rows.key, keys, scratch)
            try:
                return _on_a_part(question, part, all_rows, sampled, scratch)
            except _RefusesParts:
                pass
        # JSON Lines may allow several right predictions for a row (tensorflow2-question-answering), of which the truth has
        # one: then trial submissions cannot rule out a metric.
        metrics = () if answers.suffix.lower() == ".jsonl" else tuple(METRICS.values())
        with grader_of(grader, answers) as call:
            search = MetricSearch(all_rows, call, scratch, metrics)
            return search_result(search, search.run(), question.board_lower_is_better)


def _by_sample_alone(question: MetricQuestion) -> FoundMetric:
    """Leave the scores to the grader, without submissions made from the answers; the direction is the leaderboard's."""
    table = read_table(question.sample)
    columns = [name for name in table.header if name not in question.key]
    with grader_of(question.grader, question.answers) as call:
        answer = call(question.sample)
    if answer.score is None:
        raise SnapshotError([Problem(OWN_GRADER, None, f"gives no score for the sample submission: {answer.fault}")])
    if question.board_lower_is_better is None:
        reason = (
            "does not show whether lower scores are better, and neither the answers nor the leaderboard's order does"
        )
        raise SnapshotError([Problem(OWN_GRADER, None, reason)])
    kind = "text" if numbers(_cells(table.columns(columns), len(columns))) is None else "number"
    return FoundMetric(
        name=OWN_GRADER,
        direction="minimize" if question.board_lower_is_better else "maximize",
        explanation=f"{OWN_GRADER} scores submissions because the true values are unknown; the leaderboard shows the direction",
        params={"predictions": kind},
        notes=(f"{OWN_GRADER} gives the sample submission a score of {answer.score:.6g}",),
    )


class _RefusesParts(Exception):
    """The grader does not score a part of the rows."""


def _on_a_part(
    question: MetricQuestion, part: Path, all_rows: TrialTable, sampled: NDArray[np.int64], scratch: Path
) -> FoundMetric:
    rows = replace(
        all_rows,
        rows=[all_rows.rows[row] for row in sampled],
        truth=all_rows.truth[sampled],
        sample=all_rows.sample[sampled],
    )
    with grader_of(question.grader, part) as call:
        search = MetricSearch(rows, call, scratch)
        try:
            candidates = search.run()
        except SnapshotError as error:
            raise _RefusesParts from error
    candidates, note = _confirmed(question.grader, question.answers, all_rows, candidates, scratch)
    result = search_result(search, candidates, question.board_lower_is_better)
    return replace(result, notes=(*result.notes, f"compared on {len(rows.ids):,} of {len(all_rows.ids):,} rows{note}"))


def _confirmed(
    grader: Path, answers: Path, all_rows: TrialTable, candidates: Sequence[Candidate], scratch: Path
) -> tuple[list[Candidate], str]:
    if not candidates:
        return [], ""
    with grader_of(grader, answers) as call, contextlib.suppress(SnapshotError):  # too slow or too large on all rows
        search = MetricSearch(all_rows, call, scratch)
        for trial in trials(all_rows.truth, all_rows.sample, np.random.default_rng(_SEED)):
            if search.ask(trial) and len(search.answers) == _CONFIRMED:
                break
    confirmed = [
        candidate
        for candidate in candidates
        if all(same(candidate.score(all_rows.perfect, trial), score) for trial, score in search.answers)
    ]
    if len(search.answers) < 2:
        return [], f"; {candidates[0]} agreed on these rows, but too few submissions with all rows were scored"
    if not confirmed:
        return [], f"; {candidates[0]} agreed on these rows, but not on all rows"
    return confirmed, f", and on {len(search.answers)} submissions with all rows"


def _submissions(truth: Path, sample: Path, key: tuple[str, ...]) -> TrialTable:
    sample_table, true = read_table(sample), read_table(truth)
    columns = [name for name in sample_table.header if name not in key]
    answer_counts, sample_counts, rows = Repeats(), Repeats(), sample_table.columns(key)
    answers = dict(zip(map(answer_counts.numbered, true.keys(key)), true.columns(columns), strict=True))
    return TrialTable(
        header=sample_table.header,
        key=key,
        rows=rows,
        truth=_cells([answers[sample_counts.numbered(row_key(cells))] for cells in rows], len(columns)),
        sample=_cells(sample_table.columns(columns), len(columns)),
    )


def _cells(rows: Sequence[Sequence[str]], columns: int) -> Cells:
    array = np.empty((len(rows), columns), dtype=object)
    for place, row in enumerate(rows):
        array[place] = row
    return array


def _part_of(answers: Path, key: Sequence[str], keys: set[str], scratch: Path) -> Path:
    table = read_table(answers)
    places = [table.header.index(name) for name in key]
    part = scratch / "answers.csv"
    write_table(part, table.header, (row for row in table.rows() if row_key([row[place] for place in places]) in keys))
    return part

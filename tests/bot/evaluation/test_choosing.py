"""Choosing: the best on all rows together is first, fewer rows count for less unless by design, the faster is first in a tie."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from bot.evaluation.answers.blends import CandidateRanking
from bot.evaluation.choosing import ComparedRows, choose
from bot.evaluation.metrics.registry import metric_named
from bot.evaluation.scoring.registry_scorer import _Values
from bot.evaluation.scoring.scored_rows import ScoredRows
from bot.evaluation.scoring.truth import PredictionSet
from tests.bot.evaluation.parts import card

ROWS = 600
RNG = np.random.default_rng(3)
HARD = RNG.normal(0, 2, ROWS)


def part(
    name: str, errors: Mapping[int, NDArray[np.float64]], metric: str = "mae", units: Sequence[int] = ()
) -> ComparedRows:
    """Return rows whose truth is 0, and candidates with these errors."""
    rows, labels, task = np.arange(len(next(iter(errors.values())))), np.zeros((ROWS, 1)), card(metric)
    truth = _Values(task, metric_named(metric), Path("none"), [str(n) for n in rows], labels)
    unit = np.repeat(np.arange(len(units)), units) if units else rows
    scored = ScoredRows(task, truth, rows, Path("none"), labels, unit)
    return ComparedRows(
        name, scored, {node: PredictionSet(str(node), one.reshape(-1, 1)) for node, one in errors.items()}, 0
    )


def chosen(
    *parts: ComparedRows,
    seconds: Mapping[int, float] | None = None,
    blends: Collection[int] = (),
    stacks: Collection[int] = (),
    on_all_rows: Collection[int] = (),
) -> CandidateRanking:
    nodes = {node for one in parts for node in one.predictions}
    seconds = seconds or dict.fromkeys(nodes, 1.0)
    return choose(parts, seconds, blends, stacks, on_all_rows, lower_is_better=True)


def own(spread: float = 0.3) -> NDArray[np.float64]:
    return RNG.normal(0, spread, ROWS)


def test_all_parts_together_decide_and_not_the_first_alone() -> None:
    a, b = HARD + own(), HARD + own()
    found = chosen(part("holdout", {1: a, 2: b * 1.01}), part("final", {1: a * 1.2, 2: b}))
    assert found.order == (2, 1)
    one = found.evidence[1]
    assert one.mean == pytest.approx((one.scores["holdout"][0] + one.scores["final"][0]) / 2)
    assert one.gain < 0 and one.gain == pytest.approx(found.evidence[2].mean - one.mean)


def test_what_is_made_on_all_rows_is_chosen_unless_another_is_better_by_more_than_luck() -> None:
    one, other = HARD, HARD + own()
    other *= np.abs(one).mean() / np.abs(other).mean()
    error = chosen(part("holdout", {1: one, 2: other})).evidence[2].error
    assert error is not None and error > 0
    for better, first in ((0.5, 2), (1.0, 1)):
        parts = part("holdout", {1: np.abs(one) - better * error, 2: other})
        assert chosen(parts).order[0] == 1
        assert chosen(parts, on_all_rows=[2]).order[0] == first


def test_a_difference_is_paired_by_row() -> None:
    found = chosen(part("holdout", {1: HARD, 2: HARD * 1.05}))
    assert found.evidence[2].error is not None
    assert found.evidence[2].error < 0.1 * np.abs(HARD).std() / np.sqrt(ROWS)
    assert found.evidence[1].error == 0.0


def test_who_was_scored_on_fewer_rows_must_be_better_by_more_than_one_standard_error() -> None:
    a, noise = HARD + own(), np.random.default_rng(5).normal(0, 0.5, ROWS)
    thin = np.abs(a + noise)
    thin *= np.abs(a).mean() / thin.mean()
    for better, first in ((0.001, 1), (0.3, 2)):
        found = chosen(part("holdout", {1: a, 2: thin - better}), part("out of fold", {1: a}))
        two = found.evidence[2]
        assert two.gain > 0
        assert two.worth == pytest.approx(two.gain - two.error)
        assert found.order[0] == first
    even = chosen(part("holdout", {1: a, 2: thin - 0.001}), part("out of fold", {1: a, 2: a}))
    assert even.order[0] == 2, "as many rows as the other: the mean decides"
    stack = chosen(part("holdout", {1: a, 2: thin - 0.001}), part("out of fold", {1: a}), stacks={2})
    assert stack.order[0] == 2, "a stack has no score out of fold by design"


def test_a_blend_is_chosen_unless_a_script_is_better_by_three_quarters_of_a_standard_error() -> None:
    a, noise = HARD + own(), np.random.default_rng(5).normal(0, 0.5, ROWS)
    blend = np.abs(a + noise)
    blend *= np.abs(a).mean() / blend.mean()
    error = chosen(part("holdout", {1: a, 9: blend}), blends={9}).evidence[9].error
    assert error is not None
    for worse, first in ((-0.1 * error, 9), (0.6 * error, 9), (0.9 * error, 1)):
        holdout = part("holdout", {1: a, 2: a * 1.5, 9: blend + worse})
        for parts in ([holdout], [holdout, part("out of fold", {1: a})]):
            found = chosen(*parts, blends={9})
            assert found.evidence[9].gain == pytest.approx(-worse, rel=0.01)
            assert found.order[0] == first
        assert chosen(holdout).order[0] == (9 if worse < 0 else 1), "a script has no such start"


def test_the_faster_is_first_at_equal_score() -> None:
    found = chosen(part("holdout", {1: HARD, 2: HARD.copy()}), seconds={1: 9.0, 2: 3.0})
    assert found.order == (2, 1)


def test_what_belongs_together_is_drawn_together() -> None:
    bad = np.repeat(np.random.default_rng(1).normal(1, 1, 20), 30)
    alone = chosen(part("holdout", {1: bad * 0.0, 2: bad}))
    grouped = chosen(part("holdout", {1: bad * 0.0, 2: bad}, units=[30] * 20))
    assert grouped.evidence[2].error > 3 * alone.evidence[2].error
    assert grouped.order == alone.order == (1, 2)


def test_a_metric_that_is_no_mean_is_drawn() -> None:
    errors = {1: HARD, 2: HARD + own()}
    found = chosen(part("holdout", errors, "median_absolute_error"))
    assert found.evidence[found.order[1]].error > 0


def test_a_candidate_without_a_score_on_the_first_part_is_left_out() -> None:
    found = chosen(part("holdout", {1: HARD}), part("final", {1: HARD, 2: HARD * 0.5}))
    assert found.order == (1,) and found.evidence.keys() == {1}
    constant = part("holdout", {1: HARD}, "roc_auc")
    assert chosen(constant).order == (), "all rows are of one class"


def test_a_truth_of_whole_files_alone_is_compared_without_noise() -> None:
    one = part("holdout", {1: HARD, 2: HARD * 0.9})
    truth = replace(one.rows.truth, ids=None)
    whole = replace(one.rows, truth=truth, units=np.empty(0, dtype=np.int64), card=card("median_absolute_error"))
    found = chosen(replace(one, rows=whole))
    assert found.order == (2, 1) and found.evidence[1].error is None


@pytest.mark.integration
@settings(max_examples=20)
@given(st.permutations([1, 2, 3, 4]))
def test_the_numbers_of_candidates_change_nothing(numbers: list[int]) -> None:
    errors = [HARD, HARD * 1.03, HARD + 0.2, HARD * 0.98]
    plain = chosen(part("holdout", dict(enumerate(errors, 1))))
    other = chosen(part("holdout", dict(zip(numbers, errors, strict=True))))
    assert other.order == tuple(numbers[node - 1] for node in plain.order)

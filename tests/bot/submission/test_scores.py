"""The relation of two series of scores: the same rank correlation as scipy's, and a warning where it is none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from bot.submission.scores import Choice, ScorePair, choose, correlate


def pairs(*scores: tuple[float, float]) -> list[ScorePair]:
    return [ScorePair(f"t{number}", validation, public) for number, (validation, public) in enumerate(scores)]


def test_few_pairs_give_no_warning() -> None:
    assert correlate([]).correlation is None
    found = correlate(pairs((0.1, 0.5), (0.2, 0.4), (0.3, 0.3)))
    assert (found.pairs, found.correlation, found.warning) == (3, pytest.approx(-1.0), None)


def test_a_relation_that_is_none_is_warned_of() -> None:
    good = correlate(pairs(*((n / 10, n / 10 + 0.01) for n in range(6))))
    assert (good.correlation, good.warning) == (pytest.approx(1.0), None)
    bad = correlate(pairs(*((n / 10, (n * 3) % 7) for n in range(6))))
    assert bad.warning is not None and "of 6 submissions" in bad.warning
    flat = correlate(pairs(*((n / 10, 0.5) for n in range(6))))
    assert flat.correlation is None and flat.warning is not None


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=20))
def test_the_correlation_is_spearmans(scores: list[tuple[int, int]]) -> None:
    left, right = zip(*scores, strict=True)
    found = correlate(pairs(*scores)).correlation
    if len(set(left)) == 1 or len(set(right)) == 1:
        assert found is None
    else:
        assert found == pytest.approx(spearmanr(left, right).statistic, abs=1e-9)


def test_the_conservative_and_the_risky_pick_are_proposed_where_there_are_no_public_scores() -> None:
    sure, middling, bold = (Choice(tag, number, None, score) for number, (tag, score) in enumerate(SCORES))
    errors = {"sure": 0.01, "middling": 0.01, "bold": 0.2}
    assert choose([bold, middling, sure], errors, lower_is_better=False) == [sure, bold]
    assert choose([bold, middling, sure], {}, lower_is_better=True) == [bold, middling]
    assert choose([], {}, lower_is_better=False) == []


def test_a_public_score_decides_on_the_first_file() -> None:
    sure, middling, bold = (
        Choice(tag, number, 0.5 if tag == "middling" else None, score) for number, (tag, score) in enumerate(SCORES)
    )
    assert choose([bold, middling, sure], {"bold": 0.2}, lower_is_better=False) == [middling, bold]


SCORES = (("sure", 0.8), ("middling", 0.75), ("bold", 0.7))

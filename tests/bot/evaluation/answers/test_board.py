import math
from bisect import bisect_left, bisect_right
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.evaluation.answers.board import (
    MedalStanding,
    board_is_lower_better,
    medal_positions,
    read_leaderboard,
    standing,
    thresholds,
)
from state.errors import SnapshotError
from tests.bot.evaluation.parts import write


def exact_positions(teams):
    """Kaggle's table of medals, truncated, in exact fractions."""

    def part(share):
        return max(1, math.floor(teams * Fraction(share)))

    if teams < 100:
        return part("1/10"), part("1/5"), part("2/5")
    if teams < 250:
        return 10, part("1/5"), part("2/5")
    if teams < 1000:
        return 10 + math.floor(teams * Fraction("1/500")), 50, 100
    return 10 + math.floor(teams * Fraction("1/500")), part("1/20"), part("1/10")


@settings(max_examples=100)
@given(st.integers(1, 100_000))
def test_positions_are_truncated_as_exact_fractions_are(teams):
    assert medal_positions(teams) == exact_positions(teams)


@pytest.mark.parametrize(
    ("teams", "positions"),
    [
        (1, (1, 1, 1)),
        (99, (9, 19, 39)),
        (100, (10, 20, 40)),
        (249, (10, 49, 99)),
        (250, (10, 50, 100)),
        (999, (11, 50, 100)),
        (1000, (12, 50, 100)),
        (3242, (16, 162, 324)),
    ],
)
def test_positions_at_the_edges_of_the_size_classes(teams, positions):
    assert medal_positions(teams) == positions


CLASSES = (1, 2, 5, 9, 10, 99, 100, 249, 250, 999, 1000, 5000)
SHAPES = {
    "distinct": lambda place, teams: place,
    "pairs": lambda place, teams: place // 2,
    "tied at the top": lambda place, teams: max(0, place - teams // 3),
    "tied at the bottom": lambda place, teams: min(place, teams // 2),
    "steps of ten": lambda place, teams: place // 10,
    "constant": lambda place, teams: 0,
}


def decimal_board(shape, teams, lower):
    """Scores as a board's file has them, best first: six digits, in decimal, which binary cannot hold exactly."""
    steps = [SHAPES[shape](place, teams) for place in range(teams)]
    return [f"{0.1 + step / 1e6 if lower else 0.9 - step / 1e6:.6f}" for step in steps]


def millionths(text, lower):
    """A score as a whole number, greater if better."""
    exact = Fraction(text) * 10**6
    assert exact.denominator == 1
    return -exact.numerator if lower else exact.numerator


def by_rank(ascending, score):
    """Medal, above the median and share of beaten, by counting who is better and worse."""
    teams = len(ascending)
    worse, better = bisect_left(ascending, score), teams - bisect_right(ascending, score)
    if teams < 250:
        last = (10 if teams >= 100 else teams // 10 or 1, teams // 5 or 1, teams * 2 // 5 or 1)
    else:
        last = (10 + teams // 500, *((50, 100) if teams < 1000 else (teams // 20, teams // 10)))
    medal = next((name for name, rank in zip("gsb", last, strict=True) if better < rank), "")
    twice_median = ascending[(teams - 1) // 2] + ascending[teams // 2]
    return medal, 2 * score > twice_median, Fraction(worse, teams)


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("teams", CLASSES)
def test_every_class_of_board_gives_what_counting_ranks_gives(teams, shape, lower):
    texts = decimal_board(shape, teams, lower)
    board = [float(text) for text in texts]
    tied = texts[0] == texts[-1]
    assert board_is_lower_better(board) == (lower and not tied)
    ascending = sorted(millionths(text, lower) for text in texts)
    ranks = (*exact_positions(teams), teams // 2, teams // 2 + 1, teams)
    lines = {texts[rank - 1] for rank in ranks if 0 < rank <= teams}
    for score in {f"{float(line) + shift:.6f}" for line in lines for shift in (-1e-6, 0, 1e-6)}:
        stands = standing(board, float(score), lower_is_better=lower)
        medal, above, beaten = by_rank(ascending, millionths(score, lower))
        won = (stands.gold_medal, stands.silver_medal, stands.bronze_medal)
        assert won == tuple(medal == name for name in "gsb")
        assert (stands.any_medal, stands.above_median) == (bool(medal), above)
        assert stands.win_rate == float(beaten)


def test_what_is_no_number_stands_nowhere():
    for lower in (True, False):
        assert standing([3.0, 2.0, 1.0], float("nan"), lower_is_better=lower) == MedalStanding()


def test_a_tied_board_counts_as_higher_is_better():
    assert not board_is_lower_better([1.0, 0.5, 1.0])
    assert board_is_lower_better([0.1, 0.2])


def test_ties_do_not_count_as_beaten_and_the_median_must_be_exceeded():
    stands = standing([3.0, 2.0, 2.0, 1.0], 2.0, lower_is_better=False)
    assert (stands.win_rate, stands.above_median) == (0.25, False)


def test_thresholds_of_a_small_board():
    limits = thresholds([float(n) for n in range(10, 0, -1)])
    assert (limits.gold, limits.silver, limits.bronze, limits.median) == (10.0, 9.0, 7.0, 5.5)


def test_a_board_is_read_by_its_score_column(tmp_path):
    path = write(tmp_path / "leaderboard.csv", ["rank", "score"], [[1, "0.10"], [2, "0.5"]])
    assert read_leaderboard(path) == (0.10, 0.5)


@pytest.mark.parametrize(
    ("header", "rows", "message"),
    [
        (["points"], [["1"]], r"leaderboard.csv:1: .*`score`"),
        (["score"], [["1"], ["x"]], r"leaderboard.csv:3: .*not a finite number"),
        (["score"], [["nan"]], "not a finite number"),
        (["score"], [["0.5"], ["-inf"]], r"leaderboard.csv:3: .*not a finite number"),
        (["score"], [["0.5"], [""]], r"leaderboard.csv:3: .*not a finite number"),
        (["score"], [], "no scores"),
    ],
)
def test_a_broken_board_is_named_with_its_line(tmp_path, header, rows, message):
    with pytest.raises(SnapshotError, match=message):
        read_leaderboard(write(tmp_path / "leaderboard.csv", header, rows))

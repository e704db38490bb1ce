"""Paired differences: the size and the power of their test, and the laws it obeys."""

import random
from itertools import product
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.research.compare.paired_tests import LEVEL, MIN_COMPETITIONS, chance, corrected, difference, interval
from tests.bot.research.compare.simulated import rates

BENCHES = 400
UNITS = st.lists(st.integers(-50, 50).map(float), min_size=1, max_size=9)


def drawn(rng: random.Random, skill: float = 0.0, **more: object) -> dict[str, list[float]]:
    """Draw the paired differences of two agents, the first better by its skill."""
    found = rates({"one": skill, "other": 0.0}, rng, **more)
    return {name: [a - b for a, b in zip(two["one"], two["other"], strict=True)] for name, two in found.items()}


def test_two_agents_of_equal_skill_differ_at_5_percent_in_about_5_percent_of_benches() -> None:
    rng = random.Random(11)
    benches = [drawn(rng) for _ in range(BENCHES)]
    # Only what the test finds unlikely can be settled; the interval, which takes longer, is asked for the rest of them.
    unlikely = [one for one in benches if chance([fmean(each) for each in one.values()]) < LEVEL]
    settled = [one for one in map(difference, unlikely) if one.settled]
    # Two standard errors of a share of 5% in so many benches are 2.2%.
    assert 0.025 <= len(settled) / BENCHES <= 0.075
    assert {one.mean > 0 for one in settled} == {True, False}, "either may be the one that seems better"


@pytest.mark.integration
def test_intervals_hold_what_is_true_in_about_95_percent_of_benches() -> None:
    rng, wrong = random.Random(14), 0
    for _ in range(100):
        found = difference(drawn(rng))
        assert found.low is not None and found.high is not None
        wrong += not found.low <= 0 <= found.high
    assert 1 <= wrong <= 10


def test_an_agent_that_is_better_wins_nearly_every_bench() -> None:
    rng = random.Random(12)
    found = [difference(drawn(rng, skill=0.2)) for _ in range(20)]
    assert sum(one.settled and one.mean > 0 for one in found) == 20


def test_of_four_equal_agents_hardly_ever_one_is_said_to_beat_another() -> None:
    rng, names, wrong = random.Random(13), ("a", "b", "c", "d"), 0
    for _ in range(BENCHES // 2):
        found = rates(dict.fromkeys(names, 0.0), rng, seeds=1)
        pairs = [(one, other) for one, other in product(names, names) if one < other]
        units = [[two[one][0] - two[other][0] for two in found.values()] for one, other in pairs]
        wrong += min(corrected([chance(each) for each in units], len(units))) < LEVEL
    assert wrong / (BENCHES // 2) <= 0.08


@pytest.mark.parametrize("spread", [1.0, 1.5])
def test_a_difference_is_settled_in_about_four_of_five_benches_on_as_many_competitions_as_it_needs(
    spread: float,
) -> None:
    known = difference({"one": [1.0 - spread / 2**0.5], "other": [1.0 + spread / 2**0.5]})
    needed = known.competitions_needed(1)
    assert needed is not None
    rng = random.Random(15)
    benches = [[rng.gauss(1.0, spread) for _ in range(needed)] for _ in range(150)]
    # Two standard errors of a share of 80% in so many benches are 6.5%.
    assert 0.73 <= sum(chance(units) < LEVEL for units in benches) / len(benches) <= 0.9


@pytest.mark.parametrize("competitions", range(1, MIN_COMPETITIONS))
def test_fewer_than_six_competitions_settle_nothing_however_large_the_difference(competitions: int) -> None:
    found = difference({str(number): [0.9] * 50 for number in range(competitions)})
    assert not found.settled
    if competitions > 1:
        assert found.low is None
        assert found.chance >= LEVEL
    six = difference({str(number): [0.5 + number / 100] for number in range(MIN_COMPETITIONS)})
    assert six.settled, "six may"


def test_the_seeds_of_a_single_competition_tell_of_that_one_alone() -> None:
    found = difference({"wine": [0.1, 0.12, 0.09, 0.11, 0.1, 0.12, 0.1]})
    assert found.low is not None
    assert found.low > 0
    assert found.chance < LEVEL
    assert not found.settled


@given(UNITS)
def test_the_chance_counts_all_ways_to_give_differences_their_signs(units: list[float]) -> None:
    sums = [sum(s * u for s, u in zip(signs, units, strict=True)) for signs in product((1, -1), repeat=len(units))]
    assert chance(units) == pytest.approx(sum(abs(total) >= abs(sum(units)) for total in sums) / len(sums))


@given(UNITS, st.floats(0.01, 100), st.randoms())
def test_the_chance_is_the_same_turned_round_scaled_and_in_another_order(
    units: list[float], scale: float, rng: random.Random
) -> None:
    shuffled = rng.sample(units, k=len(units))
    assert chance([-scale * unit for unit in shuffled]) == pytest.approx(chance(units))


def test_where_signs_are_drawn_the_chance_is_about_that_of_all_of_them() -> None:
    units = [random.Random(3).gauss(0.3, 1) for _ in range(14)]
    assert chance([*units, 0.0]) == pytest.approx(chance(units), abs=0.015), "a difference of 0 changes nothing"


def test_the_same_pairs_give_the_same_figures() -> None:
    pairs = drawn(random.Random(5))
    assert difference(pairs) == difference(dict(reversed(pairs.items())))


@settings(max_examples=25)
@given(st.lists(st.floats(-1, 1), min_size=MIN_COMPETITIONS, max_size=12))
def test_an_interval_lies_within_its_units_and_holds_their_mean(units: list[float]) -> None:
    low, high = interval(units)
    mean = sum(units) / len(units)
    assert min(units) - 1e-9 <= low <= mean + 1e-9
    assert mean - 1e-9 <= high <= max(units) + 1e-9


def test_holms_correction_is_that_of_the_textbook() -> None:
    assert corrected([0.01, 0.04, 0.03], 3) == pytest.approx([0.03, 0.06, 0.06])
    assert corrected([0.9, 0.8], 2) == pytest.approx([1.0, 1.0])
    assert corrected([0.02], 1) == [0.02]
    assert corrected([0.01, 0.04], 3) == pytest.approx([0.03, 0.08]), "one has no runs yet"

"""Paired differences between two contenders: their mean, an interval by bootstrap over competitions, and a test.

Competitions are the units: the question is how the two would compare on others of the kind, which more seeds of one competition
do not answer. A drawn competition keeps its pairs: drawing pairs again would count their noise twice, as the spread between
competitions contains it (Davison and Hinkley 1997, Bootstrap Methods and Their Application, section 3.8). Results are the same
at each call.
"""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import NormalDist, fmean, stdev

LEVEL = 0.05
"""Two contenders differ if chance alone makes as large a difference in fewer than this share of cases."""
MIN_COMPETITIONS = 6
"""Competitions below which no difference can be settled, and no interval is given: equal contenders would have five differences
of the same sign in 2 of 32 cases, which is 6%."""
_POWER = 0.8
_DRAWS = 4000
_EXACT = 14
"""Units up to which all assignments of signs are counted (8,192 by symmetry); with more, that many are sampled."""
_SEED = 20_210


@dataclass(frozen=True)
class Difference:
    """How much one contender has more than another of something, over the competitions that both have."""

    mean: float
    """Of the competitions' means."""
    low: float | None
    high: float | None
    """Ends of the 95% interval; None: there are too few units."""
    chance: float
    """Probability of a difference at least as large, either way, if the two were equal."""
    by_competition: Mapping[str, float]
    """The mean difference in each competition."""
    pairs: int
    """Runs of one with a run of the other, of one competition and seed."""

    @property
    def competitions(self) -> int:
        """How many competitions there are."""
        return len(self.by_competition)

    def competitions_needed(self, comparisons: int) -> int | None:
        """Return on how many competitions a difference of this size is significant with a probability of 80%; None: unknown.

        From the spread between competitions, by the normal approximation with Guenther's correction for few (1981, Sample Size
        Formulas for Normal Theory T Tests); never fewer than the test itself needs.

        Args:
            comparisons: over which chances are corrected.
        """
        if self.competitions < 2 or self.mean == 0:
            return None
        point, power = NormalDist().inv_cdf(1 - LEVEL / (2 * comparisons)), NormalDist().inv_cdf(_POWER)
        by_spread = ((point + power) * stdev(self.by_competition.values()) / self.mean) ** 2 + point**2 / 2
        return max(math.ceil(by_spread), min_competitions(comparisons))

    @property
    def settled(self) -> bool:
        """Whether it is more than chance, and its interval agrees; of a single competition it never is."""
        excludes_zero = self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)
        return self.competitions > 1 and excludes_zero and self.chance < LEVEL


def min_competitions(comparisons: int) -> int:
    """Return the number of competitions below which none of these comparisons can be settled, however large its difference."""
    return math.floor(math.log2(2 * comparisons / LEVEL)) + 1


def difference(pairs: Mapping[str, Sequence[float]]) -> Difference:
    """Return the mean difference, its interval and its test, from the differences of each competition's pairs.

    With a single competition the pairs are the units, so that the interval is of that competition alone.
    """
    means = {competition: fmean(values) for competition, values in sorted(pairs.items())}
    units = list(means.values()) if len(means) > 1 else [value for values in pairs.values() for value in values]
    low, high = interval(units) if len(units) >= MIN_COMPETITIONS else (None, None)
    return Difference(fmean(means.values()), low, high, chance(units), means, sum(map(len, pairs.values())))


def interval(units: Sequence[float]) -> tuple[float, float]:
    """Return the 95% interval of the mean of several units by bootstrap, widened for their small number.

    The percentiles are those at which it has the width of Student's interval if the units are normal: "expanded percentile
    interval", Hesterberg 2015, What Teachers Should Know About the Bootstrap, section 4.3.
    """
    from numpy import quantile  # here: a bench that compares at its end starts without it
    from scipy.special import stdtrit

    rng, count = random.Random(_SEED), len(units)  # noqa: S311 - a bootstrap, no secret
    means = [sum(rng.choices(units, k=count)) / count for _ in range(_DRAWS)]
    share = NormalDist().cdf(-math.sqrt(count / (count - 1)) * stdtrit(count - 1, 1 - LEVEL / 2))
    low, high = quantile(means, (share, 1 - share))
    return float(low), float(high)


def chance(units: Sequence[float]) -> float:
    """Return how often equal contenders would be at least as far apart: the paired permutation test on the sum.

    If two are equal, each unit's difference might as well have the other sign. All assignments of signs are counted, or a
    sample if there are too many. Two-sided.
    """
    if len(units) <= _EXACT:
        # The first unit keeps its sign: the other half mirrors this one.
        sums = [units[0]]
        for unit in units[1:]:
            sums = [total + signed for total in sums for signed in (unit, -unit)]
    else:
        rng = random.Random(_SEED)  # noqa: S311 - as above
        sums = [sum(unit * rng.choice((1, -1)) for unit in units) for _ in range(2**_EXACT // 2)]
        sums.append(sum(units))
    # Sums of the same numbers in another order may differ in their last digits.
    threshold = abs(sum(units)) - 1e-9 * sum(map(abs, units))
    return sum(abs(total) >= threshold for total in sums) / len(sums)


def corrected(chances: Sequence[float], comparisons: int) -> list[float]:
    """Return the chances of several tests, corrected by Holm's method for the number of comparisons, those to come included."""
    order = sorted(range(len(chances)), key=lambda number: chances[number])
    scaled = (min(1.0, (comparisons - place) * chances[number]) for place, number in enumerate(order))
    corrected_chance = dict(zip(order, accumulate(scaled, max), strict=True))
    return [corrected_chance[number] for number in range(len(chances))]

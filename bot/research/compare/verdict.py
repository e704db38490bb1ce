"""Who wins and how surely, and what cannot be concluded: the first sentences of a comparison."""

from bot.report.words import NO_VALUE
from bot.research.compare.comparison import Comparison, Pair
from bot.research.compare.paired_tests import LEVEL, Difference, min_competitions
from bot.research.contender import Contender
from state.words import plural

_MAX_COMPETITIONS = 1_000
"""Numbers from this on are written as `over 1,000`: so many competitions do not exist."""


def points(share: float) -> str:
    """Write a difference of shares in percentage points with its sign, such as `+8.1`, or `+0.03` if it is tiny."""
    text = f"{100 * share:+.{'1f' if not 1e-6 < abs(share) < 5e-4 else '1g'}}"
    return "0.0" if float(text) == 0 else text.replace("-", "\N{MINUS SIGN}")


def interval(difference: Difference) -> str:
    """Write the interval of a difference of shares, in percentage points; empty if there is none."""
    if difference.low is None or difference.high is None:
        return ""
    return f"{points(difference.low)} to {points(difference.high)}"


def percentage(probability: float, equals: str = "") -> str:
    """Write a probability, such as `38%`, `1.2%` or `< 0.1%`; what says that it is equal comes before all others."""
    if probability < 0.001:
        return "< 0.1%"
    return f"{equals}{100 * probability:.{0 if probability >= 0.1 else 1}f}%"


def verdict(comparison: Comparison) -> str:
    """State in one sentence who is better than whom, by how much, and how sure that is."""
    if len(comparison.rows) < 2:
        return f"Only {comparison.title(comparison.leader)} was run, so there is nothing to compare."
    if not comparison.pairs:
        return "Nothing to compare: no two agents ran the same competition with the same seed."
    settled = [pair for pair in comparison.pairs if pair.settled]
    if not settled:
        nearest = (comparison.against_leader or comparison.pairs)[0]
        names = [comparison.title(contender) for contender in (nearest.first, nearest.second)]
        if points(nearest.win_rate.mean) == "0.0":
            return f"{names[0]} is level with {names[1]} ({_certainty(nearest)})."
        count = competitions_needed(comparison, nearest)
        suffix = "" if count == NO_VALUE else f"; confirming a difference of this size takes about {count} competitions"
        return f"{names[0]} is ahead of {names[1]} by {_size(nearest)}, which is not significant{suffix}."
    by_winner: dict[Contender, list[Pair]] = {}
    for pair in settled:
        by_winner.setdefault(pair.first, []).append(pair)
    title, clauses = comparison.title, []
    for winner, pairs in by_winner.items():
        losers = [f"{title(pair.second)} by {_size(pair)}" for pair in pairs]
        clauses.append(f"{title(winner)} is better than {' and '.join(losers)}")
    open_pairs = len(comparison.pairs) - len(settled)
    suffix = f"; {plural(open_pairs, 'other pair')} not significant" if open_pairs else ""
    return f"{'; '.join(clauses)}{suffix}."


def conclusion(comparison: Comparison) -> str:
    """State what the sentence rests on: pairs, competitions, seeds and comparisons."""
    if not comparison.pairs:
        return "There are no pairs to compare."
    seeds, count = len({seed for _, seed in comparison.cells}), comparison.comparisons
    competitions = min(pair.win_rate.competitions for pair in comparison.pairs)
    pairs = sum(pair.win_rate.pairs for pair in comparison.pairs)
    basis = (
        f"Based on {plural(pairs, 'pair')} of runs on {plural(len(comparison.competitions), 'competition')} with "
        f"{plural(seeds, 'seed')}, corrected for {plural(count, 'comparison')}."
    )
    if caution := too_few(competitions, count):
        return f"{basis} {caution} The results hold for these competitions only."
    return f"{basis} The result holds for similar competitions, time limits and models; more seeds would add little."


def too_few(competitions: int, comparisons: int) -> str:
    """Say that no difference can be significant on so few competitions; empty if one can."""
    if not comparisons or competitions >= min_competitions(comparisons):
        return ""
    minimum = min_competitions(comparisons)
    return f"To find a significant difference (at {LEVEL:.0%}), run at least {minimum} competitions or compare fewer pairs."


def competitions_needed(comparison: Comparison, pair: Pair) -> str:
    """Write the number of competitions at which a difference of a pair's size is significant; a dash if unknown."""
    count = pair.win_rate.competitions_needed(comparison.comparisons)
    return NO_VALUE if count is None else f"{count:,}" if count < _MAX_COMPETITIONS else f"over {_MAX_COMPETITIONS:,}"


def _size(pair: Pair) -> str:
    return f"{points(pair.win_rate.mean).removeprefix('+')} percentage points of teams beaten ({_certainty(pair)})"


def _certainty(pair: Pair) -> str:
    if within := interval(pair.win_rate):
        return f"95% interval {within}, p {percentage(pair.chance, '= ')}"
    return f"{plural(pair.win_rate.competitions, 'competition')}, too few for an interval"

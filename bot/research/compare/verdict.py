"""Who wins and how surely, and what cannot be concluded: the sentences that a comparison begins with."""

from collections.abc import Sequence

from bot.research.compare.comparison import Comparison, Pair
from bot.research.compare.paired_tests import FEWEST, LEVEL, Difference
from state.words import plural


def points(share: float) -> str:
    """Write a difference of shares in percentage points with its sign, such as `+8.1`."""
    text = f"{100 * share:+.1f}"
    return "0.0" if float(text) == 0 else text.replace("-", "\N{MINUS SIGN}")


def interval(difference: Difference) -> str:
    """Write the interval of a difference of shares, in percentage points; empty where there is none."""
    if difference.low is None or difference.high is None:
        return ""
    return f"{points(difference.low)} to {points(difference.high)}"


def percentage(probability: float) -> str:
    """Write a probability, such as `38%`, `1.2%` or `less than 0.1%`."""
    if probability < 0.001:
        return "less than 0.1%"
    return f"{100 * probability:.{0 if probability >= 0.1 else 1}f}%"


def verdict(comparison: Comparison) -> str:
    """State who beats whom by how much, or that no difference is significant."""
    if len(comparison.rows) < 2:
        return f"Only {comparison.title(comparison.leader)} was run: there is nothing to compare it with."
    if not comparison.against_leader:
        return "Nothing can be compared: no two agents ran on the same competition with the same seed."
    leader, pairs = comparison.title(comparison.leader), comparison.against_leader
    beaten = [pair for pair in pairs if pair.settled and pair.one == comparison.leader]
    nearest = pairs[0]
    if not beaten:
        size = _size(nearest)
        ahead = "is level with" if size.startswith("0.0 ") else "is ahead of"
        by = f" by {size}" if ahead.endswith("of") else ""
        return f"No significant difference: {leader} {ahead} {_titles(comparison, [nearest])}{by}."
    if len(beaten) == len(pairs):
        count, size = len(pairs) - 1, _size(nearest)
        margin = f", and {plural(count, 'other')}, by {size} at least" if count else f", by {size}"
        return f"{leader} wins: it beats {_titles(comparison, [nearest])}{margin}."
    rivals = _titles(comparison, [pair for pair in pairs if pair not in beaten])
    return f"{leader} leads: it beats {_titles(comparison, beaten)}; its lead over {rivals} is not significant."


def conclusion(comparison: Comparison) -> str:
    """State what can and cannot be concluded: from how many pairs, on how many competitions, and for which others it holds."""
    if not comparison.against_leader:
        return "There are no pairs, so nothing can be concluded."
    nearest = comparison.against_leader[0]
    difference = nearest.win_rate
    seeds = len({seed for _, seed in comparison.cells})
    basis = (
        f"{plural(difference.pairs, 'pair')} of runs on {plural(difference.competitions, 'competition')}"
        f" with {plural(seeds, 'seed')}"
    )
    if difference.competitions == 1:
        return f"By {basis}: nothing can be concluded beyond {next(iter(difference.by_competition))}."
    if difference.competitions < FEWEST:
        return (
            f"By {basis}: with fewer than {FEWEST} competitions no difference can be significant at {LEVEL:.0%}, however large "
            "it is, and there is no interval; what was seen is of these competitions alone."
        )
    return f"By {basis}: {_meaning(nearest, _titles(comparison, [nearest]))}{_correction(comparison)}"


def _meaning(pair: Pair, rival: str) -> str:
    difference, chance = pair.win_rate, f"p = {percentage(pair.chance)}"
    contains = difference.low is not None and difference.high is not None and difference.low <= 0 <= difference.high
    if pair.settled:
        return (
            f"the interval against {rival} does not contain 0, and {chance}. On other competitions like these, with such times "
            "and models, the first is to be expected ahead on average."
        )
    if contains:
        return (
            f"the interval against {rival} contains 0, and {chance}: these two may be equal. More competitions would tell, more "
            "seeds hardly."
        )
    return f"the interval against {rival} does not contain 0, but {chance}, which is too much. More competitions would tell."


def _correction(comparison: Comparison) -> str:
    count = len(comparison.pairs)
    return f" p-values are corrected for {count} pairs." if count > 1 else ""


def _size(pair: Pair) -> str:
    difference = pair.win_rate
    within = f" (95%: {interval(difference)})" if interval(difference) else ""
    return f"{abs(100 * difference.mean):.1f} points of teams beaten{within}"


def _titles(comparison: Comparison, pairs: Sequence[Pair]) -> str:
    names = [comparison.title(pair.other if pair.one == comparison.leader else pair.one) for pair in pairs]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"

"""Who wins and how surely, and what cannot be concluded: the sentences that a comparison begins with."""

from collections.abc import Sequence

from bot.research.compare.comparison import Comparison, Pair
from bot.research.compare.paired import FEWEST, LEVEL, Difference
from state.words import plural


def points(share: float) -> str:
    """Write a difference of shares in percentage points with its sign, such as `+8.1`."""
    text = f"{100 * share:+.1f}"
    return "0.0" if float(text) == 0 else text.replace("-", "\N{MINUS SIGN}")


def interval(found: Difference) -> str:
    """Write the interval of a difference of shares, in percentage points; empty where there is none."""
    if found.low is None or found.high is None:
        return ""
    return f"{points(found.low)} to {points(found.high)}"


def percentage(probability: float) -> str:
    """Write a probability, such as `38%`, `1.2%` or `less than 0.1%`."""
    if probability < 0.001:
        return "less than 0.1%"
    return f"{100 * probability:.{0 if probability >= 0.1 else 1}f}%"


def verdict(found: Comparison) -> str:
    """State who beats whom by how much, or that nothing is settled."""
    if len(found.rows) < 2:
        return f"Only {found.title(found.leader)} was run: there is nothing to compare it with."
    if not found.against_leader:
        return "Nothing can be compared: no two agents ran on the same competition with the same seed."
    leader, pairs = found.title(found.leader), found.against_leader
    beaten = [pair for pair in pairs if pair.settled and pair.one == found.leader]
    nearest = pairs[0]
    if not beaten:
        return f"Nothing is settled. {leader} leads {_others(found, [nearest])} by {_size(nearest)}."
    if len(beaten) == len(pairs):
        rest = "" if len(pairs) == 1 else f", and {plural(len(pairs) - 1, 'other')}"
        return f"{leader} wins: it beats {_others(found, [nearest])}{rest}, by {_size(nearest)}{' at least' if rest else ''}."
    open_pairs = [pair for pair in pairs if pair not in beaten]
    return (
        f"{leader} leads: it beats {_others(found, beaten)}; against {_others(found, open_pairs)} nothing is settled."
    )


def conclusion(found: Comparison) -> str:
    """State what can and cannot be concluded: from how many pairs, on how many competitions, and for which others it holds."""
    if not found.against_leader:
        return "There are no pairs, so nothing can be concluded."
    nearest = found.against_leader[0]
    difference = nearest.win_rate
    seeds = len({seed for _, seed in found.cells})
    basis = (
        f"{plural(difference.pairs, 'pair')} of runs on {plural(difference.competitions, 'competition')}"
        f" with {plural(seeds, 'seed')}"
    )
    if difference.competitions == 1:
        return f"By {basis}: nothing can be concluded beyond {next(iter(difference.by_competition))}."
    if difference.competitions < FEWEST:
        return (
            f"By {basis}: with fewer than {FEWEST} competitions no difference can be settled at {LEVEL:.0%}, however large "
            "it is, and there is no interval; what was seen is of these competitions alone."
        )
    return f"By {basis}: {_meaning(nearest, _others(found, [nearest]))}{_correction(found)}"


def _meaning(pair: Pair, other: str) -> str:
    found, chance = pair.win_rate, f"equal agents would be as far apart in {percentage(pair.chance)} of cases"
    contains = found.low is not None and found.high is not None and found.low <= 0 <= found.high
    if pair.settled:
        return (
            f"the interval against {other} does not contain 0, and {chance}. On other competitions like these, with such times "
            "and models, the first is to be expected ahead on average."
        )
    if contains:
        return (
            f"the interval against {other} contains 0, and {chance}: these two may be equal. More competitions would tell, more "
            "seeds hardly."
        )
    return f"the interval against {other} does not contain 0, but {chance}, which is too often. More competitions would tell."


def _correction(found: Comparison) -> str:
    count = len(found.pairs)
    return f" Chances are corrected for {count} pairs." if count > 1 else ""


def _size(pair: Pair) -> str:
    found = pair.win_rate
    within = f" (95%: {interval(found)})" if interval(found) else ""
    return f"{abs(100 * found.mean):.1f} points of teams beaten{within}"


def _others(found: Comparison, pairs: Sequence[Pair]) -> str:
    names = [found.title(pair.other if pair.one == found.leader else pair.one) for pair in pairs]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"

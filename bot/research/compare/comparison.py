"""A comparison: each contender's figures, and the paired differences between them."""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean

from bot.report.words import duration
from bot.research.compare.figures import Figures, any_medal, figures, paired_differences, win_rate
from bot.research.compare.paired_tests import LEVEL, Difference, corrected, difference
from bot.research.compare.runs import Cells, Runs
from bot.research.contender import Contender
from state.words import plural


@dataclass(frozen=True)
class Pair:
    """Two contenders, first the one that beats more teams over the cells that both have."""

    first: Contender
    second: Contender
    win_rate: Difference
    medals: Difference
    chance: float
    """Of the difference in win rate, corrected for the number of pairs that are compared."""

    @property
    def settled(self) -> bool:
        """Whether the first is better than the second by more than chance."""
        return self.win_rate.settled and self.chance < LEVEL


@dataclass(frozen=True)
class Comparison:
    """Finished replays, compared."""

    runs: Runs
    cells: Cells
    """The blocks that the figures are of."""
    rows: tuple[Figures, ...]
    """One row per contender, the one that beats most teams first."""
    pairs: tuple[Pair, ...]
    """The planned pairs, or all that have a block in common, in the order of the rows."""
    comparisons: int
    """For which chances are corrected: the planned pairs, those without a run included."""
    cautions: tuple[str, ...]
    """What a reader must know before trusting the figures, a sentence each."""

    @property
    def leader(self) -> Contender:
        """The contender that beats most teams."""
        return self.rows[0].contender

    @property
    def against_leader(self) -> tuple[Pair, ...]:
        """The leader's pairs, in the order of the rows."""
        return tuple(pair for pair in self.pairs if self.leader in (pair.first, pair.second))

    @property
    def competitions(self) -> tuple[str, ...]:
        """The competitions that the figures are of."""
        return tuple(sorted({competition for competition, _ in self.cells}))

    def title(self, contender: Contender) -> str:
        """Return a contender's name."""
        return contender.title(with_model=self.runs.with_model)

    def label(self, contender: Contender) -> str:
        """Return a contender's name, and how many of its runs submitted the engine's baseline or a constant, if any."""
        row = next(row for row in self.rows if row.contender == contender)
        return self.title(contender) + (f" [{row.substitute}]" if row.substitute != "0" else "")


Planned = Collection[frozenset[tuple[str, tuple[str, ...]]]]
"""Pairs of agents, each with its variant."""


def compare(runs: Runs, planned: Planned = (), planned_count: int = 0) -> Comparison:
    """Compare finished replays: all pairs, or the planned ones, over all models; chances are corrected for as many at least."""
    shared = {block: cell for block, cell in runs.cells.items() if all(c in cell for c in runs.contenders)}
    cells = shared or runs.cells
    rows = sorted(
        (figures(cells, c) for c in runs.contenders), key=lambda row: (-row.win_rate, row.rank, row.contender)
    )
    pairs = []
    for first, second in combinations([row.contender for row in rows], 2):
        agents = frozenset(((first.agent, first.variant), (second.agent, second.variant)))
        if planned and (agents not in planned or first.model != second.model):
            continue
        if differences := paired_differences(runs.cells, first, second, win_rate):
            if sum(map(fmean, differences.values())) < 0:  # the rows are of cells that all have
                first, second = second, first
                differences = paired_differences(runs.cells, first, second, win_rate)
            medals = difference(paired_differences(runs.cells, first, second, any_medal))
            pairs.append((first, second, difference(differences), medals))
    # A plan that is half done is corrected for all of its pairs, so that its last runs make no difference.
    comparisons = max(len(pairs), len(planned), planned_count)
    chances = corrected([d.chance for _, _, d, _ in pairs], comparisons)
    return Comparison(
        runs,
        cells,
        tuple(rows),
        tuple(Pair(*pair, chance) for pair, chance in zip(pairs, chances, strict=True)),
        comparisons,
        tuple(_cautions(runs, cells, whole=bool(shared))),
    )


def _cautions(runs: Runs, cells: Cells, *, whole: bool) -> Iterator[str]:
    all_results = [result for _, result in runs.results]
    used_count = sum(len(results) for cell in cells.values() for results in cell.values())
    if not whole and len(runs.contenders) > 1:
        yield "No combination of competition and seed was run by all contenders, so the figures come from different competitions"
    elif used_count < len(all_results):
        yield f"The comparison omits {plural(len(all_results) - used_count, 'run')}, as not all contenders have a pair"
    yield from runs.incomplete
    limits = {duration(result.time_limit) for result in all_results if result.time_limit is not None}
    if len(limits) > 1:
        yield f"The runs had different time limits: {', '.join(sorted(limits))}"
    if late_count := sum(
        result.time_limit is not None and result.wall_seconds > result.time_limit for result in all_results
    ):
        yield f"{plural(late_count, 'run')} exceeded the time limit, probably because the machine was busy"
    for name in ("pace", "signals", "sandbox"):
        values = sorted({str(getattr(result, name)) for result in all_results})
        if len(values) > 1:
            yield f"The runs differ in {name}: {', '.join(values)}"
    clocks = Counter(competition for competition, _ in {(r.competition_id, r.cutoff) for r in all_results})
    if differing := sorted(competition for competition, count in clocks.items() if count > 1):
        yield f"The runs used different clock times on {', '.join(differing)}"
    if noted := sum(result.cutoff_note is not None for result in all_results):
        yield f"Knowledge published after the deadline may have been available in {plural(noted, 'run')}"
    if unequal := sum(len(results) > 1 for cell in cells.values() for results in cell.values()):
        yield f"Only the mean counts where a run was repeated with the same seed ({plural(unequal, 'case')})"

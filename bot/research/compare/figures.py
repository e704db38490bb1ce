"""The figures of each contender over the blocks that all contenders have: ranks, shares, costs, times."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from statistics import fmean, median

from bot.report.result import RunResult
from bot.report.words import substitutes
from bot.research.compare.runs import Cells
from bot.research.contender import Contender

Measure = Callable[[RunResult], float]
win_rate: Measure = attrgetter("win_rate")
any_medal: Measure = attrgetter("any_medal")


@dataclass(frozen=True)
class Figures:
    """One contender; each figure is the mean over competitions of the mean over seeds, unless it says otherwise."""

    contender: Contender
    competitions: int
    runs: int
    rank: float
    """Among the contenders by score, 1 is the best; invalid runs share the last place."""
    win_rate: float
    gold: float
    medal: float
    above_median: float
    valid: float
    """Submissions of the agent's own."""
    baselines: int
    """Runs that submitted the engine's baseline."""
    constants: int
    """Runs that submitted a constant, whoever made it."""
    usd: float | None
    """Of a run; None: a price is unknown."""
    tokens: float
    """New ones of a run: sent and not cached, or received."""
    seconds: float
    """Of a run."""
    bronze: int
    """Runs whose best was worth a bronze medal at some time."""
    seconds_to_bronze: float | None
    """Median of these runs' times to it."""

    @property
    def substitute(self) -> str:
        """How many runs submitted the engine's baseline, and how many a constant."""
        return substitutes(self.baselines, self.constants)


def over_competitions(values: Iterable[tuple[str, float]]) -> float:
    """Return the mean over competitions of each one's mean."""
    gaps: dict[str, list[float]] = {}
    for competition, value in values:
        gaps.setdefault(competition, []).append(value)
    return fmean(map(fmean, gaps.values()))


def figures(cells: Cells, contender: Contender) -> Figures:
    """Return a contender's figures over the blocks that it has."""
    own_cells = {block: cell for block, cell in cells.items() if contender in cell}
    results = [result for cell in own_cells.values() for result in cell[contender]]

    def mean(measure: Measure) -> float:
        return over_competitions((block[0], fmean(map(measure, cell[contender]))) for block, cell in own_cells.items())

    to_bronze = [result.seconds_to_bronze for result in results if result.seconds_to_bronze is not None]
    all_known = all(result.llm.cost_usd is not None for result in results)
    return Figures(
        contender=contender,
        competitions=len({competition for competition, _ in own_cells}),
        runs=len(results),
        rank=over_competitions((block[0], ranks(cell)[contender]) for block, cell in own_cells.items()),
        win_rate=mean(win_rate),
        gold=mean(attrgetter("gold_medal")),
        medal=mean(any_medal),
        above_median=mean(attrgetter("above_median")),
        valid=mean(attrgetter("valid_submission")),
        baselines=sum(result.substitute == "baseline" for result in results),
        constants=sum(result.substitute == "constant" for result in results),
        usd=mean(lambda result: result.llm.cost_usd or 0.0) if all_known else None,
        tokens=mean(lambda result: float(result.llm.new_tokens)),
        seconds=mean(attrgetter("wall_seconds")),
        bronze=len(to_bronze),
        seconds_to_bronze=median(to_bronze) if to_bronze else None,
    )


def ranks(cell: Mapping[Contender, Sequence[RunResult]]) -> dict[Contender, float]:
    """Return each contender's rank in a block by its score, 1 for the best; equal ones share the mean of their ranks."""

    def worth_of(result: RunResult) -> float:
        return float("-inf") if result.score is None else result.oriented(result.score)

    worth = {contender: fmean(map(worth_of, results)) for contender, results in cell.items()}
    return {
        contender: 1 + sum(w > value for w in worth.values()) + (sum(w == value for w in worth.values()) - 1) / 2
        for contender, value in worth.items()
    }


def paired_differences(cells: Cells, first: Contender, second: Contender, measure: Measure) -> dict[str, list[float]]:
    """Return, by competition, how much more one contender has than another in each block that both have."""
    gaps: dict[str, list[float]] = {}
    for (competition, _), cell in sorted(cells.items()):
        if first in cell and second in cell:
            gap = fmean(map(measure, cell[first])) - fmean(map(measure, cell[second]))
            gaps.setdefault(competition, []).append(gap)
    return gaps

"""The papers' tables as they lay them out, our figures beside the published ones; only rows that we have figures for."""

import math
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from statistics import fmean, stdev
from typing import Any, Literal

from bot.agents import AGENTS, agent_of
from bot.report.words import NO_VALUE, percent, score
from bot.research.compare.comparison import Comparison
from bot.research.contender import Contender

Mark = Literal["", "published", "ours"]
Row = tuple[Mark, tuple[str, ...]]
ColumnSource = tuple[Collection[str], str]
"""Competitions, and a measure of the runs on them."""
Columns = tuple[tuple[str, Mark], ...]
Layout = tuple[Columns, list[Row]]
Published = Mapping[str, Any]
Values = Mapping[str, Sequence[float]]
"""Of the runs on each competition."""


@dataclass(frozen=True)
class PaperTable:
    """One table, ready to be shown."""

    title: str
    source: str
    note: str
    """Why published and own figures do not compare, as far as they do not."""
    columns: Columns
    rows: Sequence[Row]


def paper_tables(comparison: Comparison) -> tuple[PaperTable, ...]:
    """Return the tables that have a row of ours, or whose rows we have figures for."""
    published = tomllib.loads(files(__package__).joinpath("published.toml").read_text(encoding="utf-8"))
    tables = {
        "win_rate": _categories(comparison, published, "win_rate", ".3f"),
        "code_length": _categories(comparison, published, "code_length", ".1f"),
        "ablation": _ablation(comparison, published),
        "ongoing": _ongoing(comparison, published),
        "automind": _tiers(comparison, published),
        "mle_bench": _splits(comparison, published),
    }
    return tuple(
        PaperTable(**published["table"][name], columns=c, rows=rows) for name, (c, rows) in tables.items() if rows
    )


def _select(comparison: Comparison, contender: Contender, competitions: Collection[str], measure: str) -> Values:
    """Return a measure of a contender's runs, without runs that have none."""
    values: dict[str, list[float]] = {}
    for c, result in comparison.runs.results:
        value = getattr(result, measure)
        if c == contender and result.competition_id in competitions and value is not None:
            values.setdefault(result.competition_id, []).append(value)
    return values


def _mean(values: Values) -> float:
    return fmean(map(fmean, values.values()))


def _columns(comparison: Comparison, name: str, systems: Sequence[str]) -> Columns:
    """Return a column for the names of rows, one for each contender, and one for each published system."""
    own_columns: Columns = tuple((comparison.label(row.contender), "ours") for row in comparison.rows)
    return ((name, ""), *own_columns, *((system, "published") for system in systems))


def _categories(comparison: Comparison, published: Published, measure: str, form: str) -> Layout:
    """CoMind's tables 1 and 2: means by category."""
    comind, rows = published["comind"], list[Row]()
    for category in (*comind["category"], {**comind, "name": "all", "competitions": published["split"]["low"]}):
        values = [_select(comparison, row.contender, category["competitions"], measure) for row in comparison.rows]
        if any(values):
            cells = [f"{_mean(v):{form}} ({len(v)})" if v else NO_VALUE for v in values]
            paper_cells = [f"{value:{form}}" for value in category[measure]]
            rows.append(("", (f"{category['name']} ({category['tasks']})", *cells, *paper_cells)))
    return _columns(comparison, "category (tasks)", comind["systems"]), rows


def _ongoing(comparison: Comparison, published: Published) -> Layout:
    """CoMind's table 4: scores and win rates on four competitions that were under way then."""
    ongoing, rows = published["comind"]["ongoing"], list[Row]()
    for competition, paper_cells in ongoing["competitions"].items():
        cells = []
        for contender in (row.contender for row in comparison.rows):
            rates, scores = (_select(comparison, contender, [competition], m) for m in ("win_rate", "score"))
            cells.append(f"{score(_mean(scores) if scores else None)} ({percent(_mean(rates))})" if rates else NO_VALUE)
        if set(cells) != {NO_VALUE}:
            rows.append(("", (competition, *cells, *paper_cells)))
    return _columns(comparison, "competition", ongoing["columns"]), rows


def _by_contender(
    comparison: Comparison,
    columns: Mapping[str, ColumnSource],
    name: Callable[[Contender, Values], str],
    cell: Callable[[Values], str],
    published: Mapping[str, Sequence[str]],
) -> Layout:
    """Lay out a row for each contender with a name and a value in the last column, and then the published ones; or no row."""
    rows: list[Row] = []
    for contender in (row.contender for row in comparison.rows):
        values = [_select(comparison, contender, *column) for column in columns.values()]
        if values[-1] and (title := name(contender, values[-1])):
            rows.append(("ours", (title, *(cell(v) if v else NO_VALUE for v in values))))
    rows += [("published", (system, *cells)) for system, cells in published.items() if rows]
    return tuple((column, "") for column in ("", *columns)), rows


def _groups(groups: Mapping[str, Sequence[str]], measure: str) -> Mapping[str, ColumnSource]:
    """Return a column for each group of competitions, and one for all."""
    all_names = [name for names in groups.values() for name in names]
    return {f"{group} ({len(names)})": (names, measure) for group, names in {**groups, "all": all_names}.items()}


def _ablation(comparison: Comparison, published: Published) -> Layout:
    """CoMind's table 3: agents that ran without the community, and the same with it."""
    measures = ("valid_submission", "win_rate", "gold_medal", "any_medal", "above_median")
    agents = {row.contender.agent for row in comparison.rows if "no-community" in row.contender.variant}
    return _by_contender(
        comparison,
        {measure.replace("_", " "): (published["split"]["low"], measure) for measure in measures},
        lambda contender, _: comparison.label(contender) if contender.agent in agents else "",
        lambda values: f"{_mean(values):.3f} ({len(values)})",
        {system: [f"{value:.3f}" for value in cells] for system, cells in published["comind"]["ablation"].items()},
    )


def _tiers(comparison: Comparison, published: Published) -> Layout:
    """AutoMind's table 1: the best and the mean of the runs on each competition, by tier."""
    return _by_contender(
        comparison,
        _groups(published["automind"]["tier"], "win_rate"),
        lambda contender, values: f"{comparison.label(contender)}, {max(map(len, values.values()))} runs",
        lambda values: f"{fmean(map(max, values.values())):.2f} / {_mean(values):.2f} ({len(values)})",
        {
            system: [f"{best:.2f} / {mean:.2f}" for best, mean in zip(f["best"], f["mean"], strict=True)]
            for system, f in published["automind"]["systems"].items()
        },
    )


def _splits(comparison: Comparison, published: Published) -> Layout:
    """MLE-bench's table: any medal in percent by split."""

    def name(contender: Contender, _: Values) -> str:
        parts = agent_of(contender.agent).parts if contender.agent in AGENTS else ()
        read = "community" in parts and "no-community" not in contender.variant
        return f"{comparison.label(contender)}{', with community' if read else ''}"

    medals = {system: [f"{value:.2f}" for value in cells] for system, cells in published["mle_bench"].items()}
    return _by_contender(comparison, _groups(published["split"], "any_medal"), name, _medals, medals)


def _medals(values: Values) -> str:
    """Return mean and standard error over seeds, as MLE-bench does, over the competitions that there are."""
    seeds = min(map(len, values.values()))
    shares = [100 * fmean(medals[seed] for medals in values.values()) for seed in range(seeds)]
    error = stdev(shares) / math.sqrt(seeds) if seeds > 1 else 0.0
    return f"{fmean(shares):.2f} ± {error:.2f} ({len(values)})"

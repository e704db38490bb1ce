"""The papers' tables as they lay them out, our figures beside the published ones; only rows that we have figures for."""

import math
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from statistics import fmean, stdev
from typing import Any, Literal

from bot.agents import AGENTS, agent_of
from bot.report.result import RunResult
from bot.report.words import NO_VALUE
from bot.research.compare.comparison import Comparison
from bot.research.compare.figures import mean_of, over_competitions, win_rate
from bot.research.contender import Contender

Mark = Literal["", "published", "ours"]


@dataclass(frozen=True)
class PaperTable:
    """One table, ready to be shown."""

    title: str
    source: str
    note: str
    """Why published and own figures do not compare, as far as they do not."""
    columns: tuple[tuple[str, Mark], ...]
    rows: tuple[tuple[Mark, tuple[str, ...]], ...]


def paper_tables(comparison: Comparison) -> tuple[PaperTable, ...]:
    """Return the tables that have a row of ours, or whose rows we have figures for."""
    published = tomllib.loads(files(__package__).joinpath("published.toml").read_text(encoding="utf-8"))
    tables = (make(comparison, published) for make in (_categories, _tiers, _splits))
    return tuple(table for table in tables if table is not None)


def _select(comparison: Comparison, contender: Contender, competitions: Sequence[str]) -> dict[str, list[RunResult]]:
    results: dict[str, list[RunResult]] = {}
    for c, result in comparison.runs.results:
        if c == contender and result.competition_id in competitions:
            results.setdefault(result.competition_id, []).append(result)
    return results


def _mean(results: dict[str, list[RunResult]], measure: Callable[[RunResult], float]) -> float:
    return over_competitions((name, mean_of(results_of_one, measure)) for name, results_of_one in results.items())


def _share(value: float) -> str:
    return f"{value:.3f}"


def _categories(comparison: Comparison, published: dict[str, Any]) -> PaperTable | None:
    comind, contenders = published["comind"], [row.contender for row in comparison.rows]
    total = {**comind, "name": "all", "competitions": published["split"]["low"]}
    rows: list[tuple[Mark, tuple[str, ...]]] = []
    for category in (*comind["category"], total):
        results = [_select(comparison, contender, category["competitions"]) for contender in contenders]
        if any(results):
            cells = [f"{_mean(r, win_rate):.3f} ({len(r)})" if r else NO_VALUE for r in results]
            paper_cells = [f"{rate:.3f}" for rate in category["win_rate"]]
            rows.append(("", (f"{category['name']} ({category['tasks']})", *cells, *paper_cells)))
    if not rows:
        return None
    columns: list[tuple[str, Mark]] = [("category (tasks)", ""), *((comparison.label(c), "ours") for c in contenders)]
    return PaperTable(
        "CoMind v1, table 1: win rate by category",
        published["source"]["comind"],
        "Brackets show how many competitions our figure covers. A run that submitted the engine's baseline counts as "
        "beating no team. The published figures cover 20 of these 22 competitions and come from a different model, time "
        "limit and machine, so they are only a rough guide.",
        (*columns, *((name, "published") for name in comind["systems"])),
        tuple(rows),
    )


def _tiers(comparison: Comparison, published: dict[str, Any]) -> PaperTable | None:
    tiers = published["automind"]["tier"]
    sets = [*tiers.values(), [name for names in tiers.values() for name in names]]
    rows: list[tuple[Mark, tuple[str, ...]]] = []
    for contender in (row.contender for row in comparison.rows):
        results = [_select(comparison, contender, competitions) for competitions in sets]
        if results[-1]:
            seeds = max(map(len, results[-1].values()))
            cells = [_best_and_mean(r) for r in results]
            rows.append(("ours", (f"{comparison.label(contender)}, {seeds} runs", *cells)))
    if not rows:
        return None
    published_rows = [
        (system, [f"{best:.2f} / {mean:.2f}" for best, mean in zip(f["best"], f["mean"], strict=True)])
        for system, f in published["automind"]["systems"].items()
    ]
    names = ("", *(f"{tier} ({len(competitions)})" for tier, competitions in tiers.items()), "all (15)")
    return PaperTable(
        "AutoMind: win rate by tier, best / mean of the runs on each competition",
        published["source"]["automind"],
        "Brackets show how many competitions our figure covers. Compare equal numbers of runs, because the best result "
        "rises with more runs. The published runs had different time limits and machines and read no community posts.",
        tuple((name, "") for name in names),
        (*rows, *(("published", (name, *cells)) for name, cells in published_rows)),
    )


def _best_and_mean(results: dict[str, list[RunResult]]) -> str:
    if not results:
        return NO_VALUE
    best = fmean(max(map(win_rate, r)) for r in results.values())
    return f"{best:.2f} / {_mean(results, win_rate):.2f} ({len(results)})"


def _splits(comparison: Comparison, published: dict[str, Any]) -> PaperTable | None:
    """MLE-bench's table: any medal in percent by split, mean and standard error over seeds."""
    splits = published["split"]
    sets = [*splits.values(), [name for names in splits.values() for name in names]]
    rows: list[tuple[Mark, tuple[str, ...]]] = []
    for contender in (row.contender for row in comparison.rows):
        results = [_select(comparison, contender, competitions) for competitions in sets]
        if results[-1]:
            parts = agent_of(contender.agent).parts if contender.agent in AGENTS else ()
            read = "community" in parts and "no-community" not in contender.variant
            name = f"{comparison.label(contender)}{', with community' if read else ''}"
            rows.append(("ours", (name, *map(_medals, results))))
    if not rows:
        return None
    names = ("", *(f"{split} ({len(names)})" for split, names in splits.items()), "all (75)")
    return PaperTable(
        "MLE-bench: any medal (%), mean ± standard error over seeds",
        published["source"]["mle_bench"],
        "Brackets show how many competitions our figure covers. Only complete splits can be compared. A run that read "
        "community posts counts as an MLE-Live result, not as an MLE-bench result.",
        tuple((name, "") for name in names),
        (
            *rows,
            *(
                ("published", (system, *(f"{value:.2f}" for value in medals)))
                for system, medals in published["mle_bench"].items()
            ),
        ),
    )


def _medals(results: dict[str, list[RunResult]]) -> str:
    """Return mean and standard error over seeds, as MLE-bench does, over the competitions that there are."""
    if not results:
        return NO_VALUE
    seeds = min(map(len, results.values()))
    shares = [100 * fmean(runs[seed].any_medal for runs in results.values()) for seed in range(seeds)]
    error = stdev(shares) / math.sqrt(seeds) if seeds > 1 else 0.0
    return f"{fmean(shares):.2f} ± {error:.2f} ({len(results)})"

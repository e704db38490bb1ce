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
from bot.report.words import NO_VALUE, percent, score
from bot.research.compare.comparison import Comparison
from bot.research.compare.figures import figures, mean_of, over_competitions, win_rate
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
    makers = (_categories, _code_lengths, _ablation, _live, _tiers, _splits)
    return tuple(table for make in makers if (table := make(comparison, published)) is not None)


def _select(comparison: Comparison, contender: Contender, competitions: Sequence[str]) -> dict[str, list[RunResult]]:
    """Return a contender's results on these competitions, in the order of their seeds."""
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
    """CoMind v1, table 1."""
    return _by_category(
        comparison,
        published,
        "win_rate",
        "CoMind v1, table 1: win rate by category",
        lambda results: _share(_mean(results, win_rate)),
        _share,
    )


def _code_lengths(comparison: Comparison, published: dict[str, Any]) -> PaperTable | None:
    """CoMind v1, table 2; over valid submissions only."""

    def length(results: dict[str, list[RunResult]]) -> str:
        lengths = [
            (name, float(r.code_length))
            for name, results_of_one in results.items()
            for r in results_of_one
            if r.valid_submission and r.code_length is not None
        ]
        return f"{over_competitions(lengths):.1f}" if lengths else NO_VALUE

    title = "CoMind v1, table 2: characters of code, over valid submissions"
    return _by_category(comparison, published, "code_length", title, length, lambda value: f"{value:.1f}")


def _by_category(
    comparison: Comparison,
    published: dict[str, Any],
    measure: str,
    title: str,
    own_text: Callable[[dict[str, list[RunResult]]], str],
    in_paper: Callable[[float], str],
) -> PaperTable | None:
    comind, contenders = published["comind"], [row.contender for row in comparison.rows]
    total = {
        "name": "all",
        "tasks": comind["tasks"],
        measure: comind[measure],
        "competitions": published["split"]["low"],
    }
    rows: list[tuple[Mark, tuple[str, ...]]] = []
    for category in (*comind["category"], total):
        results = [_select(comparison, contender, category["competitions"]) for contender in contenders]
        if any(results):
            cells = [f"{own_text(r)} ({len(r)})" if r else NO_VALUE for r in results]
            rows.append(("", (f"{category['name']} ({category['tasks']})", *cells, *map(in_paper, category[measure]))))
    if not rows:
        return None
    columns: list[tuple[str, Mark]] = [("category (tasks)", ""), *((comparison.label(c), "ours") for c in contenders)]
    return PaperTable(
        title,
        published["source"]["comind"],
        "In brackets: the number of competitions behind our figure. A run that submitted the engine's baseline beats no team "
        "and has no code. The published figures cover 20 of these 22, with another model, time and machine: they are for "
        "orientation, not comparable.",
        (*columns, *((name, "published") for name in comind["systems"])),
        tuple(rows),
    )


def _ablation(comparison: Comparison, published: dict[str, Any]) -> PaperTable | None:
    """CoMind v1, table 3: with and without what the community had posted."""
    rows: list[tuple[Mark, tuple[str, ...]]] = []
    for contender in (row.contender for row in comparison.rows):
        bare = _without_community(comparison, contender)
        shared_cells = comparison.runs.shared_by((contender, bare)) if bare else {}
        for variant in (contender, bare) if bare and shared_cells else ():
            values = figures(shared_cells, variant)
            shares = (values.valid, values.win_rate, values.gold, values.medal, values.above_median)
            rows.append(("ours", (f"{comparison.label(variant)} ({values.competitions})", *map(_share, shares))))
    if not rows:
        return None
    ablation = published["comind"]["ablation"]
    names = ("", "valid", "win rate", "gold", "any medal", "above median")
    return PaperTable(
        "CoMind v1, table 3: with and without the community",
        published["source"]["comind"],
        "In brackets: the number of competitions behind our figure; theirs cover 20. Compare the step from one row to "
        "the next, not the rows.",
        tuple((name, "") for name in names),
        (*rows, *(("published", (name, *map(_share, shares))) for name, shares in ablation.items())),
    )


def _without_community(comparison: Comparison, contender: Contender) -> Contender | None:
    """Return the contender that differs in this alone, if there is one."""
    words = {*contender.variant, "no-community"}
    same_model = (
        row.contender
        for row in comparison.rows
        if (row.contender.agent, row.contender.model) == (contender.agent, contender.model)
    )
    return next((c for c in same_model if c != contender and set(c.variant) == words), None)


def _live(comparison: Comparison, published: dict[str, Any]) -> PaperTable | None:
    """CoMind v1, table 4: competitions that were live then."""
    contenders = [row.contender for row in comparison.rows]
    rows: list[tuple[Mark, tuple[str, ...]]] = []
    for competition, live in published["comind"]["live"].items():
        results = [_select(comparison, contender, [competition]) for contender in contenders]
        if not any(results):
            continue
        paper_cells = [
            f"{score(value)} ({rate}%)" for value, rate in zip(live["scores"], live["win_rates"], strict=True)
        ]
        cells = [_score_and_rate(next(iter(r.values()))) if r else NO_VALUE for r in results]
        rows.append(("", (competition, *map(score, live["needed"]), *cells, *paper_cells)))
    if not rows:
        return None
    thresholds: list[tuple[str, Mark]] = [(f"for {share}%", "published") for share in (90, 70, 50)]
    return PaperTable(
        "CoMind v1, table 4: live competitions",
        published["source"]["comind"],
        "Scores needed to beat so many teams, then score and teams beaten. Theirs were on the boards of the time, ours are "
        f"replays. {published['comind']['live_of_v2']}",
        (
            ("competition", ""),
            *thresholds,
            *((comparison.label(c), "ours") for c in contenders),
            ("CoMind", "published"),
            ("AIDE", "published"),
        ),
        tuple(rows),
    )


def _score_and_rate(results: Sequence[RunResult]) -> str:
    scores = [r.score for r in results if r.score is not None]
    return f"{score(fmean(scores)) if scores else NO_VALUE} ({percent(mean_of(results, win_rate))})"


def _tiers(comparison: Comparison, published: dict[str, Any]) -> PaperTable | None:
    """AutoMind's table of win rates, best and mean of the runs."""
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
        "AutoMind: win rate by tier, best / mean of the runs of a competition",
        published["source"]["automind"],
        "In brackets: the number of competitions behind our figure. The best of more runs is higher: compare equal "
        "numbers. Other times and machines; they read no community of the competition.",
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
        "MLE-bench: any medal in %, mean ± standard error over seeds",
        published["source"]["mle_bench"],
        "In brackets: the number of competitions behind our figure; only whole splits compare. A run that read the "
        "community is a result on MLE-Live, never on MLE-bench.",
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

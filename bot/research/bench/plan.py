"""The plan of a bench: competitions x agents x models x seeds, the options of each run, and one budget."""

import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from pydantic import Field, PlainValidator, ValidationInfo

from bot.agents import AGENTS, AgentName
from bot.agents.settings import ReplayOptions
from bot.configuration.lines import KeyPath
from bot.engine.settings import Seconds
from bot.replay.ablations import ABLATIONS
from state.closed_model import ClosedModel
from state.settings_paths import FOLDER, SettingsPath, resolve_beside
from state.words import did_you_mean


def _entrant(entry: object) -> tuple[AgentName, tuple[str, ...]]:
    """Read an agent and the parts that it does without, such as `comind no-blend no-community`."""
    name, *words = entry.split() if isinstance(entry, str) else [""]
    if name not in AGENTS:
        raise ValueError(f"names the unknown agent {name!r}: {did_you_mean(name, AGENTS)}")
    unknown = [word for word in words if word not in ABLATIONS]
    if unknown:
        raise ValueError(f"names the unknown ablation {unknown[0]!r}: {did_you_mean(unknown[0], ABLATIONS)}")
    # In one order, so that the same set of words is the same contender.
    return name, tuple(word for word in ABLATIONS if word in words)


def _model(spec: object, info: ValidationInfo) -> str:
    """Read a model; the folder of a recording starts at the plan's."""
    if not isinstance(spec, str):
        raise ValueError("must be a model: builtin, openai:NAME or recorded:DIR")
    kind, _, folder = spec.partition(":")
    start = (info.context or {}).get(FOLDER)
    return f"recorded:{resolve_beside(Path(folder), start)}" if kind == "recorded" and folder and start else spec


Entrant = Annotated[tuple[AgentName, tuple[str, ...]], PlainValidator(_entrant)]
"""An agent, and the parts that it does without."""


class BenchBudget(ClosedModel):
    """What all runs together may use; a competition is begun only if it covers all of its agents."""

    time: Seconds | None = Field(
        default=None, description="maximum total wall time of all runs (may be exceeded by up to 5%)", examples=["8h"]
    )
    money: float | None = Field(
        default=None, gt=0, lt=math.inf, description="maximum total cost of all runs, in USD", examples=[20.0]
    )


class BenchPlan(ClosedModel):
    """A plan's file."""

    competitions: tuple[SettingsPath, ...] = Field(min_length=1, description="folders of snapshots")
    agents: tuple[Entrant, ...] = Field(
        min_length=1, description="agents, each with its ablations, such as `comind no-blend`"
    )
    models: tuple[Annotated[str, PlainValidator(_model)], ...] = Field(
        default=(), description="builtin, openai:NAME or recorded:DIR (default: the configured model)"
    )
    seeds: Annotated[int, Field(ge=1)] | Annotated[tuple[int, ...], Field(min_length=1)] = Field(
        default=1, description="number of seeds, or a list of seeds"
    )
    max_parallel_runs: int | None = Field(
        default=None,
        ge=1,
        description="maximum number of parallel runs on a fleet (default: number of slots, up to four per core of this machine)",
    )
    out: SettingsPath | None = Field(
        default=None, description="folder for the run folders (default: `NAME-runs` next to the plan NAME.toml)"
    )
    comparisons: tuple[tuple[Entrant, Entrant], ...] = Field(
        default=(), description="pairs of agents to compare (default: all pairs, which needs more competitions)"
    )
    run: ReplayOptions = Field(default=ReplayOptions(), description="options for each run")
    budget: BenchBudget = Field(default=BenchBudget(), description="limits for all runs together")

    @property
    def compared_pairs(self) -> frozenset[frozenset[tuple[str, tuple[str, ...]]]]:
        """The pairs to compare; empty means all."""
        return frozenset(map(frozenset, self.comparisons))

    @property
    def comparison_count(self) -> int:
        """The number of pairs to compare."""
        return len(self.compared_pairs) * max(1, len(self.models)) or math.comb(self.side_by_side, 2)

    @property
    def each_seed(self) -> tuple[int, ...]:
        """The seeds, in order."""
        return tuple(range(self.seeds)) if isinstance(self.seeds, int) else self.seeds

    @property
    def side_by_side(self) -> int:
        """Runs of one competition with one seed."""
        return len(self.agents) * max(1, len(self.models))


def contradictions(plan: BenchPlan) -> Iterator[tuple[KeyPath, str]]:
    """Yield each contradiction as a key and the rest of its sentence."""
    for name, values in (
        ("competitions", plan.competitions),
        ("agents", [" ".join((agent, *words)) for agent, words in plan.agents]),
        ("models", plan.models),
        ("seeds", plan.each_seed),
    ):
        for value, count in Counter(map(str, values)).items():
            if count > 1:
                yield (name,), f"lists {value!r} {count} times: list it only once"
    for number, pair in enumerate(plan.comparisons):
        if len(set(pair)) < 2:
            yield ("comparisons", number), "must name two different agents"
        for agent, words in set(pair) - set(plan.agents):
            yield ("comparisons", number), f"names {' '.join((agent, *words))}, which is not listed in `agents`"


def budget_contradictions(plan: BenchPlan) -> Iterator[tuple[KeyPath, str]]:
    """Yield the caps that cannot cover one competition with one seed, by the options of runs that hold in the end."""
    needed_seconds = plan.side_by_side * plan.run.time
    if plan.budget.time is not None and plan.budget.time < needed_seconds:
        yield (
            ("budget", "time"),
            f"must be at least {needed_seconds:g} s: one competition with one seed takes {plan.side_by_side} runs of "
            f"{plan.run.time:g} s each",
        )
    yield from _money(plan)


def _money(plan: BenchPlan) -> Iterator[tuple[KeyPath, str]]:
    money, per_run = plan.budget.money, plan.run.budget.money
    if money is None:
        return
    if per_run is None:
        yield (("budget", "money"), "requires `money` under [run.budget]; otherwise, one run could spend everything")
    elif money < plan.side_by_side * per_run:
        yield (
            ("budget", "money"),
            f"must be at least {plan.side_by_side * per_run:g}: one competition with one seed takes {plan.side_by_side} runs, "
            f"which cost up to {per_run:g} USD each",
        )

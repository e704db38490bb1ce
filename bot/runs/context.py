"""What a run's parts share: handed in, never global."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field

from bot.budgets.kinds import Kind, words
from bot.budgets.levels import Level, unbounded
from bot.coder import Machine, OwnerNote, Result, TaskText
from bot.coder.settings import SessionSettings
from bot.evaluation.executor import Executor
from bot.models.ask import Asker
from bot.runs.budget import RunBudget
from bot.runs.results import results
from bot.strategies.rounds import RoundsSettings
from bot.strategies.tree import TreeCache
from bot.strategies.tree_search import TreeSearchSettings
from scrapers.snapshots.card import TaskCard
from state.clock import Clock
from state.community import CommunityView
from state.steps import Steps
from state.store import Store


class ReadingSettings(BaseModel):
    """How much of a community is read."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kernels: int = Field(default=20, ge=0, description="kernels analysed a run: half by score, half by votes")
    messages: int = Field(default=40, ge=0, description="messages analysed a run, most voted first")
    newest: int = Field(
        default=0, ge=0, description="newest posts that are analysed at each look, besides those: for a live run"
    )
    post_characters: int = Field(default=12_000, ge=500, description="characters of one post that a prompt shows")
    shown_analyses: int = Field(default=40, ge=1, description="analyses that one prompt for ideas shows")
    shown_ideas: int = Field(default=60, ge=1, description="ideas that one prompt shows, best supported first")
    shown_reports: int = Field(
        default=30, ge=1, description="reports that one prompt shows: the best, and the last failures"
    )


class EngineSettings(BaseModel):
    """Settings of the engine that are the same for every agent."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    reading: ReadingSettings = ReadingSettings()
    rounds: RoundsSettings = RoundsSettings()
    tree_search: TreeSearchSettings = TreeSearchSettings()
    session: SessionSettings | None = Field(default=None, description="what a coder may try out; none: scripts alone")
    calls_in_flight: int = Field(default=8, ge=1, description="model calls at once, over the whole run")


@dataclass(frozen=True)
class RunContext:
    """One run's services and facts."""

    run_id: str
    card: TaskCard
    seed: int
    settings: EngineSettings
    store: Store
    steps: Steps
    clock: Clock
    asker: Asker
    model_name: str
    executor: Executor
    budget: RunBudget
    machine: Machine
    preview: str
    community_at: Callable[[datetime], CommunityView] | None
    """Returns the community as of a time; None where the run goes without one."""
    say: Callable[[str], None]
    """Shows one line of progress."""
    slots: int = 1
    """Nodes that are worked on at a time at most."""
    spending: Level = field(default_factory=unbounded)
    """What the run has spent and may spend, within its competition and its day."""
    tree_cache: TreeCache = field(default_factory=TreeCache, repr=False, compare=False)
    """What `load_tree` has read."""
    learning: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False, compare=False)
    """Held by whoever has posts analysed."""
    notes: Callable[[], tuple[OwnerNote, ...]] = tuple
    """Returns what the owner has told the bot about this competition so far."""

    @property
    def community(self) -> CommunityView | None:
        """The community as it may be known now; None where the run goes without one."""
        return None if self.community_at is None else self.community_at(self.clock.as_of())

    @property
    def task(self) -> TaskText:
        """What a prompt says of the task now."""
        return TaskText.from_card(self.card, self.notes(), self_reported=self.executor.self_reported is not None)

    @property
    def results(self) -> tuple[Result, ...]:
        """What the run has scored so far, as prompts show it."""
        return results(self.store, self.run_id, self.card.oriented)

    @property
    def left(self) -> tuple[str, ...]:
        """What is left to the run of time, money and the like, a line each."""
        lines = [f"{self.budget.left():.0f} s of {self.budget.seconds:.0f} s"]
        for level in self.spending.levels:
            left = level.remaining
            lines += [
                f"{words(kind, amount)} of the {level.name}'s budget"
                for kind in (Kind.MONEY, Kind.TOKENS, Kind.GPU_SECONDS)
                if (amount := left[kind]) is not None
            ]
        return tuple(lines)

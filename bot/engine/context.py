"""The services and facts that a run's parts share; passed to them, never global."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TypeVar

from pydantic import BaseModel

from bot.budgets.kinds import Kind, words
from bot.budgets.levels import Level, unbounded
from bot.engine.budget import RunBudget
from bot.engine.decisions import Decisions
from bot.engine.experiments import ExperimentLog
from bot.engine.fits import PortfolioFits
from bot.engine.results import BlendSoFar, Result, newest_blend, results
from bot.engine.run_record import RunRecord
from bot.engine.strategy import Remaining, Script
from bot.engine.tree import BASELINE, TreeCache
from bot.evaluation.client.worker import Worker
from bot.execution.executor import Executor
from bot.execution.machine import Machine
from bot.execution.task import OwnerNote, TaskText
from bot.knowledge.retrieval import Retriever
from bot.knowledge.similarity import TextSimilarity, WordSimilarity
from bot.models.ask import Asker
from bot.notebooks.limits import NotebookLimits
from scrapers.snapshots.card import TaskCard
from state.clock import Clock
from state.community import CommunityView
from state.steps import Steps
from state.store import Store

FIRST_ANSWER_SHARE = 0.05
"""Share of a run's time in which its first script is expected to be written."""
SettingsT = TypeVar("SettingsT", bound=BaseModel)


@dataclass(frozen=True)
class RunContext:
    """One run's services and facts."""

    run_id: str
    card: TaskCard
    seed: int
    store: Store
    steps: Steps
    clock: Clock
    asker: Asker
    model_name: str
    executor: Executor
    budget: RunBudget
    machine: Machine
    preview: str
    baseline: Callable[[TaskText, str], Script]
    decisions: Decisions
    community_at: Callable[[datetime], CommunityView] | None
    """Returns the community as of a time; None if the run has none."""
    say: Callable[[str], None]
    slots: int = 1
    """Maximum number of nodes at a time."""
    spending: Level = field(default_factory=unbounded)
    tree_cache: TreeCache = field(default_factory=TreeCache, repr=False, compare=False)
    """The tree as `load_tree` last read it."""
    learning: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False, compare=False)
    """Held while posts are analysed."""
    new_score: asyncio.Event = field(default_factory=asyncio.Event, repr=False, compare=False)
    """Set when a script has been scored, and cleared when a blend is fitted."""
    blended: asyncio.Event = field(default_factory=asyncio.Event, repr=False, compare=False)
    """Set when the newest blend considers all scored scripts, and cleared when a script has been scored."""
    experiments: ExperimentLog | None = None
    """The experiments that labs log; None: there are no labs, or no labels could be withheld."""
    fits: PortfolioFits | None = None
    own_data: bool = False
    """Whether the task has the user's own data, whose script must predict new rows."""
    blender: Worker | None = None
    """Fits blends; None: nothing is blended."""
    simple: tuple[Script, ...] = ()
    """Simple models that a result of own data is compared with: baselines after the first one."""
    notes: Callable[[], tuple[OwnerNote, ...]] = tuple
    knowledge: Retriever | None = None
    """Finds entries of the knowledge base for prompts; None if the run uses none."""
    similarity: TextSimilarity = field(default_factory=WordSimilarity)
    notebook_limits: NotebookLimits = field(default_factory=NotebookLimits)
    agent_settings: Sequence[BaseModel] = ()
    """Settings of the agent and of what it uses; the engine does not read them."""

    def settings_of(self, kind: type[SettingsT]) -> SettingsT:
        """Return the run's settings of one class, or its defaults."""
        return next((section for section in self.agent_settings if isinstance(section, kind)), None) or kind()

    @property
    def takes_notebooks(self) -> bool:
        """Whether notebooks are submitted, which Kaggle runs again on hidden test rows."""
        return self.card.kind == "code"

    @property
    def needs_scripts(self) -> bool:
        """Whether whole scripts are submitted, and experiments only guide: notebooks, own data, unlabelled views."""
        return self.takes_notebooks or self.own_data or self.executor.self_reported is not None

    @property
    def community(self) -> CommunityView | None:
        """The community as of now; None if the run has none."""
        return None if self.community_at is None else self.community_at(self.clock.as_of())

    @property
    def task(self) -> TaskText:
        """The task for prompts, with the owner's notes so far."""
        by_itself = self.executor.self_reported is not None
        return TaskText.from_card(
            self.card, self.notes(), self_reported=by_itself, stores_models=self.own_data, limits=self.notebook_limits
        )

    @property
    def results(self) -> tuple[Result, ...]:
        """The run's results so far, for prompts; without a spare baseline."""
        with self.store.read() as session:
            lines = results(RunRecord.load(session, self.run_id, self.clock.as_of()))
        return tuple(line for line in lines if not (self.tree_cache.spare_baseline and line.node == BASELINE))

    @property
    def blend(self) -> BlendSoFar | None:
        """The newest blend, for prompts."""
        return newest_blend(self.store, self.run_id)

    @property
    def answer_seconds(self) -> float:
        """Expected seconds to write the next script: those of the slowest so far."""
        return self.asker.longest_answer("coder", FIRST_ANSWER_SHARE * self.budget.seconds)

    def remaining(self, nodes: int, best_seconds: float | None) -> Remaining:
        """Return the remaining time or steps, and money, for a policy; see `RunBudget.remaining`."""
        money = self.spending.share_left(Kind.MONEY, Kind.TOKENS)
        return replace(self.budget.remaining(nodes, best_seconds), money=money)

    @property
    def remaining_lines(self) -> tuple[str, ...]:
        """The run's remaining time, money and so on, a line each."""
        lines = [f"{self.budget.seconds_left():.0f} s of {self.budget.seconds:.0f} s"]
        for level in self.spending.levels:
            # Most of what requests in progress have reserved comes back.
            lines += [
                f"{words(kind, max(0.0, cap - level.amount_spent(kind)))} of the {level.name}'s budget"
                for kind in (Kind.MONEY, Kind.TOKENS, Kind.GPU_SECONDS)
                if (cap := level.caps.cap_of(kind)) is not None
            ]
        return tuple(lines)

"""The settings that replays and live runs have in common."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from bot.budgets.settings import BudgetSettings
from bot.knowledge.base import Shown
from bot.knowledge.settings import KnowledgeSettings
from sandbox import BackEndChoice, Limits
from sandbox.rules import RuleSettings

_TASKS_A_CORE = 32
"""Processes and threads: joblib's workers each bring threads of their own."""


class RunSettings(BaseModel):
    """One run's settings, whether it is a replay or live."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str = Field(default="builtin", description="`builtin`, `openai:NAME` or `recorded:DIR`")
    roles: dict[str, str] = Field(default={}, description="the model of a role, where it is not that of `model`")
    record: Path | None = Field(default=None, description="folder that receives a recording of every model call")
    seconds: float = Field(gt=0, description="wall time to the run's exit")
    max_cost: float | None = Field(default=None, ge=0, description="USD")
    max_tokens: int | None = Field(default=None, ge=0, description="new tokens: sent and not cached, or received")
    steps: int | None = Field(default=None, ge=1, description="nodes, the baseline included")
    seed: int = 0
    split_seed: int | None = Field(
        default=None, description="of the rows that are withheld, and of folds; none: the seed"
    )
    sandbox: BackEndChoice = "auto"
    image: str | None = Field(default=None, description="name and id of the image that containers are made from")
    runtime: str | None = Field(default=None, description="of containers; none: the engine's default")
    parallel: int = Field(default=1, ge=1, description="nodes worked on at a time")
    environment: str | None = Field(default=None, description="that scripts run with; none: the bot's own packages")
    cpus: int = Field(ge=1)
    memory_bytes: int = Field(default=Limits.memory_bytes, gt=0, description="of one script")
    written_bytes: int = Field(default=Limits.written_bytes, gt=0, description="that one script may write")
    gpus: int = Field(default=0, ge=0, description="GPUs that an execution holds")
    config: Path | None = Field(default=None, description="bot.toml")
    blend: bool = Field(default=True, description="whether the scored scripts are blended")
    calls_in_flight: int = Field(default=8, ge=1, description="model calls at once, over the whole run")
    watch: RuleSettings = RuleSettings()
    budget: BudgetSettings = BudgetSettings()
    knowledge: Shown = Field(default="clock", description="which entries of the knowledge base prompts may hold")
    knowledge_base: KnowledgeSettings = KnowledgeSettings()
    weights: Path | None = Field(default=None, description="folder of pretrained weights; none: go without")

    @property
    def limits(self) -> Limits:
        """What one script may use; its time is limited by the run's alone."""
        tasks = max(Limits.processes, _TASKS_A_CORE * self.cpus)
        return Limits(self.seconds, self.memory_bytes, tasks, self.written_bytes, cpus=self.cpus)

    @property
    def caps(self) -> BudgetSettings:
        """The budget, in which `max_cost` and `max_tokens` replace the configured caps of a run."""
        return self.budget.with_run(money=self.max_cost, tokens=self.max_tokens)

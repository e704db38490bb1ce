"""The settings of a run that the engine reads: its options, and their consequences on this machine."""

import math
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field

from bot.budgets.settings import BudgetSettings, Caps
from bot.knowledge.settings import KnowledgeMode, KnowledgeSettings
from sandbox import BackEndChoice, Limits
from sandbox.rules import RuleSettings
from state.closed import ClosedModel, Option

_TASKS_A_CORE = 32
"""Processes and threads: joblib's workers each bring threads of their own."""
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def _seconds(value: object) -> object:
    """Read `90s`, `5m`, `5h` or plain seconds."""
    if not isinstance(value, str):
        return value
    number, unit = (value[:-1], _UNITS[value[-1]]) if value[-1:] in _UNITS else (value, 1.0)
    try:
        seconds = float(number) * unit
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < math.inf:
        raise ValueError("must be a positive duration, such as 90s, 5m or 5h")
    return seconds


Seconds = Annotated[float, BeforeValidator(_seconds), Field(gt=0, lt=math.inf)]
"""Seconds, or a text such as `90s`, `5m` or `5h`."""


class SearchOptions(ClosedModel):
    """The options of any run, a replay or a live one."""

    seed: Annotated[int, Option()] = Field(default=0, description="seed of all random choices")
    blend: Annotated[bool | None, Option()] = Field(
        default=None,
        description="combine predictions into an ensemble (default: yes, except for agents whose papers have none, such as aide)",
        examples=[False],
    )
    knowledge: Annotated[KnowledgeMode, Option()] = Field(
        default="clock",
        description="entries of the knowledge base that prompts may contain: those known at the clock's time, all, or none",
    )
    budget: Caps = Field(default=Caps(), description="Caps on one run, its spending before a resume included.")
    watch: RuleSettings = Field(default=RuleSettings(), description="When a running script is stopped early.")


class MachineOptions(ClosedModel):
    """The options of a run that has this machine to itself."""

    # The papers' first budget for a competition.
    time: Annotated[Seconds, Option()] = Field(
        default=5 * 3600.0, description="wall time of a run until its exit, such as 90s, 5m or 5h"
    )
    steps: Annotated[int | None, Option()] = Field(
        default=None, ge=1, description="maximum number of nodes, including the baseline", examples=[20]
    )
    split_seed: Annotated[int, Option()] = Field(
        default=0, description="seed of the withheld rows; runs with the same one can be compared"
    )
    parallel: Annotated[int, Option()] = Field(default=1, ge=1, description="number of nodes to work on in parallel")
    sandbox: Annotated[BackEndChoice, Option()] = Field(
        default="auto", description="where generated code runs; auto: the first of these that works"
    )
    cpus: Annotated[int | None, Option()] = Field(
        default=None,
        ge=1,
        description="cores per script (default: all, divided among concurrent scripts)",
        examples=[4],
    )
    gpus: Annotated[int | None, Option()] = Field(
        default=None, ge=0, description="GPUs per script (default: 1 if the machine has one)", examples=[1]
    )


class RunSettings(SearchOptions, MachineOptions):
    """One run's settings, with the consequences of the options on this machine."""

    model: str = Field(default="builtin", description="`builtin`, `openai:NAME` or `recorded:DIR`")
    roles: dict[str, str] = Field(default={}, description="the model of a role, where it is not that of `model`")
    record: Path | None = Field(default=None, description="folder that receives a recording of every model call")
    blend: bool = True
    cpus: int = Field(ge=1)
    gpus: int = Field(default=0, ge=0)
    image: str | None = Field(default=None, description="name and id of the image that containers are made from")
    runtime: str | None = Field(default=None, description="of containers; none: the engine's default")
    environment: str | None = Field(default=None, description="that scripts run with; none: the bot's own packages")
    memory_bytes: int = Field(default=Limits.memory_bytes, gt=0, description="of one script")
    written_bytes: int = Field(default=Limits.written_bytes, gt=0, description="that one script may write")
    config: Path | None = Field(default=None, description="bot.toml")
    calls_in_flight: int = Field(default=8, ge=1, description="model calls at once, over the whole run")
    budget_of_all: BudgetSettings = BudgetSettings()
    knowledge_base: KnowledgeSettings = KnowledgeSettings()
    weights: Path | None = Field(default=None, description="folder of pretrained weights; none: go without")

    @property
    def limits(self) -> Limits:
        """The limits of one script; its time is limited by the run's alone."""
        tasks = max(Limits.processes, _TASKS_A_CORE * self.cpus)
        return Limits(self.time, self.memory_bytes, tasks, self.written_bytes, cpus=self.cpus)

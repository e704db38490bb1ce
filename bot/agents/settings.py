"""A run's settings: the table `[run]` of bot.toml and of a plan, the options of commands, and the record of it all."""

from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, Field

from bot.agents import AgentName, agent_of
from bot.agents.comind.settings import RoundsSettings
from bot.agents.tree.settings import AdaptiveSettings, TreeSearchSettings
from bot.coder.coder_config import ChosenCoder
from bot.coder.lab.settings import LabSettings
from bot.community.reproduction.settings import ReproductionSettings
from bot.community.settings import ReadingSettings
from bot.engine.settings import MachineOptions, RunSettings, SearchOptions
from bot.evaluation.view_names import Withholding
from state.closed_model import Option
from state.settings_paths import SettingsPath


def _cutoff(value: object) -> object:
    """Read a time; without a zone it is UTC."""
    if not isinstance(value, str | datetime) or value == "deadline":
        return value
    try:
        time = datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        raise ValueError("must be `deadline` or a time such as 2017-11-20T00:00:00Z") from None
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


Cutoff = Annotated[datetime | Literal["deadline"], BeforeValidator(_cutoff)]


class RunOptions(SearchOptions):
    """What is chosen of any run and its agent."""

    agent: Annotated[AgentName, Option()] = Field(default="comind", description="agent that works on the competition")
    coder: Annotated[str | None, Option()] = Field(
        default=None,
        min_length=1,
        description="`lab` (a shell in a sandbox), `script` (whole scripts), or a coding agent: a preset, such as codex, or the "
        "NAME of a table [coders.NAME] (default: lab with a language model and a sandbox that supports labs, otherwise script)",
        examples=["codex"],
    )
    notes: Annotated[SettingsPath | None, Option()] = Field(
        default=None,
        description="folder with your notes (.md, .txt, .ipynb, .py), which are read like posts",
        examples=["notes"],
    )
    lab: LabSettings = Field(default=LabSettings(), description="Limits on each lab, and on labs per day.")
    reading: ReadingSettings = Field(
        default=ReadingSettings(), description="How much community content comind and its variants read."
    )
    reproduction: ReproductionSettings = Field(
        default=ReproductionSettings(),
        description="Public notebooks that comind runs.",
    )
    rounds: RoundsSettings = Field(
        default=RoundsSettings(), description="How comind works on drafts when it uses scripts instead of labs."
    )
    tree_search: TreeSearchSettings = Field(
        default=TreeSearchSettings(),
        description="Tree search used by aide, its variants and automind; defaults depend on the agent.",
    )
    adaptive_coding: AdaptiveSettings = Field(
        default=AdaptiveSettings(), description="When automind splits a script into substeps that run separately."
    )


class ReplayOptions(RunOptions, MachineOptions):
    """What is chosen of a replay; the fields of `RunOptions`, sandbox, cpus and gpus hold for live runs as well."""

    cutoff: Annotated[Cutoff, Option()] = Field(
        default="deadline",
        description="`deadline`, or an ISO time after the competition's start; the run sees nothing later",
    )
    pace: Annotated[Literal["all", "stream"], Option()] = Field(
        default="all",
        description="all: everything up to the cutoff is visible from the start; stream: the clock advances from the "
        "competition's start to the cutoff, per node if `steps` is set, otherwise with elapsed time",
    )
    signals: Annotated[Literal["asof", "collected"], Option()] = Field(
        default="asof",
        description="asof: votes, scores and tiers at the simulated time; collected: the same, but where those are "
        "unknown, the values at the time of collection",
    )
    community: Annotated[bool, Option()] = Field(
        default=True, description="show posts and public notebooks to the agent"
    )


class AgentRunSettings(RunSettings, RunOptions):
    """The settings of a run, an agent's among them, as its config.json records them."""

    chosen_coder: ChosenCoder = Field(default=ChosenCoder(), description="settings of the coder selected by `coder`")

    @property
    def in_labs(self) -> bool:
        """Whether the agent's coders work in labs with validation rows; `solo` has a lab with the competition's own files."""
        return "labs" in agent_of(self.agent).parts and self.chosen_coder.labs

    @property
    def withholding(self) -> Withholding:
        """How many labelled rows are withheld: `solo` has a lab but no validation rows of its own."""
        return "lab" if self.in_labs else "script"

    @property
    def spare_baseline(self) -> bool:
        """Whether the engine's baseline is submitted only where the agent has nothing else."""
        return "baseline" not in agent_of(self.agent).parts

    @property
    def of_agents(self) -> tuple[BaseModel, ...]:
        """Settings that the engine passes on to the agent."""
        search = (self.rounds, self.tree_search, self.adaptive_coding)
        return (self.reading, self.reproduction, *search, self.lab, self.chosen_coder)

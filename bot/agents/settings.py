"""A run's settings, its agent's among them."""

from pydantic import BaseModel

from bot.agents import AgentName
from bot.agents.comind.policy import RoundsSettings
from bot.agents.tree.settings import AdaptiveSettings, TreeSearchSettings
from bot.coder.lab.settings import LabSettings
from bot.coder.own import ChosenCoder
from bot.community.reproduction.settings import ReproductionSettings
from bot.community.settings import ReadingSettings
from bot.engine.settings import RunSettings


class AgentRunSettings(RunSettings):
    """The engine's settings with those of the agents."""

    agent: AgentName = "comind"
    reading: ReadingSettings = ReadingSettings()
    reproduction: ReproductionSettings = ReproductionSettings()
    rounds: RoundsSettings = RoundsSettings()
    tree_search: TreeSearchSettings = TreeSearchSettings()
    adaptive_coding: AdaptiveSettings = AdaptiveSettings()
    lab: LabSettings = LabSettings()
    coder: ChosenCoder = ChosenCoder()

    @property
    def of_agents(self) -> tuple[BaseModel, ...]:
        """Settings that the engine passes on to the agent."""
        return (
            self.reading,
            self.reproduction,
            self.rounds,
            self.tree_search,
            self.adaptive_coding,
            self.lab,
            self.coder,
        )

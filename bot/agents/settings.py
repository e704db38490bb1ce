"""What every run is told, with the settings of the agents that may work on it."""

from pydantic import BaseModel

from bot.agents import AgentName
from bot.agents.comind.policy import RoundsSettings
from bot.agents.tree.policy import TreeSearchSettings
from bot.coder.lab.settings import LabSettings
from bot.community.settings import ReadingSettings
from bot.engine.settings import RunSettings


class AgentRunSettings(RunSettings):
    """One run's settings, its agent's among them."""

    agent: AgentName = "comind"
    reading: ReadingSettings = ReadingSettings()
    rounds: RoundsSettings = RoundsSettings()
    tree_search: TreeSearchSettings = TreeSearchSettings()
    lab: LabSettings = LabSettings()

    @property
    def of_agents(self) -> tuple[BaseModel, ...]:
        """What the engine hands on to the agent as it is."""
        return self.reading, self.rounds, self.tree_search, self.lab

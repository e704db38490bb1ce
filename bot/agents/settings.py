"""A run's settings, its agent's among them."""

from pydantic import BaseModel

from bot.agents import AgentName, agent_of
from bot.agents.comind.policy import RoundsSettings
from bot.agents.tree.settings import AdaptiveSettings, TreeSearchSettings
from bot.coder.lab.settings import LabSettings
from bot.coder.own import ChosenCoder
from bot.community.reproduction.settings import ReproductionSettings
from bot.community.settings import ReadingSettings
from bot.engine.settings import RunSettings
from bot.evaluation.answers.view_names import Withholding


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
    def in_labs(self) -> bool:
        """Whether the agent's coders work in labs with validation rows; `solo` has a lab with the competition's own files."""
        return "labs" in agent_of(self.agent).parts and self.rounds.coder == "lab"

    @property
    def withholding(self) -> Withholding:
        """How many labelled rows are withheld: `solo` has a lab but no validation rows of its own."""
        return "lab" if self.in_labs else "script"

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

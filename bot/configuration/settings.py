"""All tables of bot.toml; each one's model stays with the part that reads it."""

from pydantic import Field

from bot.agents.settings import ReplayOptions
from bot.budgets.settings import BudgetSettings
from bot.coder.coder_config import CoderName, CoderSection
from bot.configuration.competition import CompetitionSettings, Slug
from bot.configuration.daemon import DaemonSettings
from bot.configuration.web import WebSettings
from bot.execution.disk_space import DiskSettings
from bot.knowledge.settings import KnowledgeSettings
from bot.models.sections import ModelsSection
from bot.notify.settings import NotifySection
from bot.weights.settings import WeightsSettings
from sandbox.settings import FleetSettings, LeaseSettings, SandboxSettings
from scrapers.kaggle.polling.settings import PollingSettings
from scrapers.kaggle.settings import KaggleSection
from state.closed_model import ClosedModel


class Settings(ClosedModel):
    """The settings of a bot.toml, with defaults for missing keys."""

    run: ReplayOptions = Field(
        default=ReplayOptions(),
        description="Defaults for every run; a [competitions.SLUG] table, a plan's [run] table and options override them. "
        "Only replays use cutoff, pace, signals, community, time, steps, split_seed and parallel.",
    )
    models: ModelsSection = Field(
        default=ModelsSection(),
        description="Models and their endpoint. Keys do not belong in this file: the bot reads OPENAI_API_KEY from the "
        "environment or a systemd credential.",
    )
    budget: BudgetSettings = Field(
        default=BudgetSettings(),
        description="Caps on all runs together; the stricter of these and [run.budget] applies.",
    )
    sandbox: SandboxSettings = Field(
        default=SandboxSettings(), description="The sandbox for scripts: kind, packages, resource limits."
    )
    coders: dict[CoderName, CoderSection] = Field(
        default={},
        description="Your own coding agents, one per table [coders.NAME], which replace the bot's own agent in labs. Choose "
        "one with --coder NAME, or with coder = NAME for a competition.",
    )
    knowledge: KnowledgeSettings = Field(
        default=KnowledgeSettings(),
        description="The knowledge base: your own entries, and how texts are compared.",
    )
    leases: LeaseSettings = Field(default=LeaseSettings(), description="How scripts share cores and GPUs.")
    fleet: FleetSettings = Field(default=FleetSettings(), description="Other machines that run scripts and labs.")
    disk: DiskSettings = Field(default=DiskSettings(), description="The disk to which runs are written.")
    weights: WeightsSettings = Field(default=WeightsSettings(), description="Pretrained weights that scripts may use.")
    kaggle: KaggleSection = Field(
        default=KaggleSection(),
        description="Kaggle's address, and limits on requests to it. The key does not belong in this file: it is read from "
        "KAGGLE_API_TOKEN (an environment variable or a systemd credential) or from ~/.kaggle.",
    )
    polling: PollingSettings = Field(
        default=PollingSettings(),
        description="Seconds between polls of each part of a competition. With the defaults, the bot sends three requests "
        "every fifteen minutes for a competition without news.",
    )
    notify: NotifySection = Field(
        default=NotifySection(),
        description="Notifications sent to you. Service addresses contain tokens and passwords and do not belong in this "
        "file: list the environment variables or systemd credentials that hold them.",
    )
    daemon: DaemonSettings = Field(default=DaemonSettings(), description="The daemon.")
    web: WebSettings = Field(default=WebSettings(), description="The web dashboard.")
    competitions: dict[Slug, CompetitionSettings] = Field(
        default={},
        description="The competitions to work on, one per table [competitions.SLUG], where SLUG is the last part of the "
        "competition's address; all others are ignored. A table may also set keys of [run], except those for "
        "replays only.",
    )

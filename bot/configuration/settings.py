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
from state.closed import ClosedModel


class Settings(ClosedModel):
    """The settings of a bot.toml, with defaults for missing keys."""

    run: ReplayOptions = Field(
        default=ReplayOptions(),
        description="Defaults of every run; a table [competitions.SLUG], the [run] table of a plan and options override them. "
        "Only replays use cutoff, pace, signals, community, time, steps, split_seed and parallel.",
    )
    models: ModelsSection = Field(
        default=ModelsSection(),
        description="Models and their endpoint. Keys do not belong in this file: they are read from OPENAI_API_KEY, an "
        "environment variable or a systemd credential.",
    )
    budget: BudgetSettings = Field(
        default=BudgetSettings(),
        description="Caps over all runs together; the stricter of these and [run.budget] applies.",
    )
    sandbox: SandboxSettings = Field(
        default=SandboxSettings(), description="The sandbox of scripts: kind, packages, resource limits."
    )
    coders: dict[CoderName, CoderSection] = Field(
        default={},
        description="Your own coding agents, each a table [coders.NAME], which replace the bot's coder in labs; choose one "
        "with --coder NAME, or coder = NAME for a competition.",
    )
    knowledge: KnowledgeSettings = Field(
        default=KnowledgeSettings(),
        description="The knowledge base: your own entries, and how texts are compared.",
    )
    leases: LeaseSettings = Field(default=LeaseSettings(), description="How scripts share cores and GPUs.")
    fleet: FleetSettings = Field(default=FleetSettings(), description="Other machines that run scripts and labs.")
    disk: DiskSettings = Field(default=DiskSettings(), description="The disk that runs are written to.")
    weights: WeightsSettings = Field(default=WeightsSettings(), description="Pretrained weights that scripts may use.")
    kaggle: KaggleSection = Field(
        default=KaggleSection(),
        description="Kaggle's address, and limits on requests to it. The key does not belong in this file: it is read from "
        "KAGGLE_API_TOKEN (an environment variable or a systemd credential) or from ~/.kaggle.",
    )
    polling: PollingSettings = Field(
        default=PollingSettings(),
        description="Seconds between polls of each part of a competition; with the defaults, a competition without news costs "
        "three requests every fifteen minutes.",
    )
    notify: NotifySection = Field(
        default=NotifySection(),
        description="Notifications to the owner. Addresses of services contain tokens and passwords and do not belong in this "
        "file: it names the environment variables or systemd credentials that hold them.",
    )
    daemon: DaemonSettings = Field(default=DaemonSettings(), description="The daemon.")
    web: WebSettings = Field(default=WebSettings(), description="The status page.")
    competitions: dict[Slug, CompetitionSettings] = Field(
        default={},
        description="The competitions to work on, each a table [competitions.SLUG], where SLUG is the last part of the "
        "address; all others are ignored. Keys of [run] that are not for replays only may be set here too, for "
        "this competition.",
    )

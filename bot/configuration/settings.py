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
        description="Every run, unless a table [competitions.SLUG], the [run] of a plan or an option says otherwise. For "
        "replays alone are cutoff, pace, signals, community, time, steps, split_seed and parallel.",
    )
    models: ModelsSection = Field(
        default=ModelsSection(),
        description="Which models answer, and at which endpoint. Keys never stand in this file: they are read from "
        "OPENAI_API_KEY, in the environment or among systemd's credentials.",
    )
    budget: BudgetSettings = Field(
        default=BudgetSettings(),
        description="Caps on all runs together; of these and [run.budget] the tightest one holds.",
    )
    sandbox: SandboxSettings = Field(
        default=SandboxSettings(), description="What scripts run in, with which packages, and what one may use."
    )
    coders: dict[CoderName, CoderSection] = Field(
        default={},
        description="Coding agents of your own, each a table [coders.NAME], to work in labs in place of the bot's; "
        "--coder NAME, or coder = NAME for a competition, chooses one.",
    )
    knowledge: KnowledgeSettings = Field(
        default=KnowledgeSettings(),
        description="The knowledge base: entries of your own, and what texts are compared by.",
    )
    leases: LeaseSettings = Field(default=LeaseSettings(), description="How scripts share the machine.")
    fleet: FleetSettings = Field(default=FleetSettings(), description="Other machines that run scripts and labs.")
    disk: DiskSettings = Field(default=DiskSettings(), description="The disk that runs are written to.")
    weights: WeightsSettings = Field(default=WeightsSettings(), description="Pretrained weights that scripts may use.")
    kaggle: KaggleSection = Field(
        default=KaggleSection(),
        description="Where Kaggle is, and how carefully it is asked. Its key never stands in this file: it is read from "
        "KAGGLE_API_TOKEN, in the environment or among systemd's credentials, or from ~/.kaggle.",
    )
    polling: PollingSettings = Field(
        default=PollingSettings(),
        description="How often each part of a competition is read, in seconds; with these a competition without news costs "
        "three requests in a quarter of an hour.",
    )
    notify: NotifySection = Field(
        default=NotifySection(),
        description="How the owner is notified. The services' addresses never stand in this file, as they hold tokens and "
        "passwords: it names the variables or systemd credentials that hold them.",
    )
    daemon: DaemonSettings = Field(
        default=DaemonSettings(), description="How the daemon runs, whatever it competes in."
    )
    web: WebSettings = Field(
        default=WebSettings(), description="The page that shows what goes on, and takes the owner's orders."
    )
    competitions: dict[Slug, CompetitionSettings] = Field(
        default={},
        description="The competitions that are worked on, each a table [competitions.SLUG], where SLUG is the last part "
        "of its address; a competition without a table is left alone. The keys of [run] that are not of replays alone may stand "
        "here as well, and hold for this competition.",
    )

"""The tables `[daemon]` and `[competitions.<slug>]` of bot.toml: pure data."""

import os
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from bot.models.sections import Roles
from sandbox import BackEndChoice
from scrapers.kaggle.card.overrides import CardOverrides
from state.settings_paths import SettingsPath

__all__ = ["CompetitionSettings", "DaemonSettings", "Slug"]

Slug = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9-]*$")]
"""The last part of a competition's address."""


class DaemonSettings(BaseModel):
    """How the daemon runs, whatever it competes in."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    dir: SettingsPath | None = Field(
        default=None,
        description="the folder of bot.db and of the competitions' data; none: systemd's STATE_DIRECTORY, else "
        "kaggle-bot in the user's folder for state",
        examples=["/var/lib/kaggle-bot"],
    )
    rehearsal: bool = Field(
        default=False,
        description="whether the site is that of `bot rehearse`, by whose clock the daemon then goes",
    )
    slots: int = Field(default=1, ge=1, description="scripts that are worked on at a time, over all competitions")
    cpus: int | None = Field(
        default=None, ge=1, description="cores that a script may use; none: all, shared among the slots", examples=[4]
    )
    gpus: int | None = Field(
        default=None, ge=0, description="GPUs that a script holds; none: one where there is one", examples=[1]
    )
    sandbox: BackEndChoice = Field(
        default="auto", description="where generated code runs; auto: the first of these that works"
    )
    longest_script: float = Field(
        default=3600.0, gt=0, allow_inf_nan=False, description="seconds that no run of a script may take more of"
    )
    metrics_port: int | None = Field(
        default=None,
        ge=1,
        le=65535,
        description="the port on loopback at which figures about the daemon are served; none: they are not",
        examples=[9464],
    )
    log_format: Literal["auto", "text", "json"] = Field(
        default="auto", description="lines for people, one JSON object a line, or auto: the first on a terminal alone"
    )

    log_file: SettingsPath | None = Field(
        default=None,
        description="a file for the log, in place of stderr or systemd's journal; an earlier one is kept as FILE.1",
        examples=["/var/log/kaggle-bot/bot.log"],
    )
    log_file_mb: float = Field(
        default=10.0, gt=0, le=1_000, description="megabytes of log_file after which it is begun anew"
    )
    log_files: int = Field(default=5, ge=1, le=100, description="how many earlier log files are kept")
    keep_community_days: float = Field(
        default=90.0,
        ge=14,
        allow_inf_nan=False,
        description="days after a competition's end for which posts, boards, prompts and what was made of them are kept; "
        "scores, submissions, code and spending stay",
    )
    backups: int = Field(default=7, ge=1, le=366, description="how many daily backups of bot.db are kept")
    backups_gb: float = Field(
        default=5.0,
        gt=0,
        allow_inf_nan=False,
        description="gigabytes that daily backups take at most; the newest one is kept whatever it takes",
    )

    @property
    def folder(self) -> Path:
        """Where the state lies."""
        if self.dir:
            return self.dir.expanduser().absolute()
        if given := os.environ.get("STATE_DIRECTORY"):
            return Path(given.split(":")[0]).absolute()
        state = os.environ.get("XDG_STATE_HOME")
        return (Path(state) if state else Path.home() / ".local" / "state").absolute() / "kaggle-bot"


class CompetitionSettings(CardOverrides):
    """One competition that is worked on: by whom, for how much, and whether anything is sent.

    The other keys say what its task is; they go before whatever Kaggle says.
    """

    agent: Literal["comind", "aide"] = Field(default="comind", description="the agent that works on it")
    weight: float = Field(
        default=1.0,
        gt=0,
        allow_inf_nan=False,
        description="how much of the machine it gets, relative to the weights of the other competitions",
    )
    nodes_per_day: int = Field(
        default=48, ge=1, description="scripts that are begun on one day (UTC) at most, whatever else is left"
    )
    seed: int = Field(default=0, description="of what is drawn, such as the split of the data")
    submit: bool = Field(default=False, description="whether files are sent to Kaggle; none is unless this says true")
    approve: Literal["auto", "ask"] = Field(
        default="auto",
        description="whether what is to be sent goes at once (auto), or is held until a person approves it (ask)",
    )
    approval_hours: float = Field(
        default=24.0,
        gt=0,
        allow_inf_nan=False,
        description="hours after which what was held and nobody approved is not sent any more",
    )
    max_cost: float | None = Field(
        default=None, ge=0, allow_inf_nan=False, description="cap on money for it, in USD", examples=[50.0]
    )
    max_cost_per_day: float | None = Field(
        default=None,
        ge=0,
        allow_inf_nan=False,
        description="cap on money for it on one day (UTC), in USD",
        examples=[5.0],
    )
    submissions_per_day: int | None = Field(
        default=None,
        ge=1,
        description="files that are sent on one day (UTC) at most; Kaggle's limit holds as well",
        examples=[2],
    )
    max_submissions: int | None = Field(
        default=None, ge=0, description="files that are sent in all at most", examples=[60]
    )
    reserved_submissions: int = Field(
        default=0,
        ge=0,
        description="how many of max_submissions are kept for the last reserved_days before the deadline",
    )
    reserved_days: float = Field(
        default=3.0,
        ge=0,
        allow_inf_nan=False,
        description="days before the deadline from which the reserve may be used",
    )
    model: str | None = Field(
        default=None,
        min_length=1,
        description="the model of every role that roles does not name; none: as under [models]",
        examples=["large"],
    )
    roles: Roles = Field(
        default={},
        description="the model of a role, by the role's name; it goes before those under [models]",
        examples=[{"coder": "large"}],
    )

    @model_validator(mode="after")
    def _reserve_is_of_something(self) -> Self:
        if self.reserved_submissions and self.max_submissions is None:
            raise ValueError("has reserved_submissions, which are of max_submissions: give that as well")
        if self.max_submissions is not None and self.reserved_submissions > self.max_submissions:
            raise ValueError("must not have more reserved_submissions than max_submissions")
        return self

    @property
    def card(self) -> CardOverrides:
        """What is said of the task alone."""
        return CardOverrides(**{name: getattr(self, name) for name in CardOverrides.model_fields})

"""A table `[competitions.<slug>]` of bot.toml."""

from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from bot.agents import LiveAgentName
from bot.agents.settings import RunOptions
from bot.models.sections import Roles
from scrapers.kaggle.card.overrides import CardOverrides
from state.settings_paths import SettingsPath
from state.words import slug_of

Slug = Annotated[str, BeforeValidator(slug_of), Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9-]*$")]
"""The last part of a competition's address; the whole address is accepted."""


class CompetitionSettings(RunOptions, CardOverrides):
    """One competition to work on: its limits, whether files are submitted, its task, and the options of its runs.

    Keys that describe the task take precedence over Kaggle's own description.
    """

    agent: LiveAgentName = Field(default="comind", description="the agent that works on the competition")
    weight: float = Field(
        default=1.0,
        gt=0,
        allow_inf_nan=False,
        description="the competition's share of the machine, relative to the weights of other competitions",
    )
    nodes_per_day: int = Field(
        default=48,
        ge=1,
        description="maximum number of scripts per day (UTC)",
    )
    submit: bool = Field(default=False, description="whether to submit files to Kaggle")
    approve: Literal["auto", "ask"] = Field(
        default="auto",
        description="whether submissions are sent at once (auto) or held until you approve them (ask)",
    )
    approval_hours: float = Field(
        default=24.0,
        gt=0,
        allow_inf_nan=False,
        description="hours (real time, even in rehearsals) before you are reminded of a file that awaits approval",
    )
    max_cost: float | None = Field(
        default=None, ge=0, allow_inf_nan=False, description="maximum cost of the competition, in USD", examples=[50.0]
    )
    max_cost_per_day: float | None = Field(
        default=None,
        ge=0,
        allow_inf_nan=False,
        description="maximum cost per day (UTC), in USD",
        examples=[5.0],
    )
    rules_read: bool = Field(
        default=False,
        description="whether you have read the rules and the bot may take part; you can confirm this with "
        "`bot approve COMPETITION --rules` instead. Nothing is submitted until you do either",
    )
    submissions_per_day: int | None = Field(
        default=None,
        ge=1,
        description="maximum number of submissions per day (UTC), within Kaggle's own limit (default: Kaggle's limit minus "
        "one fifth, but at least one, which is reserved for submissions by people)",
        examples=[2],
    )
    max_submissions: int | None = Field(
        default=None, ge=0, description="maximum number of submissions in total", examples=[60]
    )
    reserved_submissions: int = Field(
        default=0,
        ge=0,
        description="number of submissions, out of max_submissions, reserved for the last reserved_days before the "
        "deadline",
    )
    reserved_days: float = Field(
        default=3.0,
        ge=0,
        allow_inf_nan=False,
        description="number of days before the deadline when reserved submissions become available",
    )
    notebook_hours: float = Field(
        default=9.0,
        gt=0,
        allow_inf_nan=False,
        description="for notebook competitions: Kaggle's time limit in hours, as stated on the competition's pages; the bot "
        "never pushes a notebook that would need more than 60% of it",
    )
    notebook_accelerator: str | None = Field(
        default=None,
        min_length=1,
        description="the accelerator for notebooks on Kaggle (default: CPU only)",
        examples=["NvidiaTeslaT4"],
    )
    notebook_rows: int | None = Field(
        default=None,
        ge=1,
        description="number of hidden test rows, if the competition's pages state it (default: ten times the public rows)",
        examples=[50_000],
    )
    notebook_wheels: SettingsPath | None = Field(
        default=None,
        description="a folder of wheels (.whl) that Kaggle lacks or has in a different version; they are uploaded with the "
        "weights and take precedence in notebooks",
        examples=["wheels"],
    )
    model: str | None = Field(
        default=None,
        min_length=1,
        description="the model for each role not listed in `roles` (default: the model under [models])",
        examples=["large"],
    )
    roles: Roles = Field(
        default={},
        description="models by role, which take precedence over [models]",
        examples=[{"coder": "large"}],
    )

    @model_validator(mode="after")
    def _reserve_is_of_something(self) -> Self:
        if self.reserved_submissions and self.max_submissions is None:
            raise ValueError("has reserved_submissions but no max_submissions: set max_submissions too")
        if self.max_submissions is not None and self.reserved_submissions > self.max_submissions:
            raise ValueError("must not have more reserved_submissions than max_submissions")
        return self

    @property
    def card(self) -> CardOverrides:
        """The keys that describe the task."""
        return CardOverrides(**{name: getattr(self, name) for name in CardOverrides.model_fields})

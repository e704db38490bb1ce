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
    """One competition to work on: its limits, whether files are submitted, its task, and what its runs do otherwise.

    Keys that describe the task take precedence over Kaggle's own description.
    """

    agent: LiveAgentName = Field(default="comind", description="the agent that works on it")
    weight: float = Field(
        default=1.0,
        gt=0,
        allow_inf_nan=False,
        description="how much of the machine it gets, relative to the weights of the other competitions",
    )
    nodes_per_day: int = Field(
        default=48,
        ge=1,
        description="scripts on one day (UTC) at most, after which nothing new is begun, whatever else is left",
    )
    submit: bool = Field(default=False, description="whether files are sent to Kaggle; none is unless this is true")
    approve: Literal["auto", "ask"] = Field(
        default="auto",
        description="whether files are submitted at once (auto), or held until you approve them (ask)",
    )
    approval_hours: float = Field(
        default=24.0,
        gt=0,
        allow_inf_nan=False,
        description="hours of real time, in rehearsals too, after which you are notified again of a file that awaits approval",
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
    rules_read: bool = Field(
        default=False,
        description="whether you have read the competition's rules and found that the bot may take part, as `bot approve "
        "COMPETITION --rules` says; nothing is sent before one of the two",
    )
    submissions_per_day: int | None = Field(
        default=None,
        ge=1,
        description="files that are sent on one day (UTC) at most; Kaggle's limit holds as well; none: a fifth of that, "
        "at least one, is kept for people",
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
    notebook_hours: float = Field(
        default=9.0,
        gt=0,
        allow_inf_nan=False,
        description="where notebooks are taken: hours that Kaggle gives one, as the competition's pages say; the bot pushes none "
        "that would take more than 60% of them",
    )
    notebook_accelerator: str | None = Field(
        default=None,
        min_length=1,
        description="the accelerator that a notebook asks Kaggle for; none: processors alone",
        examples=["NvidiaTeslaT4"],
    )
    notebook_rows: int | None = Field(
        default=None,
        ge=1,
        description="how many rows the hidden test data has, where the pages say so; none: ten times the public one",
        examples=[50_000],
    )
    notebook_wheels: SettingsPath | None = Field(
        default=None,
        description="a folder of wheels (.whl) of packages that Kaggle lacks, or has in another version; they go with the "
        "weights, and a notebook's script finds them first",
        examples=["wheels"],
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
        """The keys that describe the task."""
        return CardOverrides(**{name: getattr(self, name) for name in CardOverrides.model_fields})

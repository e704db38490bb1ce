"""What the owner says of a competition, in bot.toml: it goes before whatever else says otherwise."""

from datetime import UTC
from typing import Annotated, Literal

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, RootModel

from scrapers.card import Direction

__all__ = ["CardOverrides", "CompetitionOverrides"]

_Column = Annotated[str, Field(min_length=1)]
_Utc = Annotated[AwareDatetime, AfterValidator(lambda time: time.astimezone(UTC))]


class CardOverrides(BaseModel):
    """The table `[competitions.<slug>]` of bot.toml: fields of the task card, and which file is the sample."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    metric: str | None = Field(default=None, min_length=1, description="the official metric's name in this program")
    metric_params: dict[str, float | bool | str] | None = Field(default=None, description="its parameters, such as eps")
    direction: Direction | None = Field(default=None, description="whether less or more is better")
    id_column: _Column | None = Field(default=None, description="the column that names a submission's row")
    prediction_columns: tuple[_Column, ...] | None = Field(
        default=None, min_length=1, description="the others, in order"
    )
    submission_file: Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9._-]*$")] | None = Field(
        default=None, description="the submission's name"
    )
    kind: Literal["csv", "code"] | None = Field(default=None, description="whether a file or a notebook is handed in")
    enabled_at: _Utc | None = Field(default=None, description="when the competition began")
    deadline: _Utc | None = Field(default=None, description="when it ends")
    max_daily_submissions: int | None = Field(default=None, ge=1, description="submissions a UTC day")
    sample_submission: str | None = Field(
        default=None, min_length=1, description="which data file is the sample submission"
    )


class CompetitionOverrides(RootModel[dict[str, CardOverrides]]):
    """The section `[competitions]` of bot.toml: a table for each competition, by the last part of its address."""

    root: dict[str, CardOverrides] = {}

    def of(self, slug: str) -> CardOverrides:
        """Return what is said of a competition; nothing where it is not named."""
        return self.root.get(slug, CardOverrides())

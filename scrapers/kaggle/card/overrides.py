"""What the owner says of a competition, in bot.toml: it goes before whatever else says otherwise."""

from datetime import UTC
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, AwareDatetime, Field, ValidationInfo

from scrapers.snapshots.card import OWN_GRADER, Direction
from state.closed_model import ClosedModel
from state.settings_paths import beside_file

_Column = Annotated[str, Field(min_length=1)]
_Utc = Annotated[AwareDatetime, AfterValidator(lambda time: time.astimezone(UTC))]
_FIELD_GROUPS = (
    frozenset(("metric", "metric_params", "direction")),
    frozenset(("id_column", "key_columns", "prediction_columns")),
)


def _metric(value: str, info: ValidationInfo) -> str:
    return str(beside_file(Path(value), info)) if Path(value).name == OWN_GRADER else value


class CardOverrides(ClosedModel):
    """Keys of a table `[competitions.<slug>]` of bot.toml: fields of the task card, and which file is the sample."""

    metric: Annotated[str, AfterValidator(_metric)] | None = Field(
        default=None,
        min_length=1,
        description=f"name of the metric, or path of a {OWN_GRADER} that computes it",
        examples=["mae"],
    )
    metric_params: dict[str, float | bool | str] | None = Field(
        default=None, description="parameters of the metric, such as eps", examples=[{"eps": 1e-7}]
    )
    direction: Direction | None = Field(
        default=None, description="whether to minimize or maximize the metric", examples=["minimize"]
    )
    id_column: _Column | None = Field(
        default=None, description="column that identifies the rows of the submission", examples=["id"]
    )
    key_columns: tuple[_Column, ...] | None = Field(
        default=None,
        min_length=1,
        description="additional columns that identify a row together with the id",
        examples=[["class"]],
    )
    prediction_columns: tuple[_Column, ...] | None = Field(
        default=None, min_length=1, description="prediction columns, in order", examples=[["price"]]
    )
    submission_file: Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9._-]*$")] | None = Field(
        default=None, description="name of the submission file", examples=["submission.csv"]
    )
    kind: Literal["csv", "code"] | None = Field(
        default=None, description="what you submit: files (csv) or notebooks (code)", examples=["csv"]
    )
    enabled_at: _Utc | None = Field(
        default=None, description="start time of the competition", examples=["2027-01-01T00:00:00Z"]
    )
    deadline: _Utc | None = Field(default=None, description="competition deadline", examples=["2027-04-01T00:00:00Z"])
    max_daily_submissions: int | None = Field(default=None, ge=1, description="submissions per UTC day", examples=[5])
    sample_submission: str | None = Field(
        default=None, min_length=1, description="name of the sample submission file", examples=["sample_submission.csv"]
    )

    def over(self, read: "CardOverrides") -> "CardOverrides":
        """Merge both, these keys first; metric keys come from one of them, and so do columns, but either may direct a grader."""
        stated = {name: value for name in CardOverrides.model_fields if (value := getattr(self, name)) is not None}
        remaining = read.model_dump(exclude_none=True, exclude=set(stated))
        for group in _FIELD_GROUPS:
            if stated.keys() & group and not (self.grader and remaining.keys() & group == {"direction"}):
                remaining = {name: value for name, value in remaining.items() if name not in group}
        return CardOverrides(**remaining | stated)

    @property
    def grader(self) -> Path | None:
        """The file that scores in place of a metric of ours, if `metric` is the path of one."""
        path = Path(self.metric or "").expanduser()
        return path.absolute() if path.name == OWN_GRADER else None

"""The task card: the engine's only description of a task."""

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from state.closed_model import ClosedModel

Direction = Literal["minimize", "maximize"]

OWN_GRADER = "grade.py"
"""The metric's name if it is not one of ours, but a file that defines `grade(submission, answers)`."""


class MetricSpec(ClosedModel):
    """The official metric by its registry name, its direction, and its parameters."""

    name: str
    direction: Direction
    params: dict[str, Any] = Field(default_factory=dict)


class TaskCard(ClosedModel):
    """The engine's knowledge of a task; an agent never sets or changes it."""

    slug: str
    title: str
    category: str
    description: str
    metric: MetricSpec
    id_column: str
    key_columns: tuple[str, ...] = ()
    """Further columns that the sample submission fills in; with the id they identify a row (the class of a mask)."""
    prediction_columns: tuple[str, ...]
    submission_file: str = "submission.csv"
    kind: Literal["csv", "code"] = "csv"
    enabled_at: datetime
    deadline: datetime
    max_daily_submissions: int | None = None
    split: str | None = None
    sources: dict[str, str] = Field(default_factory=dict)

    @property
    def row_columns(self) -> tuple[str, ...]:
        """The columns that identify a submission's row; rows that are equal in them are distinguished by their order."""
        return (self.id_column, *self.key_columns)

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns of a submission, the predictions last."""
        return (*self.row_columns, *self.prediction_columns)

    @property
    def lower_is_better(self) -> bool:
        """Whether a smaller score is better."""
        return self.metric.direction == "minimize"

    def oriented(self, score: float) -> float:
        """Return the score with its sign turned so that more is better."""
        return -score if self.lower_is_better else score

"""The rows of `community/`, one model per file, and the table rows they become.

Every field must be present, `null` if unknown; only a row's origin (`url`, `source`) and the readings of an observation
may be left out. Fields that the format does not name are ignored.
"""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from scrapers.posts.cleaning import clean
from scrapers.snapshots.fields import Identifier, UtcTime
from state.tables import KernelVersion, Message, Observation, Topic

TIERS = {
    "0": "NOVICE",
    "1": "CONTRIBUTOR",
    "2": "EXPERT",
    "3": "MASTER",
    "4": "GRANDMASTER",
    "5": "STAFF",
    "11": "ORGANIZATION",
}
"""Kaggle's numbers of tiers, and their names."""

Text = Annotated[str, AfterValidator(clean)]
Score = Annotated[float, Field(allow_inf_nan=False)]
Votes = Annotated[int, Field(ge=-(2**31), lt=2**31)]


class _Row(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


class TopicRow(_Row):
    """One line of `topics.jsonl`."""

    id: Identifier
    title: Text | None
    author: Text | None
    tier: Text | None
    posted_at: UtcTime | None
    votes: Votes | None
    url: Text | None = None
    source: Text | None = None

    def table_row(self, competition: str) -> Topic:
        """Return the row that the database holds."""
        values = self.model_dump(exclude={"source"}) | {"title": self.title or ""}
        return Topic(competition=competition, **values)


class MessageRow(_Row):
    """One line of `messages.jsonl`."""

    id: Identifier
    topic_id: Identifier
    parent_id: Identifier | None
    author: Text | None
    tier: Text | None
    posted_at: UtcTime | None
    edited_at: UtcTime | None
    votes: Votes | None
    markdown: Text | None
    deleted: bool | None
    source: Text | None = None

    def table_row(self, competition: str) -> Message:
        """Return the row that the database holds, still without its text."""
        values = self.model_dump(exclude={"source", "markdown"}) | {"deleted": bool(self.deleted)}
        return Message(competition=competition, **values)


class KernelRow(_Row):
    """One line of `kernels.jsonl`: a kernel version; `path` and `output` are relative to `community/`."""

    id: Identifier
    ref: Annotated[Text, Field(min_length=1)]
    version: int | None
    title: Text | None
    author: Text | None
    tier: Text | None
    created_at: UtcTime | None
    votes: Votes | None
    public_score: Score | None
    language: Text | None
    kind: Text | None
    datasets: list[Any] | None
    parent_ref: Text | None
    path: Annotated[str, Field(min_length=1)] | None
    url: Text | None = None
    source: Text | None = None
    output: Annotated[str, Field(min_length=1)] | None = None
    """The submission file that its run wrote."""

    def table_row(self, competition: str) -> KernelVersion:
        """Return the row that the database holds, still without its text."""
        values = self.model_dump(exclude={"source", "output"})
        values |= {"title": self.title or "", "datasets": self.datasets or []}
        return KernelVersion(competition=competition, **values)


class ObservationRow(_Row):
    """One line of `observations.jsonl`: how a reading stood at a time; None means that it was not read."""

    target: Literal["topic", "message", "kernel"]
    id: Identifier
    at: UtcTime
    votes: Votes | None = None
    public_score: Score | None = None
    tier: Text | None = None

    def table_row(self, competition: str) -> Observation:
        """Return the row that the database holds."""
        return Observation(competition=competition, target_id=self.id, **self.model_dump(exclude={"id"}))

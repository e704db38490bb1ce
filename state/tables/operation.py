"""The work of a daemon: its tasks, its sign of life, and what the owner says while it runs."""

from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import JSON, Index
from sqlmodel import Field, SQLModel


class Task(SQLModel, table=True):
    """Something to do once; all times are those of the store's clock."""

    __table_args__: ClassVar[Any] = (Index("ix_task_status", "status", "due_at"),)

    key: str = Field(primary_key=True)
    """Says what is done and for when, such as `poll:titanic:2026-11-20T10:00`: under one key it is done once."""
    kind: str
    """Who can do it."""
    competition: str = ""
    """Whose it is, empty: nobody's."""
    payload: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)
    """What there is to know besides the key; small JSON."""
    created_at: datetime
    due_at: datetime
    """Not begun before."""
    status: str = "queued"
    """See `TaskStatus`."""
    owner: str | None = None
    """Who works on it."""
    tried_at: datetime | None = None
    """When it was last begun, or put back to wait."""
    tries: int = 0
    """How often it was tried and failed."""
    interruptions: int = 0
    """How often the process died while it was worked on."""
    ended_at: datetime | None = None
    error: str | None = None
    """How the last try failed."""


class Pulse(SQLModel, table=True):
    """The last sign of life of something."""

    name: str = Field(primary_key=True)
    """Whose: `daemon`."""
    at: datetime
    text: str = ""
    """What it is doing, in one line."""


class Note(SQLModel, table=True):
    """The owner's word on a competition; it is kept as it was said."""

    __table_args__: ClassVar[Any] = (Index("ix_note_competition", "competition", "at"),)

    id: int | None = Field(default=None, primary_key=True)
    competition: str
    text: str
    at: datetime
    by: str
    """Who said it, as the machine knows him."""

    @property
    def item(self) -> str:
        """How a prompt that holds it names it, such as `note/3`."""
        return f"note/{self.id}"


class Control(SQLModel, table=True):
    """Whether a competition is worked on; one without a row is."""

    competition: str = Field(primary_key=True)
    state: str = "running"
    """See `ControlState`."""
    at: datetime
    by: str

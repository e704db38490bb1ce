"""The work of a daemon: its tasks, its sign of life, the owner's notes and controls, and notifications."""

from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import Index
from sqlmodel import Field, SQLModel


class Notification(SQLModel, table=True):
    """A notification, to reach the owner at least once; `run_id` None: of no run."""

    id: int | None = Field(default=None, primary_key=True)
    run_id: str | None = None
    key: str = Field(index=True, unique=True)
    """By it a receiver recognizes a duplicate."""
    kind: str
    title: str
    body: str
    urgent: bool = False
    created_at: datetime
    sent_at: datetime | None = Field(default=None, index=True)
    """When the last of the services received it."""


class Letter(SQLModel, table=True):
    """One message to one service: one notification, or several together; its text does not change between attempts."""

    __table_args__: ClassVar[Any] = (Index("ix_letter_key", "service", "key", unique=True),)

    id: int | None = Field(default=None, primary_key=True)
    service: str
    """The name under which its address is stored, never the address."""
    run_id: str | None = None
    key: str
    kind: str
    title: str
    body: str
    urgent: bool = False
    created_at: datetime
    due_at: datetime
    """Time of the first attempt, at the earliest."""
    tried_at: datetime | None = Field(default=None, index=True)
    """When the last attempt began."""
    sent_at: datetime | None = Field(default=None, index=True)
    attempts: int = 0
    last_error: str | None = None


class LetterPart(SQLModel, table=True):
    """The letter to a service that holds a notification; there is one at most."""

    notification_id: int = Field(primary_key=True)
    service: str = Field(primary_key=True)
    letter_id: int = Field(index=True)


class Task(SQLModel, table=True):
    """Work to do once; all times are those of the store's clock."""

    __table_args__: ClassVar[Any] = (Index("ix_task_status", "status", "due_at"),)

    key: str = Field(primary_key=True)
    """What is done and for when, such as `poll:titanic:2026-11-20T10:00`: work with the same key is done once."""
    kind: str
    """Selects the worker that can do it."""
    competition: str = ""
    """Its slug; empty if it belongs to none."""
    created_at: datetime
    due_at: datetime
    """The earliest time to begin."""
    status: str = "queued"
    """See `TaskStatus`."""
    owner: str | None = None
    """Who works on it."""
    tried_at: datetime | None = None
    """When it last began, or was put back to wait."""
    tries: int = 0
    """Number of failed tries."""
    interruptions: int = 0
    """Number of times the process died while working on it."""
    ended_at: datetime | None = None
    error: str | None = None
    """The error of the last try."""


class Heartbeat(SQLModel, table=True):
    """The last sign of life of a process."""

    name: str = Field(primary_key=True)
    """The process: `daemon`."""
    at: datetime
    text: str = ""
    """What it is doing, in one line."""


class Note(SQLModel, table=True):
    """The owner's note on a competition, in the owner's own words."""

    __table_args__: ClassVar[Any] = (Index("ix_note_competition", "competition", "at"),)

    id: int | None = Field(default=None, primary_key=True)
    competition: str
    text: str
    at: datetime
    by: str
    """The author's user name on the machine."""

    @property
    def item(self) -> str:
        """Its name in prompts, such as `note/3`."""
        return f"note/{self.id}"


class Control(SQLModel, table=True):
    """Whether a competition is worked on; a competition without a row is."""

    competition: str = Field(primary_key=True)
    state: str = "running"
    """See `ControlState`."""
    at: datetime
    by: str

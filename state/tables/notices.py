"""Notifications for the owner, and the messages that carry them."""

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

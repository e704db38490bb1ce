"""Submissions to a site, and a person's decisions on them."""

from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import Index
from sqlmodel import Field, SQLModel


class Submission(SQLModel, table=True):
    """One submission; `prediction_source` is `refit` or `holdout`; `tag` identifies it at the site."""

    run_id: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    """A number, counted from 1 within the run."""
    node: int
    tag: str = Field(index=True, unique=True)
    status: str
    """See `state.submissions.SubmissionStatus`."""
    prediction_source: str
    score: float | None = None
    at: datetime
    ref: str | None = None
    """The site's own name for it, once it is confirmed."""
    file_sha: str | None = None
    """sha256 (hex) of the file that is to be sent."""
    message: str | None = None
    """Why it is in doubt, or the site's reason for a refusal."""
    sent_at: datetime | None = None
    """When sending last began, or when it was found at the site without that; None: not sent."""


class Approval(SQLModel, table=True):
    """A submission that is held until its owner approves or refuses it."""

    __table_args__: ClassVar[Any] = (Index("ix_approval_submission", "run_id", "submission", unique=True),)

    id: int | None = Field(default=None, primary_key=True)
    """The number by which a person approves it."""
    run_id: str
    submission: str
    """Its number within the run."""
    asked_at: datetime
    announce_at: datetime | None = None
    """By the machine's clock, whatever the run's is: when the owner is to be told of it again; None: not told yet."""
    reason: str = ""
    """Why it is to be sent, and what to look at."""
    decision: str | None = None
    """See `state.approvals.Verdict`; None: undecided."""
    decided_at: datetime | None = None
    by: str | None = None
    """Who decided: a user of the machine, or `bot` if no decision is needed any more."""


class SubmissionRequest(SQLModel, table=True):
    """A node whose file a person wants submitted."""

    id: int | None = Field(default=None, primary_key=True)
    run_id: str = Field(index=True)
    node: int
    requested_at: datetime
    by: str
    seen_at: datetime | None = None
    """When a daemon last looked at it."""
    state: str = "open"
    """`open`, `intended` (it became a submission) or `refused`."""
    reason: str = ""
    """The daemon's answer."""
    submission: str | None = None
    """The submission it became."""

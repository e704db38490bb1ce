"""What is sent to a site, and what a person decides on it."""

from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import Index
from sqlmodel import Field, SQLModel


class Submission(SQLModel, table=True):
    """One handing in; `handed_in` is `refit`, `fold-average` or `holdout`, `tag` what it is found by at the site."""

    run_id: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    """A number, counted from 1 within the run."""
    node: int
    tag: str = Field(index=True, unique=True)
    status: str
    """See `state.outward.SubmissionStatus`."""
    handed_in: str
    score: float | None = None
    at: datetime
    ref: str | None = None
    """The site's own name for it, once it is confirmed."""
    file_sha: str | None = None
    """sha256 (hex) of the file that is to be sent."""
    message: str | None = None
    """Why it is in doubt, or the site's words where it was refused."""
    sent_at: datetime | None = None
    """When it was last begun to be sent, or seen at the site without that; None: it was not."""


class Approval(SQLModel, table=True):
    """A submission that is held until a person lets it go, refuses it, or its time is over."""

    __table_args__: ClassVar[Any] = (Index("ix_approval_submission", "run_id", "submission", unique=True),)

    id: int | None = Field(default=None, primary_key=True)
    """By which it is approved."""
    run_id: str
    submission: str
    """Its number within the run."""
    asked_at: datetime
    expires_at: datetime
    why: str = ""
    """Why it is to go, and what is to be looked at."""
    decision: str | None = None
    """See `state.approvals.Verdict`; None: nobody has said a word."""
    decided_at: datetime | None = None
    by: str | None = None
    """Who decided: a user of the machine, or `bot` where its time was over."""


class Wish(SQLModel, table=True):
    """A node whose file a person wants to be submitted."""

    id: int | None = Field(default=None, primary_key=True)
    run_id: str = Field(index=True)
    node: int
    wished_at: datetime
    by: str
    seen_at: datetime | None = None
    """When a daemon looked at it last."""
    state: str = "open"
    """`open`, `intended` (it became a submission) or `refused`."""
    why: str = ""
    """What the daemon said."""
    submission: str | None = None
    """What it became."""

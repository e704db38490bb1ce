"""Submission: which file is handed in, why, and how it reaches the site once."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

__all__ = ["Quota", "Submitter"]


@dataclass(frozen=True)
class Quota:
    """What the site still takes; `remaining` None: as many as one likes."""

    remaining: int | None
    resets_at: datetime | None = None
    """When there will be more, if the site says so."""


class Submitter(Protocol):
    """Hands files to a site; it does each act once and repeats none: `ExactlyOnce` decides on that.

    What it has begun must end with its process: a child of its own that still sends after the caller was killed would
    have to be through before `Patience.grace` is over.
    """

    async def quota(self) -> Quota:
        """Return what the site still takes.

        Raises:
            SiteUnavailable: the site cannot be asked.
        """
        ...

    async def submit(self, file: Path, tag: str) -> str:
        """Send a file under a tag, and return the site's own name for it.

        Raises:
            SubmissionRefused: the site will not take it, for good, with its words; nothing was done.
            NotSent: nothing was done, and later it may be; QuotaReached where the site takes none now.
            SiteUnavailable: it may or may not have been taken. Whatever else is raised is understood as this.
        """
        ...

    async def find(self, tag: str) -> str | None:
        """Return the site's name for what was sent under this tag, None where the site lists nothing of it.

        Raises:
            SiteUnavailable: the site cannot be asked; a tag is not missing because of that.
        """
        ...

    async def score(self, ref: str) -> float | None:
        """Return the public score, None while there is none.

        Raises:
            SubmissionRefused: the site found the file invalid, with its words.
            SiteUnavailable: the site cannot be asked.
        """
        ...

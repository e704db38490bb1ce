"""Submission: which file is submitted, why, and how it reaches the site exactly once."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True)
class Quota:
    """How many submissions the site still takes; `remaining` None: any number, or an unknown one."""

    remaining: int | None
    resets_at: datetime | None = None
    """When the quota is renewed, if the site reports it."""
    known: bool = True
    """False: the site has not said how many it takes, as before a team's first submission."""


class Submitter(Protocol):
    """Submits files to a site; each call acts once and never retries: `ExactlyOnce` decides on that.

    Whatever it starts must end with its process: a child process that went on sending after the caller was killed
    would have to finish within the grace of `ExactlyOnce`.
    """

    async def quota(self) -> Quota:
        """Return how many submissions the site still takes. Raises SiteUnavailable: the site cannot be asked."""

    async def submit(self, file: Path, tag: str) -> str:
        """Send a file under a tag, and return the site's own name for it.

        Raises:
            SubmissionRefused: the site refuses it for good, with the site's message; nothing was submitted.
            NotSent: nothing was submitted, but may be later; QuotaReached if the site takes none now.
            SiteUnavailable: it may or may not have arrived. Any other exception is treated as this one.
        """

    async def find(self, tag: str) -> str | None:
        """Return the site's name for the submission with this tag, None if the site does not list it.

        Raises SiteUnavailable: the site cannot be asked, which does not mean that the tag is missing.
        """

    async def score(self, ref: str) -> float | None:
        """Return the public score, None while there is none.

        Raises:
            SubmissionRefused: the site found the file invalid, with the site's message.
            SiteUnavailable: the site cannot be asked.
        """

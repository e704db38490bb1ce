"""The submitter for Kaggle: its three calls, each made once, and its list of submissions."""

from collections.abc import Awaitable
from datetime import timedelta
from pathlib import Path
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field

from bot.submission import Quota
from scrapers.kaggle.client import KaggleClient
from scrapers.kaggle.competitions import Competitions
from scrapers.kaggle.submissions import Created, SentFile, Status, Submissions
from state.errors import (
    BotError,
    Forbidden,
    KaggleError,
    NotAuthenticated,
    NotebooksOnly,
    NotFound,
    NotSent,
    QuotaReached,
    SiteUnavailable,
    SubmissionRefused,
    UnknownAnswer,
)

_NO_FILES = (
    'takes notebooks, not files: remove kind = "csv" from its table in bot.toml, and the bot submits notebooks there'
)


class Settling(BaseModel):
    """How long Kaggle may take to list what it has just received."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    looks: int = Field(default=5, ge=1, description="times to look for it")
    first: float = Field(default=2.0, ge=0, description="seconds before the second look; each later pause is doubled")


class KaggleSubmitter:
    """Submits files to one competition over HTTP; a `Submitter`."""

    notebooks: ClassVar[bool] = False
    """Whether what it submits are notebooks."""

    def __init__(self, client: KaggleClient, slug: str, file_name: str, settling: Settling | None = None) -> None:
        """Set it up.

        Args:
            client: asks Kaggle.
            slug: the competition.
            file_name: the file name that the competition asks for.
            settling: how long a submission may take to be listed.
        """
        self.client = client
        self._slug = slug
        self._file_name = file_name
        self._settling = settling or Settling()
        self._submissions = Submissions(client, slug)

    async def quota(self) -> Quota:
        """Return how many submissions Kaggle still takes; the quota is renewed at 00:00 UTC, and unknown for a new team.

        Raises:
            SiteUnavailable: Kaggle cannot be asked.
            KaggleError: this user may not submit there.
        """
        limits = await self._submissions.limits()
        today = (limits.served_at or self.client.clock.now()).replace(hour=0, minute=0, second=0, microsecond=0)
        resets = None if limits.limited_by_total else today + timedelta(days=1)
        if not limits.known:
            return Quota(remaining=None, resets_at=resets, known=False)
        return Quota(remaining=max(0, limits.num_allowed_now), resets_at=resets)

    async def submit(self, file: Path, tag: str) -> str:
        """Send a file with the tag as its description; see `Submitter.submit`."""
        await self._ensure_open()
        token = await self._uploaded(file)
        return await self._created(self._submissions.create(token, tag), tag)

    async def _created(self, sending: Awaitable[Created], tag: str) -> str:
        """Send a submission, and return Kaggle's number of it once Kaggle lists it; raises what `submit` raises."""
        try:
            created = await sending
        except (KaggleError, NotSent) as error:
            raise _refusal(error) from error
        if created.ref <= 0:
            raise SiteUnavailable(f"Kaggle gave the submission no number: {created.message or 'no reason given'}")
        return await self._confirmed(created.ref, tag)

    async def find(self, tag: str) -> str | None:
        """Return Kaggle's number of the submission with a tag; see `Submitter.find`."""
        async for sent in self._submissions.all():
            if sent.description.strip() == tag:
                if sent.ref <= 0:
                    raise SiteUnavailable(f"Kaggle lists {tag} without its number")
                return str(sent.ref)
        return None

    async def score(self, ref: str) -> float | None:
        """Return the public score; see `Submitter.score`."""
        try:
            sent = await self._submissions.get(int(ref))
        except NotFound:
            return None  # just after it was created, Kaggle may not know it yet
        if sent.status is Status.ERROR:
            raise SubmissionRefused(sent.error_description or "Kaggle found the file invalid, and gave no reason")
        return float(sent.public_score) if sent.status is Status.COMPLETE and sent.public_score else None

    async def _ensure_open(self) -> None:
        """Make sure that the competition takes submissions now.

        Raises:
            NotebooksOnly: it takes notebooks, and this is a file.
            NotSent: it takes nothing (not entered, over, closed), or Kaggle cannot be asked.
        """
        try:
            competition = await Competitions(self.client).get(self._slug)
        except (KaggleError, SiteUnavailable) as error:
            raise NotSent(f"nothing was sent: {error}", refused=isinstance(error, KaggleError)) from error
        now = competition.served_at or self.client.clock.now()
        if competition.is_kernels_submissions_only and not self.notebooks:
            raise NotebooksOnly(f"{self._slug} {_NO_FILES}")
        if not competition.user_has_entered:
            raise NotSent(f"{self._slug} is not entered: accept its rules on the website", refused=True)
        if competition.submissions_disabled or (competition.deadline and competition.deadline <= now):
            raise NotSent(f"{self._slug} takes no more submissions", refused=True)

    async def _confirmed(self, ref: int, tag: str) -> str:
        """Return Kaggle's number of a submission once Kaggle lists it.

        Raises:
            SiteUnavailable: Kaggle does not list that number, or lists another submission under it.
        """
        wait, sent = self._settling.first, None
        for look in range(self._settling.looks):
            if look:
                await self.client.clock.sleep(wait)
                wait *= 2
            if (sent := await self._shown(ref)) is not None:
                break
        if sent is None or sent.description.strip() != tag:
            raise SiteUnavailable(f"Kaggle accepted {tag} as {ref}, but does not list it")
        return str(ref)

    async def _shown(self, ref: int) -> SentFile | None:
        try:
            return await self._submissions.get(ref)
        except NotFound:
            return None

    async def _uploaded(self, file: Path) -> str:
        """Upload a file and return its token; an upload alone submits nothing."""
        try:
            size, modified = file.stat().st_size, int(file.stat().st_mtime)
            upload = await self._submissions.start_upload(self._file_name, size, modified)
            if not upload.token or not upload.create_url:
                raise UnknownAnswer("Kaggle gave no address for the upload")
            await self.client.put(upload.create_url, file)
        except SubmissionRefused:
            raise
        except QuotaReached:
            raise
        except (KaggleError, SiteUnavailable, OSError) as error:
            raise NotSent(f"nothing was sent: {error}", refused=isinstance(error, KaggleError)) from error
        return upload.token


def _refusal(error: BotError) -> BotError:
    """Translate Kaggle's refusal of a submission: this file is refused for good, or it may be sent later."""
    if isinstance(error, NotSent | SubmissionRefused):
        return error
    if isinstance(error, NotAuthenticated | Forbidden):
        return NotSent(f"nothing was sent: {error}", refused=True)
    if isinstance(error, UnknownAnswer):
        return SiteUnavailable(str(error))  # it may have been submitted

    return SubmissionRefused(str(error))

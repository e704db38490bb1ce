"""The submitter for Kaggle: its three calls, each made once, and its list of submissions."""

from collections.abc import Awaitable
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from bot.submission import Quota
from scrapers.kaggle.client import KaggleClient
from scrapers.kaggle.competitions import Competitions
from scrapers.kaggle.submissions import Created, KaggleStatus, KaggleSubmission, Submissions
from state.clock import midnight
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
from state.notebooks import notebook_state
from state.store import Store

_NO_FILES = 'accepts notebooks, not files: remove kind = "csv" from its table in bot.toml to submit notebooks'
_LOOKS, _FIRST_WAIT = 5, 2.0
"""Times to look for what Kaggle has just received, and seconds before the second look; each later pause is doubled."""


class KaggleSubmitter:
    """Submits files to one competition over HTTP; a `Submitter`."""

    notebooks: ClassVar[bool] = False
    """Whether what it submits are notebooks."""

    def __init__(self, client: KaggleClient, slug: str, file_name: str) -> None:
        self.client = client
        self._slug = slug
        self._file_name = file_name
        self._submissions = Submissions(client, slug)

    async def quota(self) -> Quota:
        """Return how many submissions Kaggle still takes; the quota is renewed at 00:00 UTC, and unknown for a new team.

        Raises SiteUnavailable: Kaggle cannot be asked; KaggleError: this user may not submit there.
        """
        limits = await self._submissions.limits()
        now = limits.served_at or self.client.clock.now()
        resets = None if limits.limited_by_total else midnight(now, 1)
        if not limits.known:
            return Quota(remaining=None, resets_at=resets, known=False)
        return Quota(remaining=max(0, limits.num_allowed_now), resets_at=resets)

    async def submit(self, file: Path, tag: str) -> str:
        """Send a file with the tag as its description; see `Submitter.submit`."""
        await self._ensure_open()
        token = await self._uploaded(file)
        return await self._created(self._submissions.create(token, tag), tag)

    async def _created(self, request: Awaitable[Created], tag: str) -> str:
        """Send a submission, and return Kaggle's number of it once Kaggle lists it; raises what `submit` raises."""
        try:
            created = await request
        except (KaggleError, NotSent) as error:
            raise _refusal(error) from error
        if created.ref <= 0:
            raise SiteUnavailable(f"Kaggle returned no submission ID: {created.message or 'no reason given'}")
        return await self._confirmed(created.ref, tag)

    async def find(self, tag: str) -> str | None:
        """Return Kaggle's number of the submission with a tag; see `Submitter.find`."""
        async for entry in self._submissions.all():
            if entry.description.strip() == tag:
                if entry.ref <= 0:
                    raise SiteUnavailable(f"Kaggle lists {tag} without a submission ID")
                return str(entry.ref)
        return None

    async def score(self, ref: str) -> float | None:
        """Return the public score; see `Submitter.score`."""
        try:
            entry = await self._submissions.get(int(ref))
        except NotFound:
            return None  # just after it was created, Kaggle may not know it yet
        if entry.status is KaggleStatus.ERROR:
            raise SubmissionRefused(entry.error_description or "Kaggle rejected the file as invalid and gave no reason")
        return float(entry.public_score) if entry.status is KaggleStatus.COMPLETE and entry.public_score else None

    async def _ensure_open(self) -> None:
        """Make sure that the competition takes submissions now.

        Raises:
            NotebooksOnly: it takes notebooks, and this is a file.
            NotSent: it takes nothing (not entered, over, closed), or Kaggle cannot be asked.
        """
        try:
            competition = await Competitions(self.client).get(self._slug)
        except (KaggleError, SiteUnavailable) as error:
            raise NotSent(f"nothing was submitted: {error}", refused=isinstance(error, KaggleError)) from error
        now = competition.served_at or self.client.clock.now()
        if competition.is_kernels_submissions_only and not self.notebooks:
            raise NotebooksOnly(f"{self._slug} {_NO_FILES}")
        if not competition.user_has_entered:
            raise NotSent(f"you have not entered {self._slug}: accept its rules on the website", refused=True)
        if competition.submissions_disabled or (competition.deadline and competition.deadline <= now):
            raise NotSent(f"{self._slug} accepts no more submissions", refused=True)

    async def _confirmed(self, ref: int, tag: str) -> str:
        """Return Kaggle's number of a submission once Kaggle lists it.

        Raises SiteUnavailable: Kaggle does not list that number, or lists another submission under it.
        """
        entry: KaggleSubmission | None = None
        for look in range(_LOOKS):
            if look:
                await self.client.clock.sleep(_FIRST_WAIT * 2 ** (look - 1))
            with suppress(NotFound):
                entry = await self._submissions.get(ref)
                break
        if entry is None or entry.description.strip() != tag:
            raise SiteUnavailable(f"Kaggle accepted {tag} as {ref}, but does not list it")
        return str(ref)

    async def _uploaded(self, file: Path) -> str:
        """Upload a file and return its token; an upload alone submits nothing."""
        try:
            size, modified = file.stat().st_size, int(file.stat().st_mtime)
            upload = await self._submissions.start_upload(self._file_name, size, modified)
            if not upload.token or not upload.create_url:
                raise UnknownAnswer("Kaggle returned no upload URL")
            await self.client.upload(upload.create_url, file)
        except (SubmissionRefused, QuotaReached):
            raise
        except (KaggleError, SiteUnavailable, OSError) as error:
            raise NotSent(f"nothing was submitted: {error}", refused=isinstance(error, KaggleError)) from error
        return upload.token


class NotebookSubmitter(KaggleSubmitter):
    """Submits notebooks to one competition over HTTP; a `Submitter` whose files are packages, kept under their hash.

    `Pushes` must have brought a package to Kaggle before. Quota, search and score are those of files.
    """

    notebooks: ClassVar[bool] = True

    def __init__(self, client: KaggleClient, slug: str, file_name: str, store: Store, run_id: str) -> None:
        """Set it up; `store` and `run_id` say which notebook a package has become, the rest is as for files."""
        super().__init__(client, slug, file_name)
        self._store, self._run_id = store, run_id

    async def submit(self, file: Path, tag: str) -> str:
        """Submit the notebook of a package (`<sha256>.zip`) with the tag as its description; see `Submitter.submit`."""
        with self._store.read() as session:
            notebook = notebook_state(session, self._run_id, file.stem)
        if notebook is None or notebook.stage != "ran":
            raise NotSent(f"the notebook of {tag} has not run on Kaggle")
        await self._ensure_open()
        request = self._submissions.create_from_notebook(notebook.ref, notebook.version, self._file_name, tag)
        return await self._created(request, tag)


def _refusal(error: BotError) -> BotError:
    """Translate Kaggle's refusal of a submission: this file is refused for good, or it may be sent later."""
    if isinstance(error, NotSent | SubmissionRefused):
        return error
    if isinstance(error, NotAuthenticated | Forbidden):
        return NotSent(f"nothing was submitted: {error}", refused=True)
    if isinstance(error, UnknownAnswer):
        return SiteUnavailable(str(error))  # it may have been submitted
    return SubmissionRefused(str(error))

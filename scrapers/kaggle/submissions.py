"""Kaggle's side of a submission: the quota, the upload of a file, and its status."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any

from scrapers.kaggle.client import KaggleClient, Method
from scrapers.kaggle.paging import all_pages
from scrapers.kaggle.wire import ApiResponse, Int, Items, PageOfItems, Text, Time, lenient_enum

_SERVICE = "competitions.CompetitionApiService"


class KaggleStatus(Enum):
    """A submission's status; the numbers are Kaggle's."""

    UNKNOWN = -1
    PENDING = 0
    COMPLETE = 1
    ERROR = 2


class KaggleSubmission(ApiResponse):
    """A submission as Kaggle has it; scores are text, empty while unknown."""

    ref: Int = 0
    date: Time = None
    status: Annotated[KaggleStatus, lenient_enum(KaggleStatus)] = KaggleStatus.PENDING
    public_score: Text = ""
    private_score: Text = ""
    file_name: Text = ""
    description: Text = ""
    error_description: Text = ""
    submitted_by: Text = ""
    team_name: Text = ""


class SentFiles(PageOfItems):
    """A page of submissions."""

    submissions: Annotated[tuple[KaggleSubmission, ...], Items] = ()


class SubmissionQuota(ApiResponse):
    """The quota; only the number allowed now is reliable."""

    num_today: Int = 0
    num_total: Int = 0
    num_allowed_now: Int = 0
    limited_by_total: bool = False

    @property
    def known(self) -> bool:
        """Whether it states anything: all are zero for a user who has no team yet, which has nothing to do with the day."""
        return bool(self.num_today or self.num_total or self.num_allowed_now or self.limited_by_total)


class UploadTarget(ApiResponse):
    """The address for an upload, and the token that then names the file."""

    token: Text = ""
    create_url: Text = ""


class Created(ApiResponse):
    """Kaggle's answer to a submission; it was accepted only if `ref` is above 0."""

    message: Text = ""
    ref: Int = 0


@dataclass(frozen=True)
class Submissions:
    """One competition's submissions of this user; errors as of `KaggleClient`."""

    client: KaggleClient
    slug: str

    async def limits(self) -> SubmissionQuota:
        """Return the quota."""
        return await self.client.call(_method("GetSubmissionLimits"), self._body(), SubmissionQuota, subject=self.slug)

    def all(self) -> AsyncIterator[KaggleSubmission]:
        """Yield the submissions, latest first."""

        async def ask(place: dict[str, Any]) -> SentFiles:
            order = {"sortBy": "SUBMISSION_SORT_BY_DATE", "group": "SUBMISSION_GROUP_ALL"}
            body = {**self._body(), **order, **place}
            return await self.client.call(_method("ListSubmissions"), body, SentFiles, subject=self.slug)

        return all_pages(ask, lambda page: page.stamped(page.submissions), lambda submission: submission.ref)

    async def get(self, ref: int) -> KaggleSubmission:
        """Return one submission; shortly after its creation NotFound may be raised."""
        return await self.client.call(_method("GetSubmission"), {"ref": ref}, KaggleSubmission, subject=str(ref))

    async def start_upload(self, name: str, size: int, modified: int) -> UploadTarget:
        """Request an address for an upload of `size` bytes, last changed `modified` seconds after 1970."""
        body = {**self._body(), "fileName": name, "contentLength": size, "lastModifiedEpochSeconds": modified}
        return await self.client.call(_method("StartSubmissionUpload"), body, UploadTarget, subject=self.slug)

    async def create(self, token: str, description: str) -> Created:
        """Submit the uploaded file; tried once, so that after SiteUnavailable its outcome is unknown."""
        body = {**self._body(), "blobFileTokens": token, "submissionDescription": description}
        method = _method("CreateSubmission", reads=False)
        return await self.client.call(method, body, Created, subject=self.slug)

    async def create_from_notebook(self, ref: str, version: int, file_name: str, description: str) -> Created:
        """Submit a notebook's version, whose own run has ended well; tried once, as `create` is.

        Kaggle then runs it again on the hidden data, and scores the file of that name.
        """
        owner, _, slug = ref.partition("/")
        body = {
            **self._body(),
            "kernelOwner": owner,
            "kernelSlug": slug,
            "kernelVersion": version,
            "fileName": file_name,
            "submissionDescription": description,
        }
        method = _method("CreateCodeSubmission", reads=False)
        return await self.client.call(method, body, Created, subject=self.slug)

    def _body(self) -> dict[str, str]:
        return {"competitionName": self.slug}


def _method(name: str, *, reads: bool = True) -> Method:
    return Method(_SERVICE, name, "submissions", reads)

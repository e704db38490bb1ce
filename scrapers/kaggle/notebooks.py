"""This user's own notebooks: pushing one, following its run, and reading what that wrote."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any

from scrapers.kaggle.client import AnswerT, KaggleClient, Method
from scrapers.kaggle.kernels import Kernels, KernelSource, OutputFile, named_version
from scrapers.kaggle.search import Search
from scrapers.kaggle.wire import ApiResponse, Int, Items, Seconds, Text, Time, Wire, lenient_enum
from state.errors import KaggleError, NotEntered, NotFound

_SERVICE = "kernels.KernelsApiService"


class SessionStatus(Enum):
    """How far the run of a notebook's version has got; the numbers are Kaggle's."""

    UNKNOWN = -1
    QUEUED = 0
    RUNNING = 1
    COMPLETE = 2
    ERROR = 3
    CANCEL_REQUESTED = 4
    CANCEL_ACKNOWLEDGED = 5
    NEW_SCRIPT = 6

    @property
    def ended(self) -> bool:
        """Whether nothing more will come of it."""
        return self in (SessionStatus.COMPLETE, SessionStatus.ERROR, SessionStatus.CANCEL_ACKNOWLEDGED)


class Session(ApiResponse):
    """The run of a notebook's version."""

    status: Annotated[SessionStatus, lenient_enum(SessionStatus)] = SessionStatus.QUEUED
    failure_message: Text = ""


class PushedVersion(ApiResponse):
    """Kaggle's answer to a push: the version that now runs. Nothing lists versions later."""

    ref: Text = ""
    """owner/slug"""
    url: Text = ""
    version_number: Int = 0
    invalid_dataset_sources: Annotated[tuple[str, ...], Items] = ()
    invalid_competition_sources: Annotated[tuple[str, ...], Items] = ()

    @property
    def unknown_sources(self) -> tuple[str, ...]:
        """Sources that Kaggle does not know, without which it runs."""
        return (*self.invalid_dataset_sources, *self.invalid_competition_sources)


class AcceleratorQuota(Wire):
    """One kind of accelerator's time in this week, in seconds."""

    time_used: Seconds = 0.0
    time_reserved: Seconds = 0.0
    """By sessions that run now."""
    total_time_allowed: Seconds = 0.0

    @property
    def remaining_seconds(self) -> float:
        """Seconds that may still be asked for."""
        return max(0.0, self.total_time_allowed - self.time_used - self.time_reserved)


class Quotas(ApiResponse):
    """The week's time on accelerators."""

    quota_refresh_time: Time = None
    gpu_quota: AcceleratorQuota | None = None
    tpu_quota: AcceleratorQuota | None = None


class _Cancelled(ApiResponse):
    error_message: Text = ""


@dataclass(frozen=True)
class PushedKernel:
    """A notebook to push: private, without internet."""

    ref: str
    """owner/slug"""
    title: str
    """Of which the slug is made."""
    text: str
    """A notebook's JSON, in which each cell's source is one string."""
    competition: str
    data_sets: tuple[str, ...] = ()
    """owner/slug of each."""
    accelerator: str | None = None
    """Such as `NvidiaTeslaT4`; None: processors alone."""
    image: str | None = None
    """The image it runs in; None: Kaggle's newest, which later versions keep."""


@dataclass(frozen=True)
class Output:
    """What a run has left."""

    files: tuple[OutputFile, ...]
    log: str
    """What it printed, as plain text."""


@dataclass(frozen=True)
class Notebooks:
    """This user's notebooks; errors as of `KaggleClient`."""

    client: KaggleClient

    async def push(self, kernel: PushedKernel) -> PushedVersion:
        """Save a new version, which then runs; tried once, so that after SiteUnavailable its outcome is unknown.

        KaggleError has Kaggle's own words for what is wrong with the notebook; RateLimited is raised where too many run.
        Look at `unknown_sources`: a source that Kaggle does not know keeps no version from being made.
        """
        body = {
            "slug": kernel.ref,
            "newTitle": kernel.title,
            "text": kernel.text,
            "language": "python",
            "kernelType": "notebook",
            "isPrivate": True,
            "enableInternet": False,
            "enableGpu": kernel.accelerator is not None and kernel.accelerator.startswith("Nvidia"),
            "competitionDataSources": [kernel.competition],
            "datasetDataSources": list(kernel.data_sets),
            "dockerImagePinningType": "original",
            "dockerImage": kernel.image,
            "machineShape": kernel.accelerator,
        }
        return await self._call("SaveKernel", body, PushedVersion, kernel.ref, reads=False)

    async def source(self, ref: str, version: int | None = None) -> KernelSource | None:
        """Return a version's source and facts, the current one's without a number; None: there is none."""
        try:
            return await Kernels(self.client).source(ref, version)
        except (NotEntered, NotFound):  # Kaggle's "permission denied" is also its answer for what does not exist
            return None

    async def session(self, ref: str, version: int) -> Session:
        """Return how far a version's run has got."""
        return await self._call("GetKernelSessionStatus", named_version(ref, version), Session, ref)

    async def output(self, ref: str, version: int) -> Output:
        """Return what a version's run has left: its files by signed address, and what it printed."""
        files: list[OutputFile] = []
        log, token = "", ""
        while True:
            page = await Kernels(self.client).outputs(ref, version, token)
            files += page.files
            log = log or page.log
            if not page.next_page_token or page.next_page_token == token or not page.files:
                return Output(tuple(files), plain_log(log))
            token = page.next_page_token

    async def cancel(self, ref: str, title: str) -> bool:
        """Ask for the end of a notebook's run; False: a search by its title, which alone names sessions, does not find it."""
        page = await Search(self.client).find("KERNEL", title)
        slug = ref.rpartition("/")[2]
        facts = next((document.kernel_document for document in page.documents if document.slug == slug), None)
        if facts is None or not facts.session_id:
            return False
        body = {"kernelSessionId": facts.session_id}
        answer = await self._call("CancelKernelSession", body, _Cancelled, ref, reads=False)
        if answer.error_message:
            raise KaggleError(f"Kaggle did not cancel the run of {ref}: {answer.error_message}")
        return True

    async def accelerator_quota(self) -> Quotas:
        """Return how much of the week's time on accelerators is left."""
        return await self._call("GetAcceleratorQuotaStatistics", {}, Quotas, "")

    async def _call(
        self, name: str, body: Mapping[str, Any], answer: type[AnswerT], subject: str, *, reads: bool = True
    ) -> AnswerT:
        method = Method(_SERVICE, name, "notebooks", reads, gives_reason=not reads)
        return await self.client.call(method, body, answer, subject=subject)


def plain_log(log: str) -> str:
    """Return a run's log as text: Kaggle's is a JSON list of what was printed, piece by piece; any other is as it is."""
    try:
        pieces = json.loads(log)
        return "".join(str(piece["data"]) for piece in pieces)
    except (ValueError, TypeError, KeyError, RecursionError):
        return log

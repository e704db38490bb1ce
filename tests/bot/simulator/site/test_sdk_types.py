"""Every answer against the types of Kaggle's own SDK: each field is one of theirs, of their type, by their names."""

from collections.abc import Iterator
from typing import Any

import pytest
from kagglesdk.blobs.types import blob_api_service as blobs
from kagglesdk.competitions.types import competition_api_service as competitions
from kagglesdk.datasets.databundles.types import databundle_api_types as databundles
from kagglesdk.datasets.types import dataset_api_service as datasets
from kagglesdk.discussions.types import discussions_api_service as discussions
from kagglesdk.kaggle_object import KaggleObject
from kagglesdk.kernels.types import kernels_api_service as kernels
from kagglesdk.search.types import search_api_service as search
from kagglesdk.security.types import oauth_service as security

from bot.simulator.site.app import methods
from bot.simulator.site.identity import wire_id
from bot.simulator.site.settings import SiteSettings
from scrapers.snapshots.snapshot import Snapshot
from tests.bot.simulator.site.parts import (
    BLOBS,
    COMPETITIONS,
    DATASETS,
    DISCUSSIONS,
    KERNELS,
    SEARCH,
    Served,
    served,
    truth_with,
)

KERNEL = {"userName": "ann", "kernelSlug": "linear"}
PUSHED = {"slug": "rehearsal/first-try", "newTitle": "First try", "text": "1", "kernelType": "script"}
SET = {"ownerSlug": "rehearsal", "datasetSlug": "weights"}
SESSION = {"kernelSessionId": wire_id("session", "rehearsal/old-try/1")}
CALLS: dict[str, tuple[dict[str, Any], type[KaggleObject]]] = {
    f"{COMPETITIONS}/ListCompetitions": ({}, competitions.ApiListCompetitionsResponse),
    f"{COMPETITIONS}/GetCompetition": ({}, competitions.ApiCompetition),
    f"{COMPETITIONS}/ListCompetitionPages": ({}, competitions.ApiListCompetitionPagesResponse),
    f"{COMPETITIONS}/ListDataFiles": ({}, competitions.ApiListDataFilesResponse),
    f"{COMPETITIONS}/GetCompetitionDataFilesSummary": ({}, databundles.ApiFilesSummary),
    f"{COMPETITIONS}/GetLeaderboard": ({}, competitions.ApiGetLeaderboardResponse),
    f"{COMPETITIONS}/ListSubmissions": ({}, competitions.ApiListSubmissionsResponse),
    f"{COMPETITIONS}/GetSubmissionLimits": ({}, competitions.ApiSubmissionLimits),
    f"{COMPETITIONS}/StartSubmissionUpload": (
        {"fileName": "submission.csv", "contentLength": 1},
        competitions.ApiStartSubmissionUploadResponse,
    ),
    f"{COMPETITIONS}/ListCompetitionTopics": ({}, competitions.ApiListCompetitionTopicsResponse),
    f"{COMPETITIONS}/ListTopicMessages": ({"topicId": 1}, competitions.ApiListTopicMessagesResponse),
    f"{DISCUSSIONS}/GetTopic": ({"id": 1}, discussions.ApiGetTopicResponse),
    f"{DISCUSSIONS}/ListComments": ({"topicId": 1}, discussions.ApiListCommentsResponse),
    f"{KERNELS}/ListKernels": ({}, kernels.ApiListKernelsResponse),
    f"{KERNELS}/GetKernel": (KERNEL, kernels.ApiGetKernelResponse),
    f"{KERNELS}/GetKernelSessionStatus": (KERNEL, kernels.ApiGetKernelSessionStatusResponse),
    f"{KERNELS}/ListKernelSessionOutput": (KERNEL, kernels.ApiListKernelSessionOutputResponse),
    f"{KERNELS}/SaveKernel": (PUSHED, kernels.ApiSaveKernelResponse),
    f"{KERNELS}/CancelKernelSession": (SESSION, kernels.ApiCancelKernelSessionResponse),
    f"{KERNELS}/GetAcceleratorQuotaStatistics": ({}, kernels.ApiGetAcceleratorQuotaStatisticsResponse),
    f"{BLOBS}/StartBlobUpload": ({"type": "DATASET", "name": "a.bin"}, blobs.ApiStartBlobUploadResponse),
    f"{DATASETS}/CreateDataset": ({"title": "My set"}, datasets.ApiCreateDatasetResponse),
    f"{DATASETS}/GetDatasetStatus": (SET, datasets.ApiGetDatasetStatusResponse),
    f"{DATASETS}/ListDatasets": ({"group": "DATASET_SELECTION_GROUP_MY"}, datasets.ApiListDatasetsResponse),
    f"{SEARCH}/ListEntities": ({"filters": {"query": "tiny"}}, search.ListEntitiesResponse),
    "security.OAuthService/IntrospectToken": ({"token": "KGAT_rehearsal"}, security.IntrospectTokenResponse),
}
ELSEWHERE = {"DownloadDataFile", "DownloadDataFiles", "DownloadLeaderboard", "CreateSubmission", "CreateCodeSubmission"}
"""Files, and what other tests submit."""
EMPTY = {"DeleteDataset"}
"""What answers with nothing."""


def strangers(body: Any, kind: type[KaggleObject], where: str = "") -> Iterator[str]:
    """Yield each field that the SDK's type does not have, or whose value is of another kind."""
    known = {field.json_name: field for field in kind._fields}
    for name, value in body.items():
        field = known.get(name)
        if field is None:
            yield f"{where}{name}"
        elif isinstance(field.field_type, type) and issubclass(field.field_type, KaggleObject):
            for one in value if isinstance(value, list) else [value]:
                yield from strangers(one, field.field_type, f"{where}{name}.")
        elif field.field_type in (str, int, bool):
            values = value if isinstance(field.default_value, list) else [value]
            if not all(isinstance(one, field.field_type) for one in values):
                yield f"{where}{name} is {value!r}"


@pytest.fixture(scope="module")
def plain(snapshot: Snapshot) -> Iterator[Served]:
    """A site whose answers hold nothing of the future, with a submission that is scored."""
    with served(snapshot, SiteSettings(unknown_fields=False, unknown_enums=False)) as it:
        it.client.submit(truth_with(snapshot, 0.0))
        it.settle()
        token = it.client.ask(f"{BLOBS}/StartBlobUpload", name="a.bin", type="DATASET")["token"]
        it.client.ask(f"{DATASETS}/CreateDataset", title="Weights", slug="weights", files=[{"token": token}])
        it.client.ask(f"{KERNELS}/SaveKernel", **PUSHED | {"slug": "rehearsal/old-try", "newTitle": "Old try"})
        it.clock.pass_by(hours=1)
        yield it


def test_every_method_is_checked(plain: Served) -> None:
    rest = {name for name in methods(plain.site) if name not in CALLS}
    assert {name.rpartition("/")[2] for name in rest} == ELSEWHERE | EMPTY | {"GetSubmission"}


@pytest.mark.parametrize("method", sorted(CALLS))
def test_an_answer_is_of_the_sdks_type(plain: Served, method: str) -> None:
    body, kind = CALLS[method]
    answer = plain.client.ask(method, competitionName="tiny-table", **body)
    assert list(strangers(answer, kind)) == []
    read = kind.from_dict(answer).to_dict()
    assert set(read) <= set(answer)


def test_a_submission_is_of_the_sdks_type(plain: Served) -> None:
    ref = plain.site.submissions[0].ref
    answer = plain.client.ask(f"{COMPETITIONS}/GetSubmission", ref=ref)
    assert list(strangers(answer, competitions.ApiSubmission)) == []
    read = competitions.ApiSubmission.from_dict(answer)
    assert (read.ref, read.status.name, read.public_score) == (ref, "COMPLETE", "0.10536")

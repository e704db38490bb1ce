"""Our names of fields are those of Kaggle's own types, so that a change there is noticed here."""

import contextlib
import importlib
import inspect
import pkgutil
from collections.abc import Iterable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import kagglesdk
import pytest
from kagglesdk.competitions.types.submission_status import SubmissionStatus
from kagglesdk.datasets.types.dataset_enums import DatabundleVersionStatus as Databundle
from kagglesdk.kaggle_object import KaggleObject
from kagglesdk.kernels.types.kernels_enums import KernelWorkerStatus

import scrapers.kaggle
from bot.simulator.probe.probe_requests import _WholeAnswer
from scrapers.kaggle.account import own_name, who_am_i
from scrapers.kaggle.competitions import Competitions
from scrapers.kaggle.datasets import DataSets, DataSetStatus
from scrapers.kaggle.forum import Forum
from scrapers.kaggle.kernels import Kernels
from scrapers.kaggle.notebooks import Notebooks, PushedKernel, SessionStatus
from scrapers.kaggle.search import Search
from scrapers.kaggle.submissions import KaggleStatus, Submissions, UploadTarget
from scrapers.kaggle.wire import ApiResponse, PageOfItems, Wire
from scrapers.snapshots.community import TIERS
from state.errors import BotError
from tests.scrapers.kaggle.parts import URL, Site, answer, client_of


def modules(package: Any) -> Iterator[Any]:
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if ".test" not in found.name:
            yield importlib.import_module(found.name)


THEIRS: dict[str, type[KaggleObject]] = {
    name: kind
    for module in modules(kagglesdk)
    for name, kind in inspect.getmembers(module, inspect.isclass)
    if issubclass(kind, KaggleObject)
}
NAMED = {
    "competitions.KaggleCompetition": "ApiCompetition",
    "competitions._Competitions": "ApiListCompetitionsResponse",
    "competitions.CompetitionPage": "ApiCompetitionPage",
    "competitions.Pages": "ApiListCompetitionPagesResponse",
    "competitions.DataFile": "ApiDataFile",
    "competitions.DataFiles": "ApiListDataFilesResponse",
    "competitions.LeaderboardEntry": "ApiLeaderboardSubmission",
    "competitions.LeaderboardTop": "ApiGetLeaderboardResponse",
    "forum.ForumTopic": "ApiCompetitionTopic",
    "forum.TopicPage": "ApiListCompetitionTopicsResponse",
    "forum.ForumMessage": "ApiTopicMessage",
    "forum.TopicMessages": "ApiListTopicMessagesResponse",
    "forum.TopicText": "ApiDiscussionTopic",
    "forum.OneTopic": "ApiGetTopicResponse",
    "kernels.Kernel": "ApiKernelMetadata",
    "kernels.KernelPage": "ApiListKernelsResponse",
    "kernels.KernelBlob": "ApiKernelBlob",
    "kernels.KernelSource": "ApiGetKernelResponse",
    "kernels.OutputFile": "ApiKernelSessionOutputFile",
    "kernels.OutputPage": "ApiListKernelSessionOutputResponse",
    "datasets.StatusOfDataSet": "ApiGetDatasetStatusResponse",
    "datasets.Upload": "ApiStartBlobUploadResponse",
    "datasets.DataSetVersion": "ApiCreateDatasetResponse",
    "datasets.DataSet": "ApiDataset",
    "datasets.OwnDataSets": "ApiListDatasetsResponse",
    "datasets._EmptyResponse": "ApiDeleteDatasetResponse",
    "notebooks.Session": "ApiGetKernelSessionStatusResponse",
    "notebooks.PushedVersion": "ApiSaveKernelResponse",
    "notebooks.AcceleratorQuota": "ApiAcceleratorQuota",
    "notebooks.Quotas": "ApiGetAcceleratorQuotaStatisticsResponse",
    "notebooks._Cancelled": "ApiCancelKernelSessionResponse",
    "search.SearchAuthor": "ApiUserAvatar",
    "search.KernelFacts": "ApiSearchKernelsDocument",
    "search.CompetitionFacts": "ApiSearchCompetitionsDocument",
    "search.SearchResult": "ListEntitiesDocument",
    "search.SearchPage": "ListEntitiesResponse",
    "submissions.KaggleSubmission": "ApiSubmission",
    "submissions.SentFiles": "ApiListSubmissionsResponse",
    "submissions.SubmissionQuota": "ApiSubmissionLimits",
    "submissions.UploadTarget": "ApiStartSubmissionUploadResponse",
    "submissions.Created": "ApiCreateSubmissionResponse",
    "account.Introspection": "IntrospectTokenResponse",
    "client._Renewed": "GenerateAccessTokenResponse",
    "competitions.FileType": "ApiFileExtensionSummaryInfo",
    "competitions._FileSummary": "ApiFileSummaryInfo",
    "competitions.DataSummary": "ApiFilesSummary",
}
"""Ours, by module and name, and theirs."""
INNER = {("ListEntities", "filters"): "ListEntitiesFilters", ("CreateDataset", "files"): "ApiDatasetNewFile"}
"""Their types of what a request holds."""
OURS: dict[str, type[Wire]] = {
    f"{module.__name__.rsplit('.', 1)[-1]}.{name}": kind
    for module in modules(scrapers.kaggle)
    for name, kind in inspect.getmembers(module, inspect.isclass)
    if issubclass(kind, Wire)
    and kind.__module__ == module.__name__
    and kind not in (Wire, ApiResponse, PageOfItems, _WholeAnswer)
}
OURS["datasets.Upload"] = UploadTarget


def fields(kind: type[KaggleObject]) -> set[str]:
    return {field.json_name for field in kind._fields}


@pytest.mark.parametrize("name", OURS)
def test_every_field_that_we_read_is_one_of_kaggles(name: str) -> None:
    ours = OURS[name]
    named = {field.alias or key for key, field in ours.model_fields.items() if not field.exclude}
    assert named <= fields(THEIRS[NAMED[name]])


def test_every_field_that_we_send_is_one_of_kaggles() -> None:
    assert OURS.keys() == NAMED.keys()  # else the test above would hold for want of types


async def test_every_question_has_the_fields_of_its_request(tmp_path: Path) -> None:
    """Ask every question that there is, and compare what is sent."""
    site = Site([answer({"createUrl": URL, "documents": [{"slug": "b", "kernelDocument": {"sessionId": 3}}]})])
    (tmp_path / "model.bin").write_bytes(b"weights")
    files = {"model.bin": tmp_path / "model.bin"}
    async with client_of(site) as client:
        competitions, forum, kernels = Competitions(client), Forum(client), Kernels(client)
        submissions, sets, notebooks = Submissions(client, "leaf"), DataSets(client), Notebooks(client)
        for question in (
            anext(competitions.list_entered(), None),
            competitions.get("leaf"),
            competitions.pages("leaf"),
            anext(competitions.files("leaf"), None),
            competitions.data_address("leaf"),
            competitions.top("leaf"),
            competitions.board("leaf"),
            forum.topics("leaf"),
            forum.messages("leaf", 1),
            forum.topic(1),
            kernels.list_page("leaf"),
            kernels.list_page("leaf", token="t"),
            kernels.source("a/b", 3),
            kernels.outputs("a/b", 3, "t"),
            Search(client).find("KERNEL", "leaf", "t"),
            Search(client).competition("leaf", "Leaf"),
            submissions.limits(),
            anext(submissions.all(), None),
            submissions.get(1),
            submissions.start_upload("submission.csv", 1, 1),
            submissions.create("t", "d"),
            submissions.create_from_notebook("a/b", 3, "submission.csv", "d"),
            sets.status("a/weights"),
            sets.create("a/weights", "Weights", files),
            anext(sets.own_data_sets(), None),
            sets.remove("a/weights"),
            notebooks.push(PushedKernel("a/b", "B", "{}", "leaf", ("a/weights",), "NvidiaTeslaT4", "image")),
            notebooks.source("a/b", 3),
            notebooks.session("a/b", 3),
            notebooks.output("a/b", 3),
            notebooks.cancel("a/b", "B"),
            notebooks.accelerator_quota(),
            who_am_i(client, "t"),
            own_name(client),
        ):
            with contextlib.suppress(BotError):  # the answer is of no matter here
                await question
    seen = set()
    for asked in site.asked:
        name = asked.method
        if name == "v1":  # an upload
            continue
        kind = next(THEIRS[full] for full in (f"Api{name}Request", f"{name}Request") if full in THEIRS)
        assert set(asked.body) <= fields(kind), name
        for key, value in asked.body.items():
            inner = [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, dict)]
            assert all(set(one) <= fields(THEIRS[INNER[name, key]]) for one in inner), key
        seen.add(name)
    assert len(seen) == 30


def test_numbers_of_enumerations_are_kaggles() -> None:
    kinds: list[tuple[Iterable[Enum], Iterable[Enum]]] = [
        (KaggleStatus, SubmissionStatus),
        (SessionStatus, KernelWorkerStatus),
        (DataSetStatus, Databundle),
    ]
    for ours, names in kinds:
        assert {one.name: one.value for one in ours if one.value >= 0} == {one.name: one.value for one in names}
    tiers = next(
        kind
        for module in modules(kagglesdk)
        for name, kind in inspect.getmembers(module, inspect.isclass)
        if name == "UserAchievementTier"
    )
    theirs = {str(one.value): one.name for one in tiers}
    assert all(theirs[number] == name for number, name in TIERS.items())

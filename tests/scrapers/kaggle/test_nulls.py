"""Answers with a null, or without a field, one at a time: one odd row costs that row, and never an answer."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapers.kaggle.account import Introspection
from scrapers.kaggle.competitions import DataFiles, DataSummary, KaggleCompetition, LeaderboardTop, Pages, _Competitions
from scrapers.kaggle.datasets import DataSetVersion, OwnDataSets, StatusOfDataSet
from scrapers.kaggle.forum import OneTopic, TopicMessages, TopicPage
from scrapers.kaggle.kernels import KernelPage, KernelSource, OutputPage
from scrapers.kaggle.notebooks import PushedVersion, Quotas, Session
from scrapers.kaggle.search import SearchPage
from scrapers.kaggle.submissions import Created, KaggleSubmission, SentFiles, SubmissionQuota, UploadTarget
from scrapers.kaggle.wire import ApiResponse
from tests.scrapers.kaggle.parts import START

T = "2026-11-20T12:00:00.5Z"
COMPETITION = {
    **{"id": "1", "ref": "https://k/c/leaf", "title": "Leaf", "url": "u", "description": "d", "category": "Featured"},
    **{"reward": "$1", "deadline": T, "teamCount": 2, "userHasEntered": True, "userRank": 1, "mergerDeadline": T},
    **{"newEntrantDeadline": T, "enabledDate": T, "maxDailySubmissions": 5, "maxTeamSize": 5},
    **{"evaluationMetric": "RMSE", "awardsPoints": True, "isKernelsSubmissionsOnly": True, "submissionsDisabled": True},
}
SENT = {
    **{"ref": 7, "date": T, "status": "COMPLETE", "publicScore": "0.5", "privateScore": 0.25, "fileName": "a.csv"},
    **{"description": "tag", "errorDescription": "e", "submittedBy": "me", "teamName": "us"},
}
MESSAGE = {
    **{"id": 1, "postDate": T, "content": "<p>", "rawMarkdown": "m", "authorName": "ann", "votes": 1},
    **{"isDeleted": True},
    "replies": [{"id": 2, "postDate": T, "content": "<p>", "votes": 1}],
}
KERNEL = {
    **{"id": 1, "ref": "ann/a", "title": "A", "author": "Ann", "lastRunTime": T, "language": "python"},
    **{"kernelType": "script", "isPrivate": False, "datasetDataSources": ["a/b"], "totalVotes": 3},
    "currentVersionNumber": 2,
    "competitionDataSources": ["leaf"],
}
FOUND = {
    **{"id": 1, "documentType": "KERNEL", "title": "A", "slug": "a", "votes": 1},
    "ownerUser": {"id": 5, "userName": "ann", "displayName": "Ann", "tier": "MASTER"},
    "kernelDocument": {"sessionId": "3", "bestPublicScore": 0.5, "hasLinkedSubmission": True},
    "competitionDocument": {"isEnvironmentEvaluation": True, "onlyAllowKernelSubmissions": True},
}
TOPIC = {
    **{"id": 1, "title": "t", "topicUrl": "u", "authorName": "ann", "commentCount": 1, "votes": 1, "postDate": T},
    **{"lastCommentPostDate": T, "isSticky": True},
}
ENTRY = {"teamId": 1, "teamName": "a", "submissionDate": T, "score": "0.5"}
SET = {
    **{"ref": "a/b", "title": "B", "isPrivate": True, "totalBytes": "5", "lastUpdated": T, "currentVersionNumber": 1}
}
QUOTA = {"timeUsed": "3600s", "timeReserved": "1.5s", "totalTimeAllowed": "108000s"}
PAGE = {"name": "rules", "content": "c", "postTitle": "p", "mimeType": "text/html"}
FILE = {"ref": "a.csv", "name": "a.csv", "totalBytes": "5", "creationDate": T}
TYPES = [{"extension": ".csv", "fileCount": 1, "totalSize": 5}, {"extension": ".txt", "fileCount": 2, "totalSize": 6}]


def listed(name: str, row: dict[str, Any], key: str = "id") -> dict[str, Any]:
    """Return a list's answer with two rows that differ in their key."""
    return {name: [row, copy.deepcopy(row) | {key: "99"}], "nextPageToken": "t", "totalCount": 2}


ANSWERS: list[tuple[type[ApiResponse], dict[str, Any]]] = [
    (KaggleCompetition, COMPETITION),
    (_Competitions, listed("competitions", COMPETITION)),
    (Pages, listed("pages", PAGE, "name")),
    (DataFiles, listed("files", FILE, "totalBytes")),
    (DataSummary, {"fileSummaryInfo": {"totalFileCount": 3, "fileTypes": TYPES}}),
    (LeaderboardTop, listed("submissions", ENTRY, "teamId")),
    (KaggleSubmission, SENT),
    (SentFiles, listed("submissions", SENT, "ref")),
    (SubmissionQuota, {"numToday": 1, "numTotal": 2, "numAllowedNow": 3, "limitedByTotal": True}),
    (UploadTarget, {"token": "t", "createUrl": "u"}),
    (Created, {"message": "m", "ref": 7}),
    (KernelPage, listed("kernels", KERNEL)),
    (KernelSource, {"metadata": KERNEL, "blob": {"source": "s", "language": "python", "kernelType": "script"}}),
    (OutputPage, listed("files", {"url": "u", "fileName": "a.csv"}, "fileName")),
    (TopicPage, listed("topics", TOPIC)),
    (TopicMessages, listed("messages", MESSAGE)),
    (OneTopic, {"topic": {"id": 1, "postDate": T, "authorName": "ann", "content": "<p>"}}),
    (SearchPage, listed("documents", FOUND)),
    (OwnDataSets, listed("datasets", SET, "ref")),
    (DataSetVersion, {"ref": "a/b", "url": "u", "status": "ok"}),
    (StatusOfDataSet, {"status": "READY"}),
    (PushedVersion, {"ref": "a/b", "url": "u", "versionNumber": 3, "invalidDatasetSources": ["a/c", "a/d"]}),
    (Session, {"status": "ERROR", "failureMessage": "m"}),
    (Quotas, {"quotaRefreshTime": T, "gpuQuota": QUOTA, "tpuQuota": QUOTA}),
    (Introspection, {"active": True, "username": "me"}),
]
CASES = [pytest.param(*case, id=case[0].__name__) for case in ANSWERS]


def paths(value: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the place of every value within an answer."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, one in inner:
        yield (*before, name)
        yield from paths(one, (*before, name))


def changed(body: Any, path: tuple[Any, ...], value: Any = None, *, absent: bool = False) -> Any:
    found = place = copy.deepcopy(body)
    for name in path[:-1]:
        place = place[name]
    if absent:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return found


def rows(answer: ApiResponse) -> list[Any]:
    """Return the rows of a list's answer."""
    return next((list(value) for _, value in answer if isinstance(value, tuple)), [])


@pytest.mark.parametrize(("kind", "body"), CASES)
def test_a_null_or_an_absent_field_costs_its_row_at_most(kind: type[ApiResponse], body: dict[str, Any]) -> None:
    whole, tried = rows(kind.read(body, START)), 0
    for path in paths(body):
        for found in (changed(body, path), changed(body, path, absent=True)):
            tried += 1
            left = rows(kind.read(found, START))
            if len(path) > 1 and isinstance(path[1], int):
                spared = whole[1 - path[1]]
                assert spared in left, path
    assert tried >= 2 * len(body)


@pytest.mark.parametrize(("kind", "body"), CASES)
def test_a_null_means_what_an_absent_field_means(kind: type[ApiResponse], body: dict[str, Any]) -> None:
    for path in paths(body):
        if not isinstance(path[-1], int):
            null, absent = (changed(body, path), changed(body, path, absent=True))
            assert kind.read(null, START) == kind.read(absent, START), path
    assert kind.read(None, START) == kind.read({}, START)


ODD = st.sampled_from(["", "x", -1, 2.5, True, [], {}, [None], {"a": None}, "9" * 30])


@given(st.data())
def test_whatever_stands_in_one_row_the_others_stay(data: st.DataObject) -> None:
    kind, body = data.draw(st.sampled_from([case for case in ANSWERS if rows(case[0].read(case[1], START))]))
    path = data.draw(st.sampled_from([one for one in paths(body) if len(one) > 1 and one[1] == 0]))
    spared = rows(kind.read(body, START))[1]
    assert spared in rows(kind.read(changed(body, path, data.draw(ODD)), START))


def test_a_list_of_which_no_row_is_understood_is_an_error() -> None:
    body = json.loads('{"topics": [{"id": "none"}, {"title": "x"}]}')
    with pytest.raises(ValueError, match="topics"):
        TopicPage.read(body, START)

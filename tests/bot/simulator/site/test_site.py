"""Two competitions of one site: one account, one clock, and nothing of the one is ever the other's."""

import io
import zipfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.simulator.site.settings import SiteSettings
from bot.simulator.site.site import Site
from bot.simulator.site.time_shift import shifted
from scrapers.snapshots.snapshot import Snapshot
from state.errors import UsageError
from tests.bot.simulator.site.parts import (
    COMPETITIONS,
    DEADLINE,
    DISCUSSIONS,
    KERNELS,
    SEARCH,
    TWIN,
    TWIN_DEADLINE,
    HandClock,
    Served,
    both,
    served,
    truth_with,
)
from tests.tiny_snapshot import SLUG

BOTH = [SLUG, TWIN]


@pytest.fixture(scope="module")
def snapshots(tmp_path_factory: pytest.TempPathFactory) -> list[Snapshot]:
    return both(tmp_path_factory.mktemp("both"))


@pytest.fixture
def here(snapshots: list[Snapshot]) -> Iterator[Served]:
    with served(snapshots, SiteSettings(unknown_enums=False)) as it:
        yield it


def listed(it: Served, **body: Any) -> list[str]:
    found = it.client.ask(f"{COMPETITIONS}/ListCompetitions", **body).get("competitions", [])
    return [one["ref"].rpartition("/")[2] for one in found if one.get("userHasEntered")]


def documents(it: Served, kind: str, query: str = "") -> list[dict[str, Any]]:
    filters = {"query": query, "documentTypes": [kind]}
    found: list[dict[str, Any]] = it.client.ask(f"{SEARCH}/ListEntities", filters=filters, pageSize=100)["documents"]
    return found


def test_lists_show_both_as_entered(here: Served) -> None:
    assert listed(here, group="ENTERED") == BOTH
    assert set(listed(here, group="GENERAL")) == set(BOTH)
    assert listed(here, group="ENTERED", search="twin") == [TWIN]


def test_each_is_found_by_its_name_with_its_own_times_and_limit(here: Served) -> None:
    found = [here.of(slug).compete("GetCompetition") for slug in BOTH]
    assert [(one["title"], one["maxDailySubmissions"]) for one in found] == [("Tiny table", 5), ("Twin table", 2)]
    assert [one["deadline"][:10] for one in found] == ["2020-03-01", "2020-02-29"]
    assert {one["enabledDate"][:10] for one in found} == {"2020-01-01"}
    assert here.client.post(f"{COMPETITIONS}/GetCompetition", competitionName="tiny").status_code == 403


def test_topics_and_messages_are_those_of_their_competition_with_numbers_of_their_own(here: Served) -> None:
    seen: set[int] = set()
    for slug in BOTH:
        client, other = here.of(slug), here.of(BOTH[slug == SLUG])
        [topic] = client.compete("ListCompetitionTopics")["topics"]
        assert slug in topic["topicUrl"]
        messages = client.compete("ListTopicMessages", topicId=topic["id"], pageSize=-1)["messages"]
        assert len(messages) == 2
        seen |= {topic["id"], *(message["id"] for message in messages)}
        assert client.ask(f"{DISCUSSIONS}/GetTopic", id=topic["id"])["topic"]["forumName"] == slug
        assert len(client.ask(f"{DISCUSSIONS}/ListComments", topicId=topic["id"])["comments"]) == 1
        wrong = {"competitionName": other.slug, "topicId": topic["id"]}
        assert client.post(f"{COMPETITIONS}/ListTopicMessages", **wrong).status_code == 404
    assert len(seen) == 6


def test_kernels_are_listed_by_competition_and_no_two_have_the_same_reference(here: Served) -> None:
    found = [here.client.ask(f"{KERNELS}/ListKernels", competition=slug)["kernels"] for slug in BOTH]
    assert [[one["ref"] for one in kernels] for kernels in found] == [["ann/linear"], ["ann/linear-tiny-twin"]]
    everywhere = here.client.ask(f"{KERNELS}/ListKernels", user="ann")["kernels"]
    assert sorted(one["ref"] for one in everywhere) == ["ann/linear", "ann/linear-tiny-twin"]
    assert len({one["id"] for one in everywhere}) == 2
    assert all(one["lastRunTime"].startswith("2020-01-07T00:00:00") for one in everywhere)
    second = here.client.ask(f"{KERNELS}/GetKernel", userName="ann", kernelSlug="linear-tiny-twin")
    assert second["metadata"]["competitionDataSources"] == [TWIN]
    assert [here.of(slug).compete("GetCompetition")["kernelCount"] for slug in BOTH] == [1, 1]


def test_searches_span_both_and_a_title_narrows_them_down(here: Served) -> None:
    for kind, each in (("TOPIC", 1), ("COMMENT", 1), ("KERNEL", 1)):
        assert len(documents(here, kind)) == 2 * each
        [twins] = documents(here, kind, "twin table")
        assert twins["id"] in {one["id"] for one in documents(here, kind)}
    forums = {one["discussionDocument"]["forumName"] for one in documents(here, "TOPIC")}
    assert forums == {"Tiny table", "Twin table"}


def test_files_are_those_of_their_competition(here: Served, snapshots: list[Snapshot]) -> None:
    archives = []
    for slug, snapshot in zip(BOTH, snapshots, strict=True):
        client = here.of(slug)
        assert slug in client.compete("ListDataFiles")["files"][0]["url"]
        link = client.post(f"{COMPETITIONS}/DownloadDataFiles", competitionName=slug).headers["location"]
        archives.append(client.http.get(link))
        with zipfile.ZipFile(io.BytesIO(archives[-1].content)) as archive:
            assert archive.read("train.csv") == (snapshot.data / "train.csv").read_bytes()
    assert {answer.headers["last-modified"] for answer in archives} == {"Wed, 01 Jan 2020 00:00:00 GMT"}
    assert len({answer.headers["etag"] for answer in archives}) == 2
    signed = here.client.post(f"{COMPETITIONS}/DownloadDataFile", competitionName=SLUG, fileName="test.csv")
    moved = signed.headers["location"].replace(f"data/{SLUG}/", f"data/{TWIN}/")
    assert here.client.http.get(moved).status_code == 403


def test_submissions_are_graded_by_the_answers_of_their_competition(here: Served, snapshots: list[Snapshot]) -> None:
    right, wrong = (truth_with(snapshot, 0.0) for snapshot in snapshots)
    refs = [here.of(SLUG).submit(right), here.of(TWIN).submit(right), here.of(TWIN).submit(wrong)]
    here.settle()
    found = [here.client.ask(f"{COMPETITIONS}/GetSubmission", ref=ref) for ref in refs]
    assert [one["publicScore"] for one in found] == ["0.10536", "2.30259", "0.10536"]
    assert refs == sorted(set(refs))
    mine = [[one["ref"] for one in here.of(slug).compete("ListSubmissions")["submissions"]] for slug in BOTH]
    assert mine == [refs[:1], refs[:0:-1]]
    assert [one.ref for one in here.site.submissions] == refs


def test_each_has_a_quota_of_its_own(here: Served) -> None:
    client = here.of(TWIN)
    for _ in range(2):
        client.submit(here.sample)
    refused = client.create(client.upload(here.sample))
    assert (refused.status_code, "allowance (2)" in refused.text) == (400, True)
    assert "numAllowedNow" not in client.compete("GetSubmissionLimits")
    here.of(SLUG).submit(here.sample)
    assert here.of(SLUG).compete("GetSubmissionLimits")["numAllowedNow"] == 4
    here.clock.pass_by(days=1)
    assert client.compete("GetSubmissionLimits")["numAllowedNow"] == 2


def test_each_has_its_leaderboard_and_the_own_team_is_where_it_has_submitted(here, snapshots) -> None:
    here.of(TWIN).submit(truth_with(snapshots[1], 0.0))
    here.settle()
    here.clock.time = TWIN_DEADLINE
    boards = [here.of(slug).compete("GetLeaderboard", pageSize=200)["submissions"] for slug in BOTH]
    names = [[one["teamName"] for one in board] for board in boards]
    assert ["Rehearsal Bot" in board for board in names] == [False, True]
    assert (len(names[0]) > 30, len(names[1])) == (True, 5)
    assert not {one["teamId"] for one in boards[0]} & {one["teamId"] for one in boards[1]}
    arrived = {one["submissionDate"][:10] for one in boards[1]}
    assert arrived == {"2020-01-05", "2020-01-10", "2020-01-20", "2020-02-01", "2020-02-28"}
    assert here.of(TWIN).compete("GetCompetition")["userRank"] == 1
    assert "userRank" not in here.of(SLUG).compete("GetCompetition")


def test_one_ends_while_the_other_goes_on(here: Served, snapshots: list[Snapshot]) -> None:
    refs = [here.of(slug).submit(truth_with(one, 0.0)) for slug, one in zip(BOTH, snapshots, strict=True)]
    here.settle()

    def state(slug: str, ref: int) -> tuple[bool, str, str, bool]:
        client = here.of(slug)
        own = client.ask(f"{COMPETITIONS}/GetSubmission", ref=ref)
        best = client.compete("GetLeaderboard", pageSize=200)["submissions"]
        private = [float(one["score"]) for one in best[1:]] == here.site.competition(slug).snapshot.leaderboard
        taken = client.create(client.upload(here.sample)).status_code == 200
        return private, own["publicScore"], own["privateScore"], taken

    states = []
    for now in (TWIN_DEADLINE, TWIN_DEADLINE + timedelta(seconds=1), DEADLINE + timedelta(seconds=1)):
        here.clock.time = now
        states.append([state(slug, ref) for slug, ref in zip(BOTH, refs, strict=True)])
    on, over = (False, "0.10536", "", True), (True, "0.10536", "0.10536", False)
    assert states == [[on, on], [on, over], [over, over]]


def test_a_kernel_that_is_pushed_belongs_to_the_competitions_that_it_names(here: Served) -> None:
    kernel = {"newTitle": "First try", "slug": "rehearsal/first-try", "text": "print()", "kernelType": "script"}
    sources = {"competitionDataSources": [TWIN, "nowhere"], "isPrivate": False}
    answer = here.client.ask(f"{KERNELS}/SaveKernel", **kernel, **sources)
    assert answer["invalidCompetitionSources"] == ["nowhere"]
    found = [here.client.ask(f"{KERNELS}/ListKernels", competition=slug)["kernels"] for slug in BOTH]
    assert ["rehearsal/first-try" in {one["ref"] for one in kernels} for kernels in found] == [False, True]
    assert {one["title"] for one in documents(here, "KERNEL", "twin")} == {"Linear", "First try"}
    here.clock.pass_by(hours=1)
    done = here.client.ask(f"{KERNELS}/ListKernelSessionOutput", userName="rehearsal", kernelSlug="first-try")
    assert here.client.http.get(done["files"][0]["url"]).content == here.sample


def test_requests_and_uploads_are_the_sites(here: Served) -> None:
    here.of(SLUG).compete("GetCompetition")
    here.of(TWIN).compete("GetCompetition")
    assert here.site.requests == {"GetCompetition": 2}
    started = here.client.ask(f"{COMPETITIONS}/StartSubmissionUpload", fileName="submission.csv", contentLength=1)
    assert started["createUrl"].startswith(f"{here.client.url}/upload/")


def test_as_they_are_dated_one_is_not_there_before_it_begins(snapshots: list[Snapshot], tmp_path: Path) -> None:
    dated = [snapshots[0], shifted(snapshots[1], -snapshots[1].shift)]
    with served(dated) as it:
        assert listed(it, group="ENTERED") == [SLUG]
        client = it.of(TWIN)
        assert client.create(client.upload(it.sample)).status_code == 403
        assert "numAllowedNow" not in client.compete("GetSubmissionLimits")
        it.clock.pass_by(days=3 * 365)
        assert listed(it, group="ENTERED") == BOTH
        assert client.create(client.upload(it.sample)).status_code == 200


def test_a_competition_is_played_once_and_at_least_one_is(snapshots: list[Snapshot]) -> None:
    with pytest.raises(UsageError, match="tiny-table is listed twice"):
        Site([snapshots[0], snapshots[1], snapshots[0]], HandClock(DEADLINE))
    with pytest.raises(UsageError, match="no snapshot"):
        Site([], HandClock(DEADLINE))

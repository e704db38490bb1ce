"""The competition as a client finds it: lists, fields, pages, files and their downloads."""

import io
import zipfile
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.simulator.site.faults import Fault, Faults
from bot.simulator.site.settings import SiteSettings
from scrapers.snapshots.snapshot import Snapshot
from tests.bot.simulator.site.parts import COMPETITIONS, Served, served, tiny


def slugs(it: Served, **body: Any) -> list[str]:
    found = it.client.ask(f"{COMPETITIONS}/ListCompetitions", **body).get("competitions", [])
    return [one["ref"].rsplit("/", 1)[1] for one in found]


def test_a_competition_is_found_in_the_lists_that_it_belongs_to(here: Served) -> None:
    for body in (
        {"group": "COMPETITION_LIST_TAB_ENTERED"},
        {"group": "COMPETITION_LIST_TAB_EVERYTHING", "page": 1},
        {},
    ):
        assert slugs(here, **body) == ["tiny-table"]
    assert slugs(here, group="COMPETITION_LIST_TAB_HOSTED") == []
    assert slugs(here, search="tiny") == ["tiny-table"]
    assert slugs(here, search="other") == slugs(here, page=2) == []


def test_a_competition_says_what_its_manifest_does(here: Served) -> None:
    found = here.client.compete("GetCompetition")
    assert found["ref"] == "https://www.kaggle.com/competitions/tiny-table"
    assert found["deadline"].startswith("2020-03-01T00:00:00")
    assert (found["maxDailySubmissions"], found["evaluationMetric"]) == (5, "Log Loss")
    assert found["userHasEntered"]
    assert {"isKernelsSubmissionsOnly", "submissionsDisabled", "userRank", "newEntrantDeadline"} & set(found) == set()


def test_the_metric_may_be_left_out_and_the_user_not_in(snapshot: Snapshot) -> None:
    with served(snapshot, SiteSettings(metric_shown=False, entered=False)) as it:
        found = it.client.compete("GetCompetition")
        assert {"evaluationMetric", "userHasEntered"} & set(found) == set()
        assert (slugs(it, group="ENTERED"), slugs(it)) == ([], ["tiny-table"])
        for method, words in (
            ("DownloadDataFiles", "accept this competition's rules"),
            ("StartSubmissionUpload", "Permission 'competitions.participate' was denied"),
            ("ListSubmissions", "Permission 'competitions.participate' was denied"),
        ):
            answer = it.client.post(
                f"{COMPETITIONS}/{method}", competitionName="tiny-table", fileName="a", contentLength=1
            )
            assert (answer.status_code, words in answer.text) == (403, True)


def test_a_description_becomes_pages_and_rules_are_added(tmp_path: Path) -> None:
    snapshot = tiny(tmp_path)
    (snapshot.path / "description.md").write_text(
        "# Overview\n\nAn intro.\n\n## Description\n\nTell 1 from 0.\n\n## Evaluation\n\nBy log loss.\n\n"
        "### Submission File\n\n```\n# no heading\nid,label\n```\n\n## Prizes\n\nMugs.\n\n# Dataset Description\n\n"
        "Numbers.\n\n## File descriptions\n\n- train.csv\n"
    )
    with served(Snapshot.load(snapshot.path, {"log_loss": "minimize"}), SiteSettings(page_format="markdown")) as it:
        pages = {one["name"]: one for one in it.client.compete("ListCompetitionPages")["pages"]}
    assert list(pages) == ["description", "evaluation", "prizes", "data-description", "rules"]
    assert "An intro" in pages["description"]["content"]
    assert "Tell 1 from 0" in pages["description"]["content"]
    assert "# no heading\nid,label" in pages["evaluation"]["content"]
    assert "train.csv" in pages["data-description"]["content"]
    assert "5 entries per day" in pages["rules"]["content"]
    assert {one["mimeType"] for one in pages.values()} == {"text/markdown"}


def test_a_description_without_an_evaluation_gets_one_and_pages_may_be_html(snapshot: Snapshot) -> None:
    with served(snapshot, SiteSettings(page_format="html")) as it:
        [page] = it.client.compete("ListCompetitionPages", pageName="evaluation")["pages"]
        assert page["mimeType"] == "text/html"
        assert "Log Loss; lower scores are better" in page["content"]
        assert "<code>id,label\n</code>" in page["content"]


def test_files_are_listed_by_token(tmp_path: Path) -> None:
    snapshot = tiny(tmp_path)
    (snapshot.path / "data" / "images").mkdir()
    (snapshot.path / "data" / "images" / "a b.png").write_bytes(b"png")
    with served(snapshot) as it:
        seen, token = [], ""
        for _ in range(2):
            answer = it.client.compete("ListDataFiles", pageSize=2, pageToken=token)
            seen += [(one["name"], one["totalBytes"]) for one in answer["files"]]
            token = answer.get("nextPageToken", "")
        assert [name for name, _ in seen] == ["images/a b.png", "sample_submission.csv", "test.csv", "train.csv"]
        assert seen[0] == ("images/a b.png", 3)
        assert token == ""
        link = it.client.post(
            f"{COMPETITIONS}/DownloadDataFile", competitionName="tiny-table", fileName="images/a b.png"
        )
        assert it.client.http.get(link.headers["location"]).content == b"png"


def test_a_download_needs_no_token_and_can_be_gone_on_with(here: Served) -> None:
    link = here.client.post(f"{COMPETITIONS}/DownloadDataFile", competitionName="tiny-table", fileName="train.csv")
    assert link.status_code == 302
    whole = here.client.http.get(link.headers["location"])
    assert whole.headers["last-modified"] == "Wed, 01 Jan 2020 00:00:00 GMT"
    assert whole.headers["accept-ranges"] == "bytes"
    rest = {"Range": "bytes=100-", "If-Range": whole.headers["etag"]}
    part = here.client.http.get(link.headers["location"], headers=rest)
    assert (part.status_code, part.content) == (206, whole.content[100:])
    changed = here.client.http.get(link.headers["location"], headers=rest | {"If-Range": '"other"'})
    assert (changed.status_code, changed.content) == (200, whole.content)


def test_all_data_comes_as_one_zip(here: Served) -> None:
    link = here.client.post(f"{COMPETITIONS}/DownloadDataFiles", competitionName="tiny-table").headers["location"]
    assert "/tiny-table.zip?" in link
    with zipfile.ZipFile(io.BytesIO(here.client.http.get(link).content)) as archive:
        assert archive.namelist() == ["sample_submission.csv", "test.csv", "train.csv"]
        assert archive.read("train.csv") == (here.competition.snapshot.data / "train.csv").read_bytes()


@pytest.mark.parametrize("late", [timedelta(days=6), timedelta(days=8)])
def test_a_link_is_good_for_a_week(here: Served, late: timedelta) -> None:
    link = here.client.post(f"{COMPETITIONS}/DownloadDataFiles", competitionName="tiny-table").headers["location"]
    here.clock.time += late
    assert here.client.http.get(link).status_code == (200 if late < timedelta(days=7) else 403)


def test_a_competition_is_listed_from_its_beginning_on(snapshot: Snapshot) -> None:
    with served(snapshot, at=snapshot.card.enabled_at - timedelta(hours=1)) as it:
        assert slugs(it, group="COMPETITION_LIST_TAB_ENTERED") == []
        it.clock.pass_by(hours=2)
        assert slugs(it, group="COMPETITION_LIST_TAB_ENTERED") == ["tiny-table"]


def test_lists_of_files_may_be_unstable_while_the_summary_and_the_zip_stay(tmp_path: Path) -> None:
    faults = Faults([Fault(kind="unstable-lists", after=0)])
    with served(tiny(tmp_path), faults=faults) as it:
        sizes = it.competition.files.sizes
        seen = []
        for _ in range(4):
            answer = it.client.compete("ListDataFiles")
            assert len(answer["files"]) == len(sizes) - 1
            assert it.client.compete("ListDataFiles", pageToken=answer["nextPageToken"]) == {}
            seen.append({one["name"]: one["totalBytes"] for one in answer["files"]})
        assert len({tuple(one) for one in seen}) > 1, "another one is missing each time"
        assert any(size != sizes[name] for one in seen for name, size in one.items())
        summary = it.client.compete("GetCompetitionDataFilesSummary")["fileSummaryInfo"]
        assert summary["totalFileCount"] == sum(one["fileCount"] for one in summary["fileTypes"]) == len(sizes)
        assert sum(one["totalSize"] for one in summary["fileTypes"]) == sum(sizes.values())


def test_a_download_may_answer_with_its_address(tmp_path: Path) -> None:
    with served(tiny(tmp_path), SiteSettings(downloads="address")) as it:
        address = it.client.compete("DownloadDataFiles")["url"]
        with zipfile.ZipFile(io.BytesIO(it.client.http.get(address).content)) as archive:
            assert set(archive.namelist()) == set(it.competition.files.sizes)

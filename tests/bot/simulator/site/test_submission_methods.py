"""Submitting: uploads, the quota of the UTC day, what comes of a file and when, Kaggle's words for what is refused."""

import csv
from collections.abc import Iterator
from pathlib import Path

from bot.simulator.site.settings import SiteSettings
from scrapers.snapshots.snapshot import Snapshot
from tests.bot.simulator.site.parts import COMPETITIONS, DEADLINE, Served, served, tiny, truth_with


def one(it: Served, ref: int) -> dict[str, str]:
    found: dict[str, str] = it.client.ask(f"{COMPETITIONS}/GetSubmission", ref=ref)
    return found


def test_a_submission_is_pending_until_the_sites_clock_says_so_and_scored_then(here: Served) -> None:
    ref = here.client.submit(truth_with(here.competition.snapshot, 0.0), "r-7 0a1b2c3d")
    here.site.settle()
    pending = one(here, ref)
    assert (pending["status"], pending["publicScore"], pending["privateScore"]) == ("PENDING", "", "")
    here.settle()
    scored = one(here, ref)
    assert (scored["status"], scored["publicScore"], scored["privateScore"]) == ("COMPLETE", "0.10536", "")
    assert (scored["description"], scored["fileName"], scored["submittedByRef"]) == (
        *("r-7 0a1b2c3d", "submission.csv", "rehearsal"),
    )
    [kept] = here.site.submissions
    assert (kept.tag, kept.ref, kept.status, kept.private_score) == ("r-7 0a1b2c3d", ref, "COMPLETE", 0.10536)


def test_the_quota_of_a_new_team_is_all_zeros_until_its_first_submission(here: Served) -> None:
    assert not {"numToday", "numTotal", "numAllowedNow"} & here.client.compete("GetSubmissionLimits").keys()
    here.client.submit(here.sample)
    assert here.client.compete("GetSubmissionLimits")["numAllowedNow"] == 4


def test_the_private_score_appears_after_the_deadline_and_no_submission_is_taken_any_more(here: Served) -> None:
    token = here.client.upload(here.sample)
    ref = here.client.submit(here.sample)
    here.settle()
    here.clock.time = DEADLINE
    assert one(here, ref)["privateScore"] == ""
    here.clock.pass_by(seconds=1)
    assert one(here, ref)["privateScore"] == "0.69315"
    refused = here.client.create(token)
    assert (refused.status_code, "deadline" in refused.text) == (400, True)
    assert here.client.compete("GetSubmissionLimits").get("numAllowedNow", 0) == 0


def test_an_invalid_file_ends_in_an_error_that_says_why_and_costs_nothing(here: Served) -> None:
    ref = here.client.submit(b"id,label\nr0240,7\n")
    assert here.client.compete("GetSubmissionLimits")["numAllowedNow"] == 4
    here.settle()
    failed = one(here, ref)
    assert (failed["status"], failed["publicScore"]) == ("ERROR", "")
    assert "probabilities must be between 0 and 1" in failed["errorDescription"]
    limits = here.client.compete("GetSubmissionLimits")
    assert (limits["numAllowedNow"], limits.get("numToday", 0), limits["numTotal"]) == (5, 0, 1)


def test_the_quota_is_of_the_utc_day_and_its_refusal_is_kaggles(here: Served) -> None:
    for _ in range(5):
        here.client.submit(here.sample)
    refused = here.client.create(here.client.upload(here.sample))
    assert refused.status_code == 400
    for words in ("Submission not allowed", "used its daily Submission allowance (5)", "tomorrow UTC"):
        assert words in refused.text
    assert here.client.compete("GetSubmissionLimits")["numToday"] == 5
    here.clock.time = here.clock.time.replace(hour=23, minute=59)
    assert here.client.create(here.client.upload(here.sample)).status_code == 400
    here.clock.pass_by(minutes=1)
    assert here.client.compete("GetSubmissionLimits")["numAllowedNow"] == 5
    here.client.submit(here.sample)


def test_the_gateways_shape_of_a_full_quota_says_failed_precondition(tmp_path: Path) -> None:
    snapshot = tiny(tmp_path, max_daily_submissions=0)
    with served(snapshot, SiteSettings(error_shape="nested")) as it:
        refused = it.client.create(it.client.upload(it.sample)).json()["error"]
        assert (refused["code"], refused["status"]) == (400, "FAILED_PRECONDITION")


def test_a_table_is_taken_under_any_name_and_another_file_only_under_its_own(here: Served, tmp_path: Path) -> None:
    assert here.client.create(here.client.upload(here.sample, "mine.csv")).status_code == 200
    with served(tiny(tmp_path, submission_file="submission.zip")) as it:
        refused = it.client.create(it.client.upload(it.sample, "mine.zip"))
        assert refused.status_code == 400
        assert 'Submission files must be named \\"submission.zip\\"' in refused.text


def test_a_token_that_is_unknown_or_whose_file_has_not_arrived_is_refused(here: Served) -> None:
    started = here.client.compete("StartSubmissionUpload", fileName="submission.csv", contentLength=10)
    assert [here.client.create(token).status_code for token in (started["token"], "x", "")] == [400, 400, 400]
    assert here.site.submissions == []


def test_an_upload_may_come_in_chunks(here: Served) -> None:
    def chunks() -> Iterator[bytes]:
        yield from (here.sample[at : at + 100] for at in range(0, len(here.sample), 100))

    started = here.client.compete("StartSubmissionUpload", fileName="submission.csv", contentLength=len(here.sample))
    assert here.client.http.put(started["createUrl"], content=chunks()).status_code == 200
    assert here.client.create(started["token"]).status_code == 200


def test_an_upload_that_broke_off_begins_anew(here: Served) -> None:
    size = len(here.sample)
    started = here.client.compete("StartSubmissionUpload", fileName="submission.csv", contentLength=size)
    url, http = started["createUrl"], here.client.http
    assert http.put(url, content=here.sample[:200]).status_code == 400
    assert http.put(url, content=here.sample).status_code == 200
    here.client.create(started["token"])
    assert here.site.submissions[0].size == size


def test_an_upload_is_gone_on_with_where_it_broke_off(here: Served) -> None:
    size = len(here.sample)
    started = here.client.compete("StartSubmissionUpload", fileName="submission.csv", contentLength=size)
    url, http = started["createUrl"], here.client.http
    whole = {"Content-Range": f"bytes */{size}"}
    nothing = http.put(url, headers=whole)
    assert (nothing.status_code, "range" in nothing.headers) == (308, False)
    part = http.put(url, content=here.sample[:200], headers={"Content-Range": f"bytes 0-199/{size}"})
    assert (part.status_code, part.headers["range"]) == (308, "bytes=0-199")
    assert http.put(url, headers=whole).headers["range"] == "bytes=0-199"
    misplaced = http.put(url, content=here.sample[300:], headers={"Content-Range": f"bytes 300-{size - 1}/{size}"})
    assert misplaced.headers["range"] == "bytes=0-199"
    rest = http.put(url, content=here.sample[200:], headers={"Content-Range": f"bytes 200-{size - 1}/{size}"})
    assert (rest.status_code, http.put(url, headers=whole).status_code) == (200, 200)
    here.client.create(started["token"])
    assert here.site.submissions[0].size == size


def test_an_upload_that_is_too_long_or_too_late_is_refused(here: Served) -> None:
    started = here.client.compete("StartSubmissionUpload", fileName="submission.csv", contentLength=10)
    assert here.client.http.put(started["createUrl"], content=b"x" * 11).status_code == 400
    here.clock.pass_by(days=8)
    assert here.client.http.put(started["createUrl"], content=b"x" * 10).status_code == 404
    assert here.client.http.put(f"{here.client.url}/upload/other", content=b"x").status_code == 404
    for name in ("../submission.csv", "a/b.csv", ""):
        body = {"competitionName": "tiny-table", "fileName": name, "contentLength": 1}
        assert here.client.post(f"{COMPETITIONS}/StartSubmissionUpload", **body).status_code == 400


def test_submissions_are_listed_newest_first_and_by_page(tmp_path: Path) -> None:
    with served(tiny(tmp_path, max_daily_submissions=50)) as it:
        refs = []
        for number in range(5):
            refs.append(it.client.submit(truth_with(it.competition.snapshot, (4 - number) / 5), f"r-{number}"))
            it.clock.pass_by(minutes=1)
        bad = it.client.submit(b"id\n", "bad")
        it.settle()

        def tags(**body: object) -> list[str]:
            return [
                found["description"] for found in it.client.compete("ListSubmissions", **body).get("submissions", [])
            ]

        assert tags() == ["bad", "r-4", "r-3", "r-2", "r-1", "r-0"]
        assert (tags(page=2, pageSize=4), tags(page=3, pageSize=4)) == (["r-1", "r-0"], [])
        first = it.client.compete("ListSubmissions", pageSize=4)
        assert tags(pageSize=4, pageToken=first["nextPageToken"]) == ["r-1", "r-0"]
        assert it.client.post(f"{COMPETITIONS}/GetSubmission", ref=refs[0] + 1).status_code == 404
        assert bad > refs[-1] > refs[0] > 0


def test_a_competition_for_notebooks_refuses_files(tmp_path: Path) -> None:
    with served(tiny(tmp_path, kind="code")) as it:
        assert it.client.compete("GetCompetition")["isKernelsSubmissionsOnly"]
        refused = it.client.create(it.client.upload(it.sample))
        assert (refused.status_code, "only accepts Submissions from Notebooks" in refused.text) == (400, True)


def test_the_public_part_is_kaggles_own_where_the_answers_say_so(tmp_path: Path) -> None:
    snapshot = tiny(tmp_path)
    rows = list(csv.DictReader(snapshot.answers.read_text().splitlines()))
    uses = ["Public" if number < 10 else "Ignored" if number < 20 else "Private" for number in range(len(rows))]
    lines = [f"{row['id']},{row['label']},{use}" for row, use in zip(rows, uses, strict=True)]
    snapshot.answers.write_text("\n".join(["id,label,Usage", *lines]) + "\n")
    chances = {"Public": 0.5, "Ignored": 0.999, "Private": 0.9}
    predicted = [
        f"{row['id']},{chances[use] if row['label'] == '1' else 1 - chances[use]}"
        for row, use in zip(rows, uses, strict=True)
    ]
    with served(Snapshot.load(snapshot.path, {"log_loss": "minimize"})) as it:
        it.client.submit("\n".join(["id,label", *predicted]).encode())
        it.settle()
        [kept] = it.site.submissions
        assert (kept.public_score, kept.private_score) == (0.69315, 0.10536)


def test_the_public_part_is_the_same_for_the_same_seed_alone(snapshot: Snapshot) -> None:
    def public(seed: int) -> float | None:
        with served(snapshot, SiteSettings(seed=seed)) as it:
            it.client.submit(truth_with(snapshot, 0.5))
            it.settle()
            return it.site.submissions[0].public_score

    assert public(1) == public(1)
    assert public(1) != public(2)


def test_grading_does_not_keep_others_waiting(here: Served) -> None:
    for _ in range(5):
        here.client.submit(here.sample)
        assert here.client.compete("GetCompetition")
    here.settle()
    assert {kept.status for kept in here.site.submissions} == {"COMPLETE"}

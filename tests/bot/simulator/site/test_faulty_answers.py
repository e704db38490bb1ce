"""Faults as a client meets them: what it sees, what was acted on, and what is recorded."""

from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest

from bot.simulator.site.faults import Faults
from bot.simulator.site.site import Site
from scrapers.snapshots.snapshot import Snapshot
from state.errors import UsageError
from tests.bot.simulator.site.bad_days import bad_days, faults_of
from tests.bot.simulator.site.parts import COMPETITIONS, KERNELS, START, TWIN, HandClock, both, served
from tests.tiny_snapshot import SLUG


def test_a_file_holds_a_script(tmp_path: Path) -> None:
    file = tmp_path / "faults.toml"
    file.write_text('[[fault]]\nkind = "cut"\nmethod = "Create*"\nacts = true\n\n[[fault]]\nkind = "rate-limit"\n')
    faults = Faults.read(file)
    found = [faults.draw(method, START) for method in ("CreateSubmission", "ListKernels")]
    assert [(one.kind, one.acts) for one in found if one] == [("cut", True), ("rate-limit", False)]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('[[fault]]\nkind = "flood"\n', "fault.0.kind"),
        ('[[fault]]\nkind = "cut"\nhow = 1\n', "fault.0.how"),
        ('[[fault]]\nkind = "cut"\ncompetition = "tiny-table"\n', "remove `competition`"),
        ("[fault\n", "cannot be read"),
    ],
)
def test_mistakes_in_a_file_are_named(tmp_path: Path, text: str, named: str) -> None:
    file = tmp_path / "faults.toml"
    file.write_text(text)
    with pytest.raises(UsageError, match=named):
        Faults.read(file)


LIMITS = f"{COMPETITIONS}/GetSubmissionLimits"


def script(*faults: dict[str, Any]) -> Faults:
    return faults_of(list(faults))


@pytest.mark.parametrize(("retry_after", "header"), [("none", None), ("honest", "60"), ("lying", "3")])
def test_a_rate_limit_lasts_as_long_as_it_does_whatever_it_says(snapshot, retry_after, header) -> None:
    faults = script({"kind": "rate-limit", "method": "GetSubmission*", "retry_after": retry_after})
    with served(snapshot, faults=faults) as it:
        first = it.client.post(LIMITS, competitionName=it.client.slug)
        assert (first.status_code, first.headers.get("retry-after")) == (429, header)
        assert first.json()["error"]["status"] == "RESOURCE_EXHAUSTED"
        it.clock.pass_by(seconds=40)
        assert it.client.post(LIMITS, competitionName=it.client.slug).status_code == 429
        assert it.client.compete("GetCompetition")
        it.clock.pass_by(seconds=21)
        assert it.client.post(LIMITS, competitionName=it.client.slug).status_code == 200
        assert [(one.method, one.kind) for one in faults.injected] == [("GetSubmissionLimits", "rate-limit")] * 2


def test_a_rate_limit_may_be_plain_text(snapshot: Snapshot) -> None:
    with served(snapshot, faults=script({"kind": "rate-limit", "plain_text": True})) as it:
        answer = it.client.post(LIMITS, competitionName=it.client.slug)
        assert (answer.status_code, answer.text) == (429, "Too many requests")


@pytest.mark.parametrize(("kind", "status"), [("internal-error", 500), ("unavailable", 503)])
def test_server_trouble_comes_as_often_as_the_script_says(snapshot: Snapshot, kind: str, status: int) -> None:
    with served(snapshot, faults=script({"kind": kind, "skip": 1, "count": 2})) as it:
        got = [it.client.post(LIMITS, competitionName=it.client.slug).status_code for _ in range(5)]
        assert got == [200, status, status, 200, 200]


def test_a_fault_waits_for_its_time(snapshot: Snapshot) -> None:
    later = {"kind": "internal-error", "at": (START + timedelta(hours=1)).isoformat()}
    with served(snapshot, faults=script(later, {"kind": "unavailable", "after": 7200})) as it:
        assert it.client.post(LIMITS, competitionName=it.client.slug).status_code == 200
        it.clock.pass_by(hours=1)
        assert it.client.post(LIMITS, competitionName=it.client.slug).status_code == 500
        assert it.client.post(LIMITS, competitionName=it.client.slug).status_code == 200
        it.clock.pass_by(hours=1)
        assert it.client.post(LIMITS, competitionName=it.client.slug).status_code == 503


@pytest.mark.parametrize("acts", [False, True])
def test_a_cut_connection_does_not_show_whether_a_submission_was_made(snapshot: Snapshot, acts: bool) -> None:
    with served(snapshot, faults=script({"kind": "cut", "method": "CreateSubmission", "acts": acts})) as it:
        token = it.client.upload(it.sample)
        with pytest.raises(httpx2.TransportError):
            it.client.create(token, "r-1 00000000")
        assert [one.tag for one in it.site.submissions] == (["r-1 00000000"] if acts else [])
        assert it.client.create(token, "r-2 00000000").status_code == 200


def test_an_error_may_come_after_the_act_and_a_page_of_html_too(snapshot: Snapshot) -> None:
    faults = script(
        {"kind": "internal-error", "method": "CreateSubmission", "acts": True},
        {"kind": "html", "method": "CreateSubmission", "acts": True},
        {"kind": "html", "method": "CreateSubmission"},
    )
    with served(snapshot, faults=faults) as it:
        token = it.client.upload(it.sample)
        answers = [it.client.create(token, f"r-{number}") for number in range(3)]
        assert [answer.status_code for answer in answers] == [500, 200, 200]
        assert [answer.headers["content-type"].split(";")[0] for answer in answers[1:]] == ["text/html"] * 2
        assert [one.tag for one in it.site.submissions] == ["r-0", "r-1"]


def test_a_stalled_request_is_answered_late_or_not_acted_on_where_the_client_has_gone(snapshot: Snapshot) -> None:
    slow = {"kind": "stall", "method": "CreateSubmission", "seconds": 0.05}
    with served(snapshot, faults=script(slow, slow | {"seconds": 60}, slow | {"seconds": 60, "acts": True})) as it:
        token = it.client.upload(it.sample)
        assert it.client.create(token, "r-0").status_code == 200
        for tag in ("r-1", "r-2"):
            with pytest.raises(httpx2.ReadTimeout):
                it.client.http.post(
                    f"{it.client.url}/v1/{COMPETITIONS}/CreateSubmission",
                    json={"competitionName": it.client.slug, "blobFileTokens": token, "submissionDescription": tag},
                    headers={"Authorization": "Bearer KGAT_rehearsal"},
                    timeout=0.2,
                )
        assert [one.tag for one in it.site.submissions] == ["r-0", "r-2"]


def test_a_new_submission_is_hidden_for_a_while_and_listed_all_the_same(snapshot: Snapshot) -> None:
    with served(snapshot, faults=script({"kind": "submission-hidden", "after": 0, "for_seconds": 30})) as it:
        ref = it.client.submit(it.sample)
        assert it.client.post(f"{COMPETITIONS}/GetSubmission", ref=ref).status_code == 404
        assert it.client.compete("ListSubmissions")["submissions"][0]["ref"] == ref
        it.clock.pass_by(seconds=31)
        assert it.client.ask(f"{COMPETITIONS}/GetSubmission", ref=ref)["ref"] == ref
        assert [one.kind for one in it.site.faults.injected] == ["submission-hidden"]


def test_a_token_expires_for_a_while(snapshot: Snapshot) -> None:
    with served(snapshot, faults=script({"kind": "token-expired", "after": 60, "for_seconds": 120})) as it:
        assert it.client.compete("GetCompetition")
        it.clock.pass_by(seconds=60)
        assert it.client.post(LIMITS, competitionName=it.client.slug).status_code == 401
        it.clock.pass_by(seconds=120)
        assert it.client.compete("GetCompetition")


def test_the_rules_change_from_a_request_on(snapshot: Snapshot) -> None:
    with served(snapshot, faults=script({"kind": "rules-changed", "method": "ListDataFiles"})) as it:
        before = it.client.compete("ListCompetitionPages", pageName="rules")
        it.client.compete("ListDataFiles")
        after = it.client.compete("ListCompetitionPages", pageName="rules")
        assert "Amendment" not in before["pages"][0]["content"]
        assert "Amendment" in after["pages"][0]["content"]


def test_hosts_close_a_competition_early(snapshot: Snapshot) -> None:
    with served(snapshot, faults=script({"kind": "closed-early", "after": 3600})) as it:
        token = it.client.upload(it.sample)
        it.clock.pass_by(hours=2)
        found = it.client.compete("GetCompetition")
        assert found["submissionsDisabled"]
        assert found["deadline"].startswith("2020-01-10T13:00:00")
        refused = it.client.create(token)
        assert refused.status_code == 400
        assert it.site.submissions == []


def test_hosts_may_close_or_change_one_competition_of_several(tmp_path: Path) -> None:
    faults = script(
        {"kind": "closed-early", "after": 3600, "competition": TWIN},
        {"kind": "rules-changed", "after": 0, "competition": SLUG},
    )
    with served(both(tmp_path), faults=faults) as it:
        it.clock.pass_by(hours=2)
        found = [it.of(slug).compete("GetCompetition") for slug in (SLUG, TWIN)]
        assert [one.get("submissionsDisabled", False) for one in found] == [False, True]
        assert [one["deadline"][:13] for one in found] == ["2020-03-01T00", "2020-01-10T13"]
        rules = [it.of(slug).compete("ListCompetitionPages", pageName="rules")["pages"][0] for slug in (SLUG, TWIN)]
        assert ["Amendment" in page["content"] for page in rules] == [True, False]


def test_without_a_name_hosts_close_all(tmp_path: Path) -> None:
    with served(both(tmp_path), faults=script({"kind": "closed-early", "after": 0})) as it:
        assert all(it.of(slug).compete("GetCompetition")["submissionsDisabled"] for slug in (SLUG, TWIN))


def test_a_fault_of_a_competition_that_is_not_played_is_refused(snapshot: Snapshot) -> None:
    faults = script({"kind": "closed-early", "competition": "elsewhere"})
    with pytest.raises(UsageError, match="unknown competition elsewhere; known: tiny-table"):
        Site(snapshot, HandClock(START), faults=faults)


def test_a_kernel_may_fail_to_be_saved_under_200(snapshot: Snapshot) -> None:
    with served(snapshot, faults=script({"kind": "kernel-error", "method": "SaveKernel"})) as it:
        kernel = {"slug": "rehearsal/first-try", "newTitle": "First try", "text": "print()", "kernelType": "script"}
        assert "versionNumber" not in it.client.ask(f"{KERNELS}/SaveKernel", **kernel)
        assert it.client.ask(f"{KERNELS}/SaveKernel", **kernel)["versionNumber"] == 1


def test_a_fault_may_come_back_after_so_many_requests(snapshot: Snapshot) -> None:
    with served(snapshot, faults=script({"kind": "internal-error", "skip": 1, "every": 3, "count": 2})) as it:
        got = [it.client.post(LIMITS, competitionName=it.client.slug).status_code for _ in range(9)]
        assert got == [200, 500, 200, 200, 500, 200, 200, 200, 200]


def test_on_bad_days_every_kind_of_request_goes_wrong_now_and_then() -> None:
    faults = faults_of(bad_days())
    asked, now = 3000, START
    for _ in range(asked // 3):
        for method in ("ListCompetitionTopics", "CreateSubmission", "SaveKernel"):
            now += timedelta(minutes=5)
            faults.draw(method, now)
    kinds = Counter(one.kind for one in faults.injected)
    assert kinds.keys() == {fault["kind"] for fault in bad_days()} - {"submission-hidden"}
    assert 0.05 < kinds.total() / asked < 0.15
    assert any(one.acts and one.method == "CreateSubmission" for one in faults.injected)


def test_each_field_of_an_answer_is_null_and_then_absent_in_its_turn(snapshot: Snapshot) -> None:
    with served(snapshot) as it:
        whole = it.client.compete("GetCompetition")
    with served(snapshot, faults=script({"kind": "null-field", "count": 0})) as it:
        got = [it.client.compete("GetCompetition") for _ in range(4 * len(whole))]
        assert {key for one in got for key in one if one[key] is None} == set(whole)
        assert {key for one in got for key in whole if key not in one} == set(whole)
        assert all(sum(one.get(key) is None for key in whole) <= 1 for one in got)


def test_one_row_of_a_list_has_a_null_at_a_time(snapshot: Snapshot) -> None:
    with served(snapshot, faults=script({"kind": "null-field", "count": 0})) as it:
        got = [it.client.compete("ListDataFiles") for _ in range(40)]
        odd = [[row for row in one.get("files") or () if None in row.values()] for one in got]
        assert max(map(len, odd)) == 1
        assert len({row["name"] for rows in odd for row in rows if row.get("name")}) > 1

"""The wire: both prefixes, absolute targets, the site's own time, both error shapes, what is never served."""

import http.client
import socket
import time
from datetime import datetime
from urllib.parse import urlsplit

import httpx2
import pytest

from bot.simulator.site.faults import Fault, Faults
from bot.simulator.site.serving import serving
from bot.simulator.site.settings import SiteSettings
from bot.simulator.site.site import Site
from scrapers.snapshots.snapshot import Snapshot
from state.clock import FastClock
from tests.bot.simulator.site.parts import COMPETITIONS, DISCUSSIONS, KERNELS, SEARCH, START, Served, served


@pytest.mark.parametrize("prefix", ["/v1", "/api/v1"])
def test_both_prefixes_answer(here: Served, prefix: str) -> None:
    answer = here.client.http.post(
        f"{here.client.url}{prefix}/{COMPETITIONS}/GetCompetition",
        json={"competitionName": "tiny-table"},
        headers={"Authorization": "Bearer KGAT_rehearsal"},
    )
    assert answer.json()["title"] == "Tiny table"


def test_absolute_targets_answer_as_a_proxy_gets_them(here: Served) -> None:
    place = urlsplit(here.client.url)
    connection = http.client.HTTPConnection(str(place.hostname), place.port)
    target = f"http://localhost/api/v1/{COMPETITIONS}/GetCompetition"
    headers = {"Authorization": "Bearer KGAT_rehearsal", "Host": "localhost", "Content-Type": "application/json"}
    connection.request("POST", target, b'{"competitionName": "tiny-table"}', headers)
    answer = connection.getresponse()
    assert answer.status == 200
    assert b"Tiny table" in answer.read()
    connection.close()


def test_every_answer_carries_the_sites_own_time_and_the_version(here: Served) -> None:
    answer = here.client.post(f"{COMPETITIONS}/ListCompetitions")
    assert answer.headers.get_list("date") == ["Fri, 10 Jan 2020 12:00:00 GMT"]
    assert answer.headers["x-kaggle-apiversion"] == "2.2.4"
    assert here.client.http.get(f"{here.client.url}/nowhere").headers["date"] == "Fri, 10 Jan 2020 12:00:00 GMT"


def test_the_clock_is_shown_to_anybody_and_is_no_request(snapshot: Snapshot) -> None:
    clock = FastClock(START, 1234.5)
    site = Site(snapshot, clock, faults=Faults([Fault(kind="unavailable", count=0)]))
    with serving(site) as url, httpx2.Client(trust_env=False, verify=False) as http:
        found = http.get(f"{url}/clock").json()
        assert http.post(f"{url}/clock").status_code == 404
    again = FastClock(datetime.fromisoformat(found["start"]), found["speed"], found["began"])
    assert (again.start, again.speed, again.began) == (clock.start, clock.speed, clock.began)
    assert (site.requests, site.faults.injected) == ({}, [])


def test_a_clock_without_a_speed_is_not_shown(here: Served) -> None:
    assert here.client.http.get(f"{here.client.url}/clock").status_code == 404


def test_without_the_users_token_nothing_is_answered_and_the_refusal_is_nested(here: Served) -> None:
    for headers in ({}, {"Authorization": "Bearer KGAT_other"}, {"Authorization": "Basic !"}, {"Authorization": "x"}):
        answer = here.client.http.post(
            f"{here.client.url}/v1/{COMPETITIONS}/ListCompetitions", json={}, headers=headers
        )
        assert answer.status_code == 401
        assert answer.json() == {"error": {"code": 401, "message": "Unauthenticated", "status": "UNAUTHENTICATED"}}


def test_the_legacy_key_is_taken_too(here: Served) -> None:
    settings = here.site.settings
    answer = here.client.http.post(
        f"{here.client.url}/v1/{COMPETITIONS}/ListCompetitions", json={}, auth=(settings.user_name, settings.legacy_key)
    )
    assert answer.status_code == 200


def test_a_token_can_be_asked_about(here: Served) -> None:
    known = here.client.ask("security.OAuthService/IntrospectToken", token="KGAT_rehearsal")
    assert (known["active"], known["username"]) == (True, "rehearsal")
    assert "active" not in here.client.ask("security.OAuthService/IntrospectToken", token="KGAT_other")


def test_both_error_shapes_occur_and_a_setting_chooses_one(snapshot: Snapshot, here: Served) -> None:
    bodies = [here.client.post(f"{COMPETITIONS}/GetCompetition", competitionName="nope").json() for _ in range(20)]
    assert {frozenset(body) for body in bodies} == {frozenset({"error"}), frozenset({"code", "message"})}
    with served(snapshot, SiteSettings(error_shape="flat")) as flat:
        answer = flat.client.post(f"{COMPETITIONS}/GetCompetition", competitionName="nope")
    assert answer.json() == {"code": 403, "message": "Permission 'competitions.get' was denied"}


def test_a_wrong_slug_is_a_403_wherever_one_is_named(here: Served) -> None:
    for method in (
        *("ListCompetitionPages", "ListDataFiles", "DownloadDataFiles", "GetLeaderboard"),
        *("DownloadLeaderboard", "CreateSubmission", "ListSubmissions", "GetSubmissionLimits"),
        *("ListCompetitionTopics", "ListTopicMessages", "StartSubmissionUpload"),
    ):
        answer = here.client.post(f"{COMPETITIONS}/{method}", competitionName="tiny-tables", topicId=1)
        assert (method, answer.status_code) == (method, 403)
    assert here.client.post(f"{KERNELS}/ListKernels", competition="tiny-tables").status_code == 403


def test_fields_in_snake_case_are_ignored_and_so_mislead(here: Served) -> None:
    answer = here.client.post(f"{COMPETITIONS}/GetCompetition", competition_name="tiny-table")
    assert answer.status_code == 403


def test_what_is_no_json_object_is_a_400(here: Served) -> None:
    for content in (b"[1]", b"{", b"\xff"):
        answer = here.client.http.post(
            f"{here.client.url}/v1/{COMPETITIONS}/GetCompetition",
            content=content,
            headers={"Authorization": "Bearer KGAT_rehearsal"},
        )
        assert answer.status_code == 400


def test_methods_that_the_site_does_not_have_and_old_addresses_are_404(here: Served) -> None:
    assert here.client.post(f"{COMPETITIONS}/LaunchCompetition").status_code == 404
    answer = here.client.http.get(f"{here.client.url}/api/v1/competitions/list")
    assert (answer.status_code, answer.headers["content-type"].split(";")[0]) == (404, "text/html")


def test_requests_are_counted_by_method(here: Served) -> None:
    here.client.compete("GetCompetition")
    here.client.compete("GetCompetition")
    here.client.post(f"{COMPETITIONS}/GetSubmission", ref=1)
    assert here.site.requests == {"GetCompetition": 2, "GetSubmission": 1}


def test_answers_hold_fields_of_the_future_unless_they_are_empty(snapshot: Snapshot, here: Served) -> None:
    assert "rolloutCohort" in here.client.compete("GetCompetition")
    assert here.client.compete("ListCompetitionTopics", page=9) == {}
    with served(snapshot, SiteSettings(unknown_fields=False)) as plain:
        found = plain.client.compete("ListCompetitionTopics")
        assert set(found) == {"topics", "totalCount"}


def test_a_site_is_up_and_gone_in_no_time(snapshot: Snapshot) -> None:
    began = time.perf_counter()
    with served(snapshot) as it:
        it.client.compete("GetCompetition")
        url = it.client.url
    print(f"up, one request and gone in {time.perf_counter() - began:.3f} s")
    place = urlsplit(url)
    with pytest.raises(ConnectionRefusedError), socket.create_connection((str(place.hostname), place.port or 0)):
        pass


def test_no_answer_holds_what_a_snapshot_keeps_from_agents(here: Served) -> None:
    answers = (here.competition.snapshot.answers).read_text().splitlines()
    client, bodies = here.client, []
    for method in (
        "GetCompetition",
        "ListCompetitionPages",
        "ListDataFiles",
        "ListCompetitionTopics",
        "GetLeaderboard",
    ):
        bodies.append(client.post(f"{COMPETITIONS}/{method}", competitionName=client.slug).text)
    bodies.append(client.post(f"{COMPETITIONS}/ListTopicMessages", competitionName=client.slug, topicId=1).text)
    bodies.append(client.post(f"{DISCUSSIONS}/GetTopic", id=1).text)
    bodies.append(client.post(f"{KERNELS}/ListKernels", competition=client.slug).text)
    bodies.append(client.post(f"{SEARCH}/ListEntities", filters={"query": "tiny"}).text)
    bodies.append(client.post(f"{KERNELS}/ListKernelSessionOutput", userName="ann", kernelSlug="linear").text)
    for name in [file["name"] for file in client.compete("ListDataFiles")["files"]]:
        answer = client.post(f"{COMPETITIONS}/DownloadDataFile", competitionName=client.slug, fileName=name)
        bodies.append(client.http.get(answer.headers["location"]).text)
    seen = "\n".join(bodies)
    assert len(seen) > 10_000
    assert set(answers[1:]) & set(seen.splitlines()) == set()
    labels = "\n".join(row.rsplit(",", 1)[1] for row in answers[1:])
    assert labels not in seen


def test_no_name_leads_out_of_the_data(here: Served) -> None:
    client = here.client
    link = client.post(f"{COMPETITIONS}/DownloadDataFile", competitionName=client.slug, fileName="train.csv")
    signed = link.headers["location"]
    for name in ("../private/answers.csv", "private/answers.csv", "../snapshot.json", "/etc/passwd", ""):
        answer = client.post(f"{COMPETITIONS}/DownloadDataFile", competitionName=client.slug, fileName=name)
        assert (name, answer.status_code) == (name, 404)
        assert (
            client.http.get(signed.replace("data/tiny-table/train.csv", f"data/tiny-table/{name}")).status_code == 403
        )
    assert client.http.get(f"{client.url}/storage/data/tiny-table/train.csv").status_code == 403
    assert client.http.get(f"{client.url}/private/answers.csv").status_code == 404


def test_times_are_utc_and_say_the_same_however_many_digits_they_have(here: Served) -> None:
    found = here.client.compete("GetLeaderboard")["submissions"]
    texts = [entry["submissionDate"] for entry in found] + [here.client.compete("GetCompetition")["enabledDate"]]
    assert all(text.endswith("Z") for text in texts)
    assert all(datetime.fromisoformat(text) <= START for text in texts)
    assert len({len(text) for text in texts}) > 1

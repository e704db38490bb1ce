"""The page at the root: what it shows of a running site, and that nothing foreign is more than text on it."""

import re
from datetime import timedelta
from pathlib import Path

import pytest

from bot.rehearsal.faults import Fault, Faults
from scrapers.snapshots.snapshot import Snapshot
from tests.bot.rehearsal.parts import COMPETITIONS, DEADLINE, TWIN, TWIN_DEADLINE, Served, both, served, truth_with


def shown(it: Served) -> str:
    answer = it.client.http.get(it.client.url)
    assert answer.headers["content-type"].startswith("text/html")
    return " ".join(re.sub(r"<style.*?</style>|<[^>]+>", " ", answer.text, flags=re.DOTALL).split())


def test_an_idle_site_says_that_nothing_has_happened(here: Served) -> None:
    text = shown(here)
    for words in ("10 Jan 12:00", "50 days left", "Own place – of", "Submissions None yet.", "Faults None injected."):
        assert words in text
    assert here.site.requests == {}


def test_it_shows_submissions_the_own_place_requests_and_faults(snapshot: Snapshot) -> None:
    with served(snapshot, faults=Faults([Fault(kind="unavailable", method="GetCompetition")])) as it:
        it.client.post(f"{COMPETITIONS}/GetCompetition", competitionName=it.client.slug)
        it.client.submit(truth_with(snapshot, 0.0), "r-1 <b>bold</b>")
        it.settle()
        text = shown(it)
        for words in (
            "1 Rehearsal Bot 0.10536",
            "COMPLETE 0.10536",
            "CreateSubmission 1",
            "GetCompetition unavailable",
        ):
            assert words in text
        assert "<b>bold</b>" not in it.client.http.get(it.client.url).text


def test_of_several_competitions_each_has_its_part_under_one_table(tmp_path: Path) -> None:
    with served(both(tmp_path)) as it:
        it.of(TWIN).submit(truth_with(it.site.competition(TWIN).snapshot, 0.0), "r-2")
        it.settle()
        it.clock.time = TWIN_DEADLINE + timedelta(seconds=1)
        text = shown(it)
        for words in (
            "A rehearsal of 2 competitions",
            "Tiny table 23 h 59 min left – of",
            "Twin table the competition is over 1 of 5 1",
            "tiny-twin , 1,096 days earlier than it was",
            "Private leaderboard 5 teams",
            "CreateSubmission 1",
        ):
            assert words in text
        assert text.count("Faults") == text.count("Requests by method") == 1


@pytest.mark.parametrize("late", [timedelta(0), timedelta(seconds=1)])
def test_private_scores_are_shown_when_it_is_over(here: Served, late: timedelta) -> None:
    here.client.submit(here.sample)
    here.settle()
    here.clock.time = DEADLINE + late
    text = shown(here)
    assert ("Private leaderboard" in text, "the competition is over" in text) == (bool(late), bool(late))
    assert text.count("0.69315") == (4 if late else 3)

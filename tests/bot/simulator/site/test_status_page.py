"""The pages for people: what they show of a running site, and that nothing foreign is more than text on them."""

import re
from datetime import timedelta
from pathlib import Path

import pytest

from scrapers.kaggle.settings import KaggleSection
from tests.bot.simulator.site.parts import DEADLINE, TWIN, TWIN_DEADLINE, Served, both, served, truth_with


def page(it: Served, path: str) -> str:
    answer = it.client.http.get(f"{it.client.url}{path}")
    assert answer.headers["content-type"].startswith("text/html")
    return answer.text


def shown(it: Served, slug: str = "tiny-table") -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page(it, f"/competitions/{slug}")).split())


def test_a_page_is_no_request_and_shows_the_metric_and_the_rules(here: Served) -> None:
    text = shown(here)
    for words in ("2020-01-10 12:00 UTC", "Log Loss, lower is better", "Public leaderboard", "5 entries per day"):
        assert words in text
    assert here.site.requests == {}
    assert here.client.http.get(f"{here.client.url}/competitions/other").status_code == 404


def test_the_pages_that_the_bot_links_to_are_there(here: Served) -> None:
    settings = KaggleSection(url=f"{here.client.url}/v1")
    for name, words in (
        ("rules", "5 entries per day"),
        ("overview/evaluation", "Log Loss"),
        ("submissions", "Submissions"),
    ):
        address = settings.page_of("tiny-table", name)
        assert words in here.client.http.get(address).text
    assert KaggleSection().page_of("titanic", "rules") == "https://www.kaggle.com/competitions/titanic/rules"


def test_it_shows_submissions_and_the_own_place(here: Served) -> None:
    here.client.submit(truth_with(here.competition.snapshot, 0.0), "r-1 <b>bold</b> | r-2")
    here.settle()
    text = shown(here)
    assert "1 Rehearsal Bot 0.10536" in text
    assert "&lt;b&gt;bold&lt;/b&gt; | r-2 COMPLETE 0.10536" in text
    assert "<strong>Rehearsal Bot</strong>" in page(here, "/competitions/tiny-table")


def test_the_first_page_leads_to_each_competition(tmp_path: Path) -> None:
    with served(both(tmp_path)) as it:
        it.of(TWIN).submit(truth_with(it.site.competition(TWIN).snapshot, 0.0), "r-2")
        it.settle()
        it.clock.time = TWIN_DEADLINE + timedelta(seconds=1)
        text = page(it, "/")
        assert '<a href="/competitions/tiny-table">Tiny table</a>: ends 2020-03-01 00:00, 0 submissions' in text
        assert f'<a href="/competitions/{TWIN}">Twin table</a>: ended 2020-02-29 00:00, 1 submissions' in text
        assert "Private leaderboard, 5 teams" in shown(it, TWIN)


@pytest.mark.parametrize("late", [timedelta(0), timedelta(seconds=1)])
def test_private_scores_are_shown_when_it_is_over(here: Served, late: timedelta) -> None:
    here.client.submit(here.sample)
    here.settle()
    here.clock.time = DEADLINE + late
    assert ("Private leaderboard" in shown(here)) == bool(late)

"""The page of a comparison, and what `bot compare` prints and writes."""

import json
import random
from html.parser import HTMLParser
from pathlib import Path

import pytest

from bot.research.compare.comparison import compare
from bot.research.compare.page import render
from bot.research.compare.verdict import verdict
from state.errors import ConfigurationError, UsageError
from tests.bot.replay.conftest import Bot, bot
from tests.bot.report.test_browser import HOSTILE, opened, served
from tests.bot.research.compare.simulated import bench, result, runs_of, write
from tests.browser import browser

__all__ = ["bot"]

SKILLS = {"comind": 0.3, "comind no-community": 0.1, "aide": 0.0}


class _Reader(HTMLParser):
    """Collects what a page would fetch, and how its elements nest."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.texts: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        named = dict(attrs)
        self.fetched += [named[name] or "" for name in ("src", "href") if name in named]

    def handle_data(self, data: str) -> None:
        self.texts.append(data.strip())


def read(page: str) -> _Reader:
    reader = _Reader()
    reader.feed(page)
    return reader


def test_the_page_begins_with_who_wins_and_one_picture_and_fetches_nothing() -> None:
    found = compare(bench(SKILLS, random.Random(1)))
    page = read(render(found))
    assert page.fetched == ["data:,"]
    assert "script" not in page.tags
    order = [
        page.texts.index(text) for text in (verdict(found), "comind over aide", "Each agent", "Each pair", "Over time")
    ]
    assert order[0] < order[1] < order[2] < order[3] < order[4]
    assert page.tags.count("circle") == 2 * 12, "a dot for each competition and pair"
    published = page.texts.index("CoMind v1, table 1: win rate by category")
    assert published > order[-1]
    assert "published" in page.texts[published:]


def test_without_pairs_there_is_no_picture_and_the_page_says_why() -> None:
    page = read(render(compare(runs_of([result("wine", "comind", 0, 0.5)]))))
    assert "circle" not in page.tags
    assert "Only comind was run, so there is nothing to compare." in page.texts


def test_names_from_results_cannot_become_markup() -> None:
    hostile = runs_of(
        [result(HOSTILE, "comind", 0, 0.5, run_id=HOSTILE, model=HOSTILE), result(HOSTILE, "aide", 0, 0.4)]
    )
    page = read(render(compare(hostile)))
    assert "script" not in page.tags
    assert "img" not in page.tags


@pytest.mark.integration
def test_a_hostile_comparison_is_quiet_in_a_browser(tmp_path: Path) -> None:
    hostile = runs_of([result(HOSTILE, "comind", 0, 0.5, run_id=HOSTILE), result(HOSTILE, "aide", 0, 0.4)])
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "page.html").write_text(render(compare(hostile)))
    with served(tmp_path / "site") as (address, asked):
        document, messages = opened(f"{address}/page.html", tmp_path / "profile")
    assert asked == ["/page.html"]
    assert messages == []
    assert "comind is ahead of aide" in document


@pytest.mark.integration
def test_its_tables_and_charts_fit_a_phone(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(render(compare(bench(SKILLS, random.Random(1)))))
    with browser(tmp_path / "profile") as tab:
        tab.shape(390, 844)
        tab.open((tmp_path / "page.html").as_uri())
        assert tab.run("document.documentElement.scrollHeight") <= 3 * 844
        tab.run("document.querySelectorAll('section > details').forEach(one => one.open = true)")
        assert tab.run("document.documentElement.scrollWidth") <= 390
        boxes = "[...document.querySelectorAll('#agents .wide, #pairs .wide, #competitions .wide')]"
        assert tab.run(f"{boxes}.filter(box => box.scrollWidth > box.clientWidth).length") == 0
        texts = "[...document.querySelectorAll('svg text')].map(text => text.getBoundingClientRect())"
        assert tab.run(f"{texts}.every(text => text.left >= 0 && text.right <= 390)")


def test_the_command_prints_at_most_80_columns_and_writes_what_it_is_asked_to(bot: Bot, tmp_path: Path) -> None:
    found = bench(SKILLS, random.Random(1))
    runs = write([one for _, one in found.results], tmp_path / "runs")
    (runs / "run0" / "result.json").unlink()
    (runs / "run0" / "config.json").write_text("{}")
    done = bot("compare", runs, "--html", tmp_path / "page.html")
    assert done.exit_code == 0
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert not any(line.endswith("-") for line in done.stdout.splitlines()), "names stay whole"
    assert done.stdout.startswith("comind is better than comind no-community by ")
    assert "CoMind v1, table 1: win rate by category" in done.stdout and "CoMind v2" in done.stdout
    assert "The comparison omits 1 unfinished run" in " ".join(done.stdout.split())
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")


def test_the_command_prints_json_for_programs(bot: Bot, tmp_path: Path) -> None:
    runs = write([one for _, one in bench(SKILLS, random.Random(1)).results], tmp_path / "runs")
    told = json.loads(bot("compare", runs, "--json").stdout)
    assert [one["contender"]["variant"] for one in told["agents"]] == [[], ["no-community"], []]
    first = told["pairs"][0]
    assert first["settled"] is True
    assert first["win_rate"]["low"] > 0
    assert len(first["win_rate"]["by_competition"]) == 12


def test_with_a_plan_only_its_comparisons_are_made(bot: Bot, tmp_path: Path) -> None:
    runs = write([one for _, one in bench(SKILLS, random.Random(1)).results], tmp_path / "runs")
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'competitions = ["one"]\nagents = ["comind", "aide", "comind no-community"]\ncomparisons = [["aide", "comind"]]\n'
    )
    (pair,) = json.loads(bot("compare", runs, "--plan", plan, "--json").stdout)["pairs"]
    assert (pair["one"]["agent"], pair["other"]["agent"]) == ("comind", "aide")
    assert pair["chance"] == pair["win_rate"]["chance"], "corrected for nothing"
    plan.write_text(plan.read_text().replace('["aide", "comind"]', '["aide", "solo"], ["aide", "aide"]'))
    with pytest.raises(ConfigurationError) as raised:
        bot("compare", runs, "--plan", plan)
    assert [one.message for one in raised.value.problems] == [
        "comparisons.1 names solo, which is not listed in `agents`",
        "comparisons.2 must name two different agents",
    ]


def test_what_cannot_be_compared_is_said_in_one_sentence(bot: Bot, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nowhere: not found; pass a run folder"):
        bot("compare", tmp_path / "nowhere")
    (tmp_path / "runs" / "one").mkdir(parents=True)
    with pytest.raises(UsageError, match=r"no finished replays in .*runs$"):
        bot("compare", tmp_path / "runs")
    (tmp_path / "runs" / "one" / "result.json").write_text("{}")
    with pytest.raises(UsageError, match="The comparison omits one, whose result is unreadable"):
        bot("compare", tmp_path / "runs")

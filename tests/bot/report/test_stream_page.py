"""What a page shows of a clock that moved."""

from typing import Any

import pytest

from bot.report import words
from bot.report.result import RunResult
from tests.bot.report.finished_runs import FakeRun
from tests.bot.report.test_page import HOSTILE, Page, page
from tests.bot.report.test_words import BASE


def series(reached: str = "2017-12-15T00:00:00Z") -> dict[str, Any]:
    """Return the `stream` of a result: three moves, two posts of which one was used."""
    moves = [(0.0, "2017-10-25T00:00:00Z", 0), (60.0, "2017-11-20T00:00:00Z", 4), (400.0, reached, 17)]
    counts = {"topics": 1, "kernels": 2}
    post = {"posted": "2017-12-12T00:00:00Z", "seconds": 400.0, "as_of": reached}
    return {
        "start": moves[0][1],
        "cutoff": "2017-12-15T00:00:00Z",
        "moved_with": "nodes",
        "moves": [{"seconds": s, "as_of": as_of, "messages": count, **counts} for s, as_of, count in moves],
        "nodes": [
            {"node": node, "seconds": seconds + 1.0, "as_of": as_of}
            for node, (seconds, as_of, _) in enumerate(moves, 1)
        ],
        "posts": [
            post | {"item": "message/17", "ideas": [1, 2], "nodes": [3]},
            post | {"item": "kernel/4", "ideas": [], "nodes": []},
        ],
    }


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Page:
    changes = {"pace": "stream", "stream": series()}
    return page(tmp_path_factory.mktemp("stream"), FakeRun(hostile=HOSTILE, changes=changes))


@pytest.mark.integration
def test_a_page_shows_what_became_known_when_and_which_node_used_it(shown: Page) -> None:
    assert "Timeline: when posts became available, and which nodes used them" in shown.prose
    assert "message/17" in shown.prose
    assert "2017-12-12 00:00 UTC 6 min 40 s 2017-12-15 00:00 UTC 1 , 2 3" in shown.prose
    assert "the clock moved from 2017-10-25 00:00 UTC to 2017-12-15 00:00 UTC with each node started" in shown.prose
    assert "#known" in shown.values("href")


@pytest.mark.integration
def test_what_others_wrote_stays_text_there_too(shown: Page) -> None:
    assert not [tag for tag, attrs in shown.tags if tag == "script" or any(name.startswith("on") for name in attrs)]


def cautions(**changes: Any) -> list[str]:
    return [*words.cautions(RunResult.model_validate(BASE | changes))]


def test_a_clock_that_did_not_arrive_is_a_remark_and_no_caution() -> None:
    early, full = (
        RunResult.model_validate(BASE | {"pace": "stream", "stream": stream})
        for stream in (series("2017-12-14T00:00:00Z"), series())
    )
    (remark,) = words.remarks(early)
    assert remark == "The simulated clock stopped at 2017-12-14 00:00 UTC, so the run saw no later posts."
    assert [*words.remarks(full), *words.cautions(early)] == []


def test_a_cutoff_after_the_deadline_is_a_caution() -> None:
    assert cautions(cutoff_note="The cutoff is an odd one.") == ["The cutoff is an odd one."]


def test_entries_that_are_later_than_the_clock_are_a_caution() -> None:
    (caution,) = cautions(knowledge={"shown": "all", "entries": ["one", "two"], "younger": 1})
    assert "(1), so the result cannot be compared" in caution
    assert cautions(knowledge={"shown": "all", "entries": ["one"], "younger": 0}) == []

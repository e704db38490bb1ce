"""What `bot rehearse` prints for one competition, and of several on one site."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from bot.simulator.cli.rehearse import announce, announcement, progress, show_results
from bot.simulator.site.results import result_of
from bot.simulator.site.site import Site
from scrapers.snapshots.snapshot import Snapshot
from state.clock import FastClock
from tests.bot.simulator.site.parts import START, both

URL = "http://127.0.0.1:8899"


@contextmanager
def site_of(*snapshots: Snapshot, begins: datetime = START) -> Iterator[tuple[Site, FastClock]]:
    clock = FastClock(begins, 1000.0)
    site = Site(snapshots, clock)
    yield site, clock
    site.close()


def test_programs_get_every_competition_and_by_how_much_it_was_moved(tmp_path: Path) -> None:
    with site_of(*both(tmp_path)) as (site, clock):
        announced = announcement(site, clock, URL)
    assert "competition" not in announced
    assert announced["competitions"] == [
        {
            "competition": "tiny-table",
            "begins": "2020-01-01T00:00:00+00:00",
            "deadline": "2020-03-01T00:00:00+00:00",
            "shift_seconds": 0.0,
        },
        {
            "competition": "tiny-twin",
            "begins": "2020-01-01T00:00:00+00:00",
            "deadline": "2020-02-29T00:00:00+00:00",
            "shift_seconds": -1096 * 86_400.0,
        },
    ]


def test_a_single_one_is_printed_as_usual(tmp_path: Path) -> None:
    with site_of(both(tmp_path)[0]) as (site, clock):
        announced = announcement(site, clock, URL)
    assert (announced["competition"], announced["url"], announced["token"]) == ("tiny-table", URL, "KGAT_rehearsal")
    assert announced["clock"] == {"start": clock.start.isoformat(), "speed": 1000.0, "began": clock.began}


def test_people_are_shown_what_was_moved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with site_of(*both(tmp_path)) as (site, clock):
        announce(site, clock, URL, json=False)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == [
        f"simulated Kaggle with 2 competitions: {URL} (open it in a browser)",
        "  tiny-table: 2020-01-01 00:00 to 2020-03-01 00:00",
        "  tiny-twin: 2020-01-01 00:00 to 2020-02-29 00:00, shifted by -1,096 days",
    ]


def test_the_progress_names_the_competitions_where_there_are_several(tmp_path: Path) -> None:
    snapshots = both(tmp_path)
    begins = datetime.fromisoformat("2020-02-29T12:00:00+00:00")
    with site_of(*snapshots, begins=begins) as (site, clock):
        line = progress(site, clock)
    assert line.startswith("2020-02-29 1")
    assert "0 requests | 0 faults | tiny-table: 0 submissions, 4" in line
    assert line.endswith(" s left | tiny-twin: 0 submissions, ended")
    with site_of(snapshots[0], begins=begins) as (site, clock):
        assert "UTC | 0 requests | 0 faults | tiny-table: 0 submissions, 4" in progress(site, clock)


def test_there_is_a_result_for_each_competition(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with site_of(*both(tmp_path)) as (site, clock):
        now = clock.now() + timedelta(days=50)
        results = [result_of(site, one, now) for one in site.competitions]
    show_results(results, json=True)
    printed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(one["competition"], one["over"]) for one in printed] == [("tiny-table", False), ("tiny-twin", True)]
    show_results(results, json=False)
    text = capsys.readouterr().out
    assert "standing so far" in text
    assert "final standing" in text

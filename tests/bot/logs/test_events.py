"""Events of all runs are read in their order, of one competition or of all, and each is a sentence."""

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import get_args

import pytest

from bot.logs.events import EventLog
from bot.logs.sentences import QUIET, TROUBLE, sentence
from state.notebooks import NOTEBOOK_REFUSED, REMOVED, Stage
from state.progress import create_node, end_node
from state.steering import add_note, set_control
from state.store import Store
from tests.source_tree import ROOT
from tests.state.conftest import START, StandingClock
from tests.state.rows import create_run


@pytest.fixture
def clock() -> StandingClock:
    return StandingClock()


@pytest.fixture
def store(tmp_path: Path, clock: StandingClock) -> Iterator[Store]:
    with Store.open(tmp_path / "bot.db", clock) as store:
        for slug in ("titanic", "wine"):
            with store.write() as tx:
                run = f"{slug}-comind-1"
                create_run(tx, run, competition=slug, agent="comind", model="builtin", seed=1, cutoff=None)
                create_node(tx, run, action="draft", id=1)
                tx.record("ledger.charged", run_id=run, kind="tokens")
            clock.pass_by(3_600)
        with store.write() as tx:
            add_note(tx, "titanic", "look", author="ada")
            set_control(tx, "wine", "paused", author="ada")
            end_node(tx, "wine-comind-1", 1, "buggy", error="it is wrong")
        yield store


def types(log: EventLog) -> list[tuple[str | None, str]]:
    return [(one.competition, one.type) for one in log.newest(100)]


def test_all_are_in_order_with_the_competition_that_they_are_of(store: Store) -> None:
    assert types(EventLog(store)) == [
        ("titanic", "run.created"),
        ("titanic", "node.created"),
        ("wine", "run.created"),
        ("wine", "node.created"),
        ("titanic", "note.added"),
        ("wine", "control.changed"),
        ("wine", "node.ended"),
    ]


def test_those_of_one_competition_are_of_its_runs_and_of_the_bot_about_it(store: Store) -> None:
    assert [type for _, type in types(EventLog(store, "titanic"))] == ["run.created", "node.created", "note.added"]
    assert types(EventLog(store, "spooky")) == []


def test_quiet_ones_are_shown_when_all_are_asked_for(store: Store) -> None:
    assert ("titanic", "ledger.charged") in types(EventLog(store, all=True))


def test_the_newest_few_come_the_oldest_of_them_first(store: Store) -> None:
    assert [one.type for one in EventLog(store).newest(2)] == ["control.changed", "node.ended"]
    assert EventLog(store).newest(0) == []


def test_those_since_a_time_and_those_after_another(store: Store) -> None:
    log = EventLog(store)
    assert [one.type for one in log.since(START + timedelta(hours=2))] == [
        "note.added",
        "control.changed",
        "node.ended",
    ]
    first = next(log.since(START))
    assert [one.id for one in log.news(first.id)[0]] == [one.id for one in log.newest(100)][1:]
    assert log.news(log.last()) == ([], log.last())


def test_more_than_a_page_of_events_is_read_without_loss(store: Store) -> None:
    before = EventLog(store).last()
    with store.write() as tx:
        for number in range(1_234):
            tx.record("x.y", run_id="bot", number=number)
    found, log = [], EventLog(store)
    while before < log.last():
        page, before = log.news(before)
        found += [one.data["number"] for one in page]
    assert found == list(range(1_234))


def test_an_event_is_an_object_under_the_names_that_logs_have(store: Store) -> None:
    (note,) = (one for one in EventLog(store).newest(100) if one.type == "note.added")
    assert note.to_json() == {
        "id": note.id,
        "at": "2020-01-01T02:00:00Z",
        "level": "info",
        "type": "note.added",
        "competition": "titanic",
        "run": None,
        "node": None,
        "data": {"competition": "titanic", "note": 1, "by": "ada"},
    }


def test_a_file_that_was_withdrawn_is_told_in_words() -> None:
    fields = {"submission": "3", "node": 7, "status": "withdrawn", "ref": None, "message": "replaced by a better file"}
    said = sentence("submission.withdrawn", fields)
    assert said == "submission 3 of node 7 will not be sent: replaced by a better file"


def test_known_types_are_sentences_and_others_tell_what_they_hold(store: Store) -> None:
    sentences = [one.sentence for one in EventLog(store).newest(100)]
    assert sentences[0] == "run titanic-comind-1 started with comind and builtin"
    assert sentences[-3:] == [
        "note 1 from ada",
        "ada changed wine from running to paused",
        "node 1 is buggy, score none",
    ]
    assert sentence("x.y", {"run_id": "r", "a": 1.23456789, "b": ["c", "d"], "e": None}) == "x.y a=1.23457 b=c, d"


def test_a_sentence_is_one_line_however_long_or_incomplete_an_event_is() -> None:
    assert sentence("worker.crashed", {"traceback": "Traceback (most recent call last):\n  x\nValueError: wrong"}) == (
        "a worker failed: ValueError: wrong"
    )
    assert sentence("node.ended", {}) == "node ? is ?, score ?"
    assert len(sentence("problem.began", {"sentence": "x " * 10_000})) < 400
    assert "\n" not in sentence("x.y", {"text": "a\nb"})


def test_nothing_that_went_wrong_is_quiet() -> None:
    assert not QUIET & TROUBLE


def test_every_event_that_is_recorded_is_a_sentence_or_quiet() -> None:
    recorded = (
        {
            type
            for folder in ("bot", "state", "sandbox")
            for file in (ROOT / folder).rglob("*.py")
            for type in re.findall(r'\.record\(\s*"([a-z_]+\.[a-z_]+)"', file.read_text())
        }
        | {f"notebook.{stage}" for stage in get_args(Stage)}
        | {NOTEBOOK_REFUSED, REMOVED}
    )
    assert len(recorded) > 50
    # What has no sentence is shown as its type and its fields.
    assert not [type for type in recorded - QUIET if sentence(type, {}).startswith(type)]

"""Notes and controls of the owner; names that were mistyped, and competitions named by their address."""

import pytest

from state.errors import UsageError
from state.steering import LONGEST_NOTE, add_note, control, notes, set_control
from state.store import NO_RUN, Store
from state.tables import Control
from state.words import did_you_mean, slug_of
from tests.state.conftest import START, StandingClock


def add(store: Store, text: str, competition: str = "wine") -> str:
    with store.write() as tx:
        return add_note(tx, competition, text, author="ada").text


def test_notes_come_oldest_first_each_with_its_time_and_of_one_competition_alone(store, clock) -> None:
    add(store, "first")
    clock.pass_by(60)
    add(store, "second")
    add(store, "of another", "titanic")
    with store.read() as session:
        found = notes(session, "wine", clock.now())
    assert [(one.text, (one.at - START).total_seconds(), one.by) for one in found] == [
        ("first", 0, "ada"),
        ("second", 60, "ada"),
    ]
    assert [one.item for one in found] == ["note/1", "note/2"]


def test_a_note_is_not_seen_before_its_time(store: Store, clock: StandingClock) -> None:
    clock.pass_by(60)
    add(store, "later")
    with store.read() as session:
        assert notes(session, "wine", START) == []


def test_a_notes_text_is_in_no_event_but_its_addition_is(store: Store) -> None:
    add(store, "look at the tannins")
    (event,) = store.export_events(NO_RUN)
    assert (event["type"], event["competition"], event["note"], event["by"]) == ("note.added", "wine", 1, "ada")
    assert "tannins" not in str(event)


def test_lines_stay_and_characters_that_nobody_sees_go(store: Store) -> None:
    assert add(store, "\ufeff one\r\ntwo\tthree\u202e\u00ad\n") == "one\ntwo\tthree"
    assert (
        add(store, "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645")
        == "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is empty"),
        (" \n\u200b\u200d", "is empty"),
        ("\x1b[31mred", r"control character U\+001B"),
        ("a\x00b", r"control character U\+0000"),
        ("\ud800", r"control character U\+D800"),
        ("x" * (LONGEST_NOTE + 1), f"has {LONGEST_NOTE + 1} characters"),
    ],
)
def test_a_note_that_cannot_be_kept_is_refused_with_the_reason(store: Store, text: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        add(store, text)
    with store.read() as session:
        assert notes(session, "wine", store.clock.now()) == []
    assert list(store.export_events(NO_RUN)) == []


def test_a_competition_is_worked_on_until_that_is_changed(store: Store, clock: StandingClock) -> None:
    with store.read() as session:
        assert control(session, "wine") == "running"
    with store.write() as tx:
        assert set_control(tx, "wine", "paused", author="ada")
    clock.pass_by(60)
    with store.write() as tx:
        assert set_control(tx, "wine", "stopped")
    with store.read() as session:
        assert (control(session, "wine"), control(session, "titanic")) == ("stopped", "running")
        assert (session.get_one(Control, "wine").at - START).total_seconds() == 60
    events = [(event["type"], event["before"], event["state"], event["by"]) for event in store.export_events(NO_RUN)]
    assert events == [
        ("control.changed", "running", "paused", "ada"),
        ("control.changed", "paused", "stopped", "owner"),
    ]


def test_setting_the_same_state_again_changes_nothing_and_is_recorded_once(store: Store, clock: StandingClock) -> None:
    for changes in (True, False):
        with store.write() as tx:
            assert set_control(tx, "wine", "paused") is changes
        clock.pass_by(60)
    with store.read() as session:
        assert session.get_one(Control, "wine").at == START
    assert len(list(store.export_events(NO_RUN))) == 1


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("comnd", "did you mean comind?"),
        ("AIDE-rgg", "did you mean aide-rag?"),
        ("nothing like it", "choose from aide-rag, automind, comind"),
    ],
)
def test_a_mistyped_name_is_answered_with_the_nearest_one_or_else_all(name: str, sentence: str) -> None:
    assert did_you_mean(name, ["comind", "aide-rag", "automind"]) == sentence


def test_where_nothing_is_known_that_is_said() -> None:
    assert did_you_mean("titanic", []) == "there are none"


@pytest.mark.parametrize(
    "address",
    [
        "https://www.kaggle.com/competitions/titanic",
        "https://kaggle.com/c/titanic/",
        "kaggle.com/competitions/titanic/overview?tab=rules",
        "https:/www.kaggle.com/competitions/titanic",
        "titanic",
    ],
)
def test_a_competition_may_be_named_by_its_address(address: str) -> None:
    assert slug_of(address) == "titanic"


@pytest.mark.parametrize("other", ["https://example.org/competitions/titanic", "https://www.kaggle.com/titanic", ""])
def test_any_other_text_stays_what_it_is(other: str) -> None:
    assert slug_of(other) == other

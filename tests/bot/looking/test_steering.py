"""Steering: a note counts as read from the first prompt on that held it."""

from datetime import datetime, timedelta

from bot.looking.steering import controls, held, notes_read
from state.spending import log_model_call
from state.store import Store
from tests.bot.looking.parts import insert
from tests.state.conftest import START, StandingClock, clock, run_id, store

__all__ = ["clock", "run_id", "store"]


def say(store: Store, number: int, text: str) -> None:
    insert(store, "note", id=number, competition="wine", text=text, at=store.clock.now(), by="me")


def call(store: Store, role: str, *items: str) -> None:
    with store.write() as tx:
        log_model_call(
            tx, "r", step="s", role=role, prompt_name="p", model="m", as_of=START, prompt_hash="h", messages=[],
            items=[(item, START) for item in items], answer=""
        )  # fmt: skip


def read(store: Store) -> list[tuple[int, datetime | None, str | None]]:
    with store.read() as session:
        return [(note.id, note.read_at, note.read_by) for note in notes_read(session, "wine", "r")]


def test_a_note_is_read_by_whoever_held_it_first(store: Store, run_id: str, clock: StandingClock) -> None:
    call(store, "analyst", "message/1")
    clock.pass_by(60)
    say(store, 1, "look at the colour")
    say(store, 11, "and at the year")
    call(store, "analyst", "message/2")
    assert read(store) == [(1, None, None), (11, None, None)]
    clock.pass_by(60)
    call(store, "planner", "message/1", "note/11")
    clock.pass_by(60)
    call(store, "coder", "note/1", "note/11")
    first = START + timedelta(seconds=120)
    assert read(store) == [(1, first + timedelta(seconds=60), "coder"), (11, first, "planner")]


def test_many_calls_before_a_note_do_not_count(store: Store, run_id: str, clock: StandingClock) -> None:
    for _ in range(30):
        call(store, "planner", "note/1")
        clock.pass_by(60)
    say(store, 1, "a number that another database gave before")
    assert read(store) == [(1, None, None)]
    call(store, "planner", "note/1")
    assert read(store) == [(1, clock.now(), "planner")]


def test_of_many_notes_the_latest_are_shown_the_oldest_of_them_first(store: Store) -> None:
    for number in range(1, 15):
        say(store, number, "more")
    with store.read() as session:
        assert [note.id for note in notes_read(session, "wine", None)] == list(range(5, 15))


def test_a_database_without_these_tables_holds_nothing(store: Store) -> None:
    with store.read() as session:
        assert (notes_read(session, "beer", "r"), dict(controls(session)), held(session, "r")) == ((), {}, ())


def test_what_the_owner_has_paused_and_what_waits_for_him_is_told(store: Store, run_id: str) -> None:
    insert(store, "control", competition="wine", state="paused", at=START, by="me")
    insert(store, "approval", id=4, run_id="r", submission="1", decision=None)
    insert(store, "approval", id=5, run_id="r", submission="2", decision="approved")
    with store.read() as session:
        assert controls(session) == {"wine": "paused"}
        assert held(session, "r") == (4,)

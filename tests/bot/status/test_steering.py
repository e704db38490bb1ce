"""Steering: a note counts as read from the first prompt on that held it."""

from datetime import datetime, timedelta

from bot.status.queue import AbandonedTasks, controls, dead, notes_read
from state.approvals import ask_approval, decide_approval, undecided
from state.steering import add_note, set_control
from state.store import Store
from state.tasks import claim_task, finish_task, put_task, retry_task
from tests.state.conftest import START, StandingClock
from tests.state.rows import log_model_call

NO_KEY = "No Kaggle key."


def give_up(store: Store, key: str, kind: str, error: str, competition: str = "wine") -> None:
    with store.write() as tx:
        put_task(tx, key, kind, competition=competition)
        claim_task(tx, "me", kinds=[kind])
        retry_task(tx, key, "me", due_at=tx.now(), error=error, limit=1)


def shown(store: Store) -> tuple[AbandonedTasks, ...]:
    with store.read() as session:
        return dead(session)


def test_each_cause_is_one_line_that_is_gone_once_the_same_kind_succeeds(store: Store, clock: StandingClock) -> None:
    begin = clock.now()
    for number in range(25):
        clock.pass_by(60)
        give_up(store, f"poll:wine:{number}", "poll", NO_KEY)
    give_up(store, "learn:wine", "learn", NO_KEY)
    clock.pass_by(-60)
    give_up(store, "poll:titanic", "poll", "it exceeded its time limit of 600 s", "titanic")
    assert shown(store) == (
        AbandonedTasks(NO_KEY, 26, ("learn of wine", "poll of wine"), begin + timedelta(minutes=25)),
        AbandonedTasks("it exceeded its time limit of 600 s", 1, ("poll of titanic",), begin + timedelta(minutes=24)),
    )
    clock.pass_by(120)
    with store.write() as tx:
        put_task(tx, "poll:wine:later", "poll", competition="wine")
        claim_task(tx, "me", kinds=["poll"])
        finish_task(tx, "poll:wine:later", "me")
    assert [(one.tasks, one.names) for one in shown(store)] == [(1, ("learn of wine",)), (1, ("poll of titanic",))]


def say(store: Store, *texts: str) -> None:
    with store.write() as tx:
        for text in texts:
            add_note(tx, "wine", text)


def call(store: Store, role: str, *items: str) -> None:
    with store.write() as tx:
        log_model_call(
            tx, "r", step="s", role=role, prompt_name="p", model="m", as_of=START, prompt_hash="h", messages=[],
            items=[(item, START) for item in items], answer=""
        )  # fmt: skip


def read(store: Store, most: int = 10) -> list[tuple[int, datetime | None, str | None]]:
    with store.read() as session:
        return [(note.id, note.read_at, note.read_by) for note in notes_read(session, "wine", "r", most)]


def test_a_note_is_read_by_whoever_held_it_first(store: Store, run_id: str, clock: StandingClock) -> None:
    call(store, "analyst", "message/1")
    clock.pass_by(60)
    say(store, *(["look at the colour"] * 11))
    call(store, "analyst", "message/2")
    assert {at for _, at, _ in read(store)} == {None}
    clock.pass_by(60)
    call(store, "planner", "message/1", "note/11")
    clock.pass_by(60)
    call(store, "coder", "note/1", "note/11")
    first = START + timedelta(seconds=120)
    assert [one for one in read(store, most=11) if one[1]] == [
        (1, first + timedelta(seconds=60), "coder"),
        (11, first, "planner"),
    ]


def test_many_calls_before_a_note_do_not_count(store: Store, run_id: str, clock: StandingClock) -> None:
    for _ in range(30):
        call(store, "planner", "note/1")
        clock.pass_by(60)
    say(store, "a number that another database gave before")
    assert read(store) == [(1, None, None)]
    call(store, "planner", "note/1")
    assert read(store) == [(1, clock.now(), "planner")]


def test_of_many_notes_the_latest_are_shown_the_oldest_of_them_first(store: Store) -> None:
    say(store, *(["more"] * 14))
    with store.read() as session:
        assert [note.id for note in notes_read(session, "wine", None)] == list(range(5, 15))


def test_what_the_owner_has_paused_and_what_waits_for_approval_is_shown(store: Store, run_id: str) -> None:
    with store.read() as session:
        assert controls(session) == {}
    with store.write() as tx:
        set_control(tx, "wine", "paused")
        for number in ("1", "2", "3"):
            ask_approval(tx, "r", number, reason="it is better")
        decide_approval(tx, 2, "approved", "me")
    with store.read() as session:
        assert controls(session) == {"wine": "paused"}
        assert [row.id for row in undecided(session, "r")] == [1, 3]

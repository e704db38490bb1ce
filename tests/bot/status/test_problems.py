"""Problems: each begins once with one notice, ends once, and may begin again."""

from datetime import timedelta

import pytest
from sqlmodel import select

from bot.notify import Notice
from bot.notify.outbox import NO_RUN
from bot.status.problems import OpenProblem, begin, current, end
from state.store import Store
from state.tables import Notification
from tests.state.conftest import START, StandingClock, clock, store

__all__ = ["clock", "store"]


def unusable(why: str) -> Notice:
    return Notice("problem.grader", "wine", {"why": why})


def notices(store: Store) -> list[str]:
    with store.read() as session:
        return [row.kind for row in session.exec(select(Notification).order_by(Notification.id))]  # type: ignore[arg-type]


def problems(store: Store) -> list[OpenProblem]:
    with store.read() as session:
        return current(session)


def test_what_began_is_current_until_it_ends(store: Store, clock: StandingClock) -> None:
    with store.write() as tx:
        begin(tx, "docker", "start the Docker engine", unusable("no answer"))
        begin(tx, "rules/wine", "accept the rules of wine")
    clock.pass_by(60)
    assert problems(store) == [
        OpenProblem("docker", "start the Docker engine", START),
        OpenProblem("rules/wine", "accept the rules of wine", START),
    ]
    with store.write() as tx:
        end(tx, "docker")
    assert [one.key for one in problems(store)] == ["rules/wine"]


def test_beginning_twice_is_one_problem_and_one_notice(store: Store, clock: StandingClock) -> None:
    for _ in range(3):
        with store.write() as tx:
            begin(tx, "docker", "start the Docker engine", unusable(str(clock.now())))
        clock.pass_by(60)
    assert [one.since for one in problems(store)] == [START]
    assert notices(store) == ["problem.grader"]
    assert [event["type"] for event in store.export_events(NO_RUN)] == ["problem.began", "notification.added"]


def test_a_question_that_becomes_another_one_is_asked_anew(store: Store, clock: StandingClock) -> None:
    for question in ("say the metric", "say the metric", "say the id"):
        with store.write() as tx:
            begin(tx, "card/wine", question, unusable(str(clock.now())), asks=True)
        clock.pass_by(60)
    assert [one.sentence for one in problems(store)] == ["say the id"]
    assert len(notices(store)) == 2


def test_what_is_over_may_begin_again_with_a_new_notice(store: Store, clock: StandingClock) -> None:
    for _ in range(2):
        with store.write() as tx:
            begin(tx, "docker", "start the Docker engine", unusable(str(clock.now())))
        clock.pass_by(60)
        with store.write() as tx:
            end(tx, "docker")
        clock.pass_by(60)
    assert problems(store) == []
    assert notices(store) == ["problem.grader"] * 2


def test_what_never_began_does_not_end(store: Store) -> None:
    with store.write() as tx:
        end(tx, "docker")
    assert list(store.export_events(NO_RUN)) == []


def test_it_is_written_with_its_notice_or_not_at_all(store: Store) -> None:
    with pytest.raises(ZeroDivisionError), store.write() as tx:
        begin(tx, "docker", "start the Docker engine", unusable("no answer"))
        raise ZeroDivisionError
    assert problems(store) == []
    assert notices(store) == []


def test_it_is_current_however_long_ago_it_began(store: Store, clock: StandingClock) -> None:
    with store.write() as tx:
        begin(tx, "gpu", "see to the GPU")
        for number in range(300):
            tx.record("notification.sent", run_id=NO_RUN, key=str(number))
    clock.time += timedelta(days=60)
    assert [(one.key, one.since) for one in problems(store)] == [("gpu", START)]

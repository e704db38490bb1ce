"""The queue: what was given up is shown once for each cause, until the same kind of task succeeds."""

from datetime import timedelta

from bot.status.queue import GivenUp, dead
from state.store import Store
from state.tasks import claim_task, finish_task, put_task, retry_task
from tests.state.conftest import StandingClock

NO_KEY = "No Kaggle key."


def give_up(store: Store, key: str, kind: str, error: str, competition: str = "wine") -> None:
    with store.write() as tx:
        put_task(tx, key, kind, competition=competition)
        claim_task(tx, "me", kinds=[kind])
        retry_task(tx, key, "me", due_at=tx.now(), error=error, limit=1)


def shown(store: Store) -> tuple[GivenUp, ...]:
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
        GivenUp(NO_KEY, 26, ("learn of wine", "poll of wine"), begin + timedelta(minutes=25)),
        GivenUp("it exceeded its time limit of 600 s", 1, ("poll of titanic",), begin + timedelta(minutes=24)),
    )
    clock.pass_by(120)
    with store.write() as tx:
        put_task(tx, "poll:wine:later", "poll", competition="wine")
        claim_task(tx, "me", kinds=["poll"])
        finish_task(tx, "poll:wine:later", "me")
    assert [(one.tasks, one.of) for one in shown(store)] == [(1, ("learn of wine",)), (1, ("poll of titanic",))]

"""The law of the queue: whatever owners do, die and see on their clocks, nothing is lost, and nothing is done twice at once."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlmodel import select

from state.store import Store, Transaction
from state.tables import Task
from state.tasks import MOST_INTERRUPTIONS, claim_task, finish_task, put_task, recover_tasks, release_tasks, retry_task
from tests.state.conftest import START, StandingClock

KINDS, COMPETITIONS, TRIES = ("poll", "learn"), ("titanic", "spooky"), 3

_acts = st.one_of(
    st.tuples(st.just("put"), st.integers(0, 9)),
    st.tuples(st.sampled_from(["finish", "fail", "later", "release"]), st.integers(0, 3)),
    st.tuples(st.just("claim"), st.integers(0, 3)),
    st.tuples(st.sampled_from(["die", "put by the dead", "end by the dead"]), st.just(0)),
    st.tuples(st.just("jump"), st.sampled_from([-86_400, -3600, -1, 1, 30, 3600, 86_400])),
)


@dataclass
class World:
    """One daemon after another on a queue, and what an onlooker knows of it."""

    store: Store
    clock: StandingClock
    owner: int = 0
    held: dict[str, Task] = field(default_factory=dict)
    """What the present owner works on."""
    lost: dict[str, str] = field(default_factory=dict)
    """What owners held that died, and who."""
    put: set[str] = field(default_factory=set)
    done: Counter[str] = field(default_factory=Counter)
    dead: set[str] = field(default_factory=set)

    def act(self, tx: Transaction, what: str, number: int) -> None:
        match what:
            case "put":
                key = f"task {number}"
                fresh = put_task(tx, key, KINDS[number % 2], competition=COMPETITIONS[number // 2 % 2])
                assert fresh == (key not in self.put)
                self.put.add(key)
            case "claim":
                self.claim(tx)
            case "die":
                self.die(tx)
            case "end by the dead":
                for key, owner in self.lost.items():
                    assert not finish_task(tx, key, owner)
            case "put by the dead":
                assert sum(release_tasks(tx, owner, [key]) for key, owner in self.lost.items()) == 0
            case "jump":
                self.clock.pass_by(number)
            case _ if self.held:
                self.end(tx, what, sorted(self.held)[number % len(self.held)])

    @property
    def name(self) -> str:
        return f"owner {self.owner}"

    def claim(self, tx: Transaction) -> None:
        busy = {(task.kind, task.competition) for task in self.held.values()}
        task = claim_task(tx, self.name, kinds=KINDS, busy=busy)
        if task is None:
            return
        assert task.key not in self.held and task.key not in self.dead and not self.done[task.key]
        assert (task.kind, task.competition) not in busy
        self.held[task.key] = task

    def die(self, tx: Transaction) -> None:
        """The process is killed, and the next starts."""
        self.lost |= dict.fromkeys(self.held, self.name)
        held, self.held = set(self.held), {}
        self.owner += 1
        recovered = recover_tasks(tx)
        assert {task.key for task in recovered} == held
        self.dead |= {task.key for task in recovered if task.status == "dead"}

    def end(self, tx: Transaction, what: str, key: str) -> None:
        del self.held[key]
        due_at = tx.now() + timedelta(seconds=30)
        if what == "finish":
            assert finish_task(tx, key, self.name)
            self.done[key] += 1
        elif what == "release":
            assert release_tasks(tx, self.name, [key]) == 1
        else:
            counted = what == "fail"
            left = retry_task(tx, key, self.name, due_at=due_at, error="x", limit=TRIES, counted=counted)
            if left.status == "dead":
                self.dead.add(key)

    def go_on(self, tx: Transaction) -> None:
        """Do all that is left, with a clock that runs on."""
        self.clock.time = max(self.clock.time, START) + timedelta(days=2)
        for _ in range(2 * len(self.put) + 2):
            self.clock.pass_by(3600)
            self.claim(tx)
            for key in list(self.held):
                self.end(tx, "finish", key)


# The store is shared between examples on purpose, as a new one takes long: each begins with an empty queue.
@pytest.mark.integration
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(acts=st.lists(_acts, min_size=10, max_size=50))
def test_nothing_is_lost_and_nothing_done_twice(store, clock, acts) -> None:
    clock.time = START
    world = World(store, clock)
    with store.write(durable=False) as tx:
        tx.connection.exec_driver_sql("DELETE FROM task")
        for what, number in acts:
            world.act(tx, what, number)
            leased = tx.session.exec(select(Task.key).where(Task.status == "leased")).all()
            assert sorted(leased) == sorted(world.held)
        world.go_on(tx)
    with store.read() as session:
        ended = {task.key: task for task in session.exec(select(Task))}
    assert set(ended) == world.put
    assert {key for key, task in ended.items() if task.status == "done"} == set(world.done)
    assert {key for key, task in ended.items() if task.status == "dead"} == world.dead
    assert set(world.done.values()) <= {1}
    assert set(world.done) | world.dead == world.put
    for key in world.dead:
        assert ended[key].tries == TRIES or ended[key].interruptions == MOST_INTERRUPTIONS

"""The circuit breaker, by a clock that is set by hand."""

from datetime import datetime, timedelta

from state.breaker import FIRST_REST, LONGEST_REST, Breaker
from tests.bot.models.parts import CUTOFF, HurriedClock


class SetClock(HurriedClock):
    def __init__(self) -> None:
        super().__init__()
        self.time = CUTOFF

    def now(self) -> datetime:
        return self.time

    def advance(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)


def fail(breaker: Breaker, *, lasting: bool = False) -> None:
    with breaker.call() as call:
        breaker.fail(call, lasting=lasting)


def rest(breaker: Breaker, clock: SetClock) -> float:
    """Return for how many seconds it admits none, and stop when it does."""
    for seconds in range(2000):
        if breaker.admits():
            return seconds
        clock.advance(1.0)
    raise AssertionError("it never admits any again")


def test_rest_doubles_up_to_a_cap_and_an_answer_ends_it() -> None:
    clock = SetClock()
    breaker = Breaker(clock)
    rests = []
    for _ in range(7):
        fail(breaker)
        rests.append(rest(breaker, clock))
    assert rests == [30.0, 60.0, 120.0, 240.0, 480.0, 900.0, 900.0]
    breaker.succeed()
    assert breaker.closed and breaker.admits()
    fail(breaker)
    assert rest(breaker, clock) == FIRST_REST


def test_half_open_lets_one_call_through_however_it_ends() -> None:
    clock = SetClock()
    breaker = Breaker(clock)
    fail(breaker)
    clock.advance(FIRST_REST)
    with breaker.call():
        assert not breaker.admits()
        with breaker.call():
            assert not breaker.admits()
        assert not breaker.admits(), "a second one that was asked all the same does not make room for a third"
    assert breaker.admits()


def test_calls_under_way_when_it_opens_do_not_lengthen_the_rest() -> None:
    clock = SetClock()
    breaker = Breaker(clock)
    with breaker.call() as one, breaker.call() as two, breaker.call() as three:
        for call in (one, two, three):
            breaker.fail(call)
    assert rest(breaker, clock) == FIRST_REST


def test_what_a_person_must_mend_rests_longest() -> None:
    clock = SetClock()
    breaker = Breaker(clock)
    fail(breaker, lasting=True)
    assert rest(breaker, clock) == LONGEST_REST


def test_clock_that_was_set_back_does_not_lengthen_the_rest() -> None:
    clock = SetClock()
    breaker = Breaker(clock)
    fail(breaker)
    clock.advance(-86400.0)
    assert breaker.admits()

"""Pulses: the last sign of life in place of the one before."""

from datetime import timedelta

from state.pulses import last_pulse, write_pulse
from state.store import Store
from tests.state.conftest import START, StandingClock


def test_only_the_last_sign_of_life_is_kept(store: Store, clock: StandingClock) -> None:
    with store.read() as session:
        assert last_pulse(session, "daemon") is None
    for text in ("starts", "polls titanic"):
        with store.write(durable=False) as tx:
            write_pulse(tx, "daemon", text)
        clock.pass_by(60)
    with store.read() as session:
        pulse = last_pulse(session, "daemon")
    assert pulse is not None and (pulse.at, pulse.text) == (START + timedelta(seconds=60), "polls titanic")

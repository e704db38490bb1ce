"""Every attack in every back end; and that the attacks that reach for something do reach it where nothing is in the way."""

import pytest

from sandbox.process import ProcessSandbox
from tests.hostile.attack import BACK_ENDS, Attack, BackEnd, answers_in
from tests.hostile.conftest import sandbox_for
from tests.hostile.suite import ATTACKS
from tests.hostile.trial import make, run
from tests.hostile.world import World

pytestmark = pytest.mark.integration


EVERYWHERE = [
    pytest.param(attack, name, marks=pytest.mark.trial if attack.at_server and name == "docker" else ())
    for name in BACK_ENDS
    for attack in ATTACKS
]


@pytest.mark.parametrize(
    ("attack", "back_end"), EVERYWHERE, indirect=["back_end"], ids=lambda value: getattr(value, "name", value)
)
def test_an_attack_is_contained_and_leaves_the_host_as_it_was(attack: Attack, back_end: BackEnd, world: World) -> None:
    problems = make(attack, sandbox_for(back_end), back_end, world)
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("attack", [attack for attack in ATTACKS if attack.open], ids=lambda attack: attack.name)
def test_without_a_sandbox_the_same_script_gets_what_it_reaches_for(attack: Attack, world_of_its_own: World) -> None:
    outcome = run(attack, ProcessSandbox(), world_of_its_own, world_of_its_own.place / "out")
    said = answers_in(outcome.output)
    missed = [thing for thing in attack.open if said.get(thing) not in {"got", "found"}]
    assert not missed, said


def test_the_planted_sockets_notice_visitors(world_of_its_own: World) -> None:
    attack = next(attack for attack in ATTACKS if attack.name == "loopback")
    run(attack, ProcessSandbox(), world_of_its_own, world_of_its_own.place / "out")
    assert {"tcp", "udp"} <= set(world_of_its_own.visitors())

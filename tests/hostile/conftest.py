"""The back ends that attacks are made in, and the host that they are made on."""

from collections.abc import Iterator
from functools import lru_cache

import pytest

from sandbox import Sandbox
from tests import needs
from tests.hostile.attack import BACK_ENDS, BackEnd
from tests.hostile.world import World, plant


@lru_cache
def sandbox_for(back_end: BackEnd) -> Sandbox:
    """Return the back end, one for all attacks, as in a run."""
    if back_end == "bubblewrap":
        from sandbox.bubblewrap import BubblewrapSandbox

        return BubblewrapSandbox()
    from sandbox.docker import DockerSandbox

    return DockerSandbox("hostile")


@pytest.fixture(params=BACK_ENDS)
def back_end(request: pytest.FixtureRequest) -> BackEnd:
    """Each back end in turn, where the machine has it."""
    name: BackEnd = request.param
    needs.bubblewrap() if name == "bubblewrap" else needs.docker()
    return name


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A host with secrets planted in it."""
    with plant(tmp_path_factory.mktemp("hostile")) as world:
        yield world


@pytest.fixture
def world_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Another, which may come to harm."""
    with plant(tmp_path_factory.mktemp("open")) as world:
        yield world

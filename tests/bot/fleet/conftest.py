"""One cluster for all tests of the fleet: it takes half a minute to start on a busy machine."""

from collections.abc import Iterator

import pytest

from tests import needs
from tests.bot.fleet.nodes import Nodes, small_cluster


@pytest.fixture(scope="package")
def nodes() -> Iterator[Nodes]:
    """Two nodes `n1` and `n2`, and `n3` with a stand-in for a GPU."""
    needs.bubblewrap()
    with small_cluster(0, 0, 1) as cluster:
        yield cluster

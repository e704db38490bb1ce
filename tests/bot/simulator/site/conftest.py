"""A site on the small snapshot, served on loopback, for tests that need nothing of their own."""

from collections.abc import Iterator

import pytest

from scrapers.snapshots.snapshot import Snapshot
from tests.bot.simulator.site.parts import Served, served, tiny


@pytest.fixture(scope="session")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """The small snapshot, loaded."""
    return tiny(tmp_path_factory.mktemp("rehearsal"))


@pytest.fixture
def here(snapshot: Snapshot) -> Iterator[Served]:
    """A site on it, ten days into its competition."""
    with served(snapshot) as it:
        yield it

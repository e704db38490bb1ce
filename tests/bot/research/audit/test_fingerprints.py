"""Words of later posts are found in a prompt; words that only a gap in an excerpt brings together are not."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.community.reading.code_excerpts import code_excerpt
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.research.audit.fingerprints import Fingerprints
from scrapers.snapshots.snapshot import Snapshot
from state.tables import KernelVersion
from tests.tiny_snapshot import write_tiny

FEATURES = "train['hour'] = train['datetime'].dt.hour"
MODEL = (
    "forest = RandomForestRegressor(n_estimators=100, min_samples_leaf=3)\nforest.fit(train[features], train['count'])"
)
BEGINNING, CUTOFF = datetime(2030, 1, 1, tzinfo=UTC), datetime(2030, 1, 10, tzinfo=UTC)


def kernel(name: str, created_at: datetime, text: str) -> KernelVersion:
    return KernelVersion(competition="tiny", id=name, ref=name, title=name, created_at=created_at, text=text)


@pytest.fixture
def fingerprints(tmp_path: Path) -> Fingerprints:
    early = kernel("early", BEGINNING, f"{FEATURES}\nprint(train.shape)\n{MODEL}")
    late = kernel("late", CUTOFF + timedelta(days=1), f"{FEATURES}\n{MODEL}")
    return Fingerprints.read(Snapshot.load(write_tiny(tmp_path / "tiny"), METRIC_DIRECTIONS), [early, late])


def test_a_line_that_an_excerpt_leaves_out_makes_no_words_of_a_later_post(fingerprints: Fingerprints) -> None:
    excerpt = code_excerpt(f"{FEATURES}\nprint(train.shape)\n{MODEL}", 2_000)
    assert "print" not in excerpt and FEATURES in excerpt and MODEL in excerpt
    assert fingerprints.found_in(excerpt, CUTOFF) == []


def test_the_later_post_itself_is_found(fingerprints: Fingerprints) -> None:
    assert fingerprints.found_in(code_excerpt(f"{FEATURES}\n{MODEL}", 2_000), CUTOFF) == ["kernel/late"]


def test_the_fences_of_a_notebook_may_go(tmp_path: Path) -> None:
    cells = f"```python cell\n{FEATURES}\n```\n\n```python cell\n{MODEL}\n```"
    posts = [kernel("early", BEGINNING, cells), kernel("late", CUTOFF + timedelta(days=1), f"{FEATURES}\n{MODEL}")]
    read = Fingerprints.read(Snapshot.load(write_tiny(tmp_path / "tiny"), METRIC_DIRECTIONS), posts)
    assert read.found_in(f"{FEATURES}\n{MODEL}", CUTOFF) == []
    assert read.later_than(CUTOFF) == 1

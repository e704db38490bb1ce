"""Snapshots moved in time: every time of them, and nothing else, in memory alone."""

import hashlib
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.simulator.site.time_shift import align_starts, shifted
from scrapers.snapshots.files import walk
from scrapers.snapshots.snapshot import Snapshot
from tests.bot.simulator.site.parts import TWIN_DEADLINE, both, write_twin

THREE_YEARS = timedelta(days=3 * 365 + 1)


def digest(folder: Path) -> str:
    files = sorted(path for path in walk(folder) if path.is_file())
    return hashlib.sha256(b"".join(f"{path}".encode() + path.read_bytes() for path in files)).hexdigest()


def test_all_begin_when_the_earliest_does_and_last_as_long_as_they_did(tmp_path: Path) -> None:
    first, twin = both(tmp_path)
    assert first.card.enabled_at == twin.card.enabled_at == datetime(2020, 1, 1, tzinfo=UTC)
    assert (first.shift, twin.shift) == (timedelta(0), -THREE_YEARS)
    assert twin.card.deadline == TWIN_DEADLINE
    assert twin.card.deadline - twin.card.enabled_at == twin.manifest.deadline - twin.manifest.enabled_at


def test_every_time_moves_by_the_same_span_and_texts_stay(tmp_path: Path) -> None:
    before = Snapshot.load(write_twin(tmp_path), METRIC_DIRECTIONS)
    after = shifted(before, -THREE_YEARS)
    changed = 0
    for name in ("topics", "messages", "kernels", "observations"):
        for old, new in zip(getattr(before.community, name), getattr(after.community, name), strict=True):
            then, now = old.model_dump(), new.model_dump()
            assert then.keys() == now.keys()
            for field, value in then.items():
                assert now[field] == (value - THREE_YEARS if isinstance(value, datetime) else value)
                changed += isinstance(value, datetime)
    assert changed == 12
    assert after.card.model_dump(exclude={"enabled_at", "deadline"}) == before.card.model_dump(
        exclude={"enabled_at", "deadline"}
    )


def test_a_time_that_is_not_known_stays_so(tmp_path: Path) -> None:
    path = write_twin(tmp_path)
    topics = path / "community" / "topics.jsonl"
    topics.write_text(topics.read_text().replace('"2023-01-05T00:00:00Z"', "null"))
    later = shifted(Snapshot.load(path, METRIC_DIRECTIONS), timedelta(days=1))
    assert [row.posted_at for row in later.community.topics] == [None, datetime(2023, 3, 3, tzinfo=UTC)]


def test_there_and_back_is_where_it_was_and_one_alone_stays(tmp_path: Path) -> None:
    snapshot = Snapshot.load(write_twin(tmp_path), METRIC_DIRECTIONS)
    assert shifted(shifted(snapshot, THREE_YEARS), -THREE_YEARS) == snapshot
    assert align_starts([snapshot]) == [snapshot]


def test_no_file_is_touched(tmp_path: Path) -> None:
    path = write_twin(tmp_path)
    before = digest(path)
    shifted(Snapshot.load(path, METRIC_DIRECTIONS), THREE_YEARS)
    assert digest(path) == before

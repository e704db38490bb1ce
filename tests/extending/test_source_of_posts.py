"""The page on sources of posts: its toy's notes are read into a store, each from its day on."""

from pathlib import Path

from tests.extending.toys import Copy
from tests.tiny_snapshot import write_tiny

READ = """
import asyncio, sys
from datetime import UTC, datetime
from pathlib import Path
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from scrapers.posts.cleaners import Cleaners
from scrapers.posts.ingest import ingest
from scrapers.snapshots.snapshot import Snapshot
from state.clock import SystemClock
from state.community import CommunityView
from state.store import Store

async def read(store, snapshot):
    async with Cleaners(1) as cleaners:
        posts = snapshot.community.posts(snapshot.path, "tiny-table")
        return await ingest(store, "tiny-table", posts, cleaners)

snapshot = Snapshot.load(Path(sys.argv[1]), METRIC_DIRECTIONS)
with Store.open(Path(sys.argv[2]), SystemClock()) as store:
    assert asyncio.run(read(store, snapshot)) == {}
    for day in (6, 8):
        seen = CommunityView(store, "tiny-table", datetime(2020, 1, day, tzinfo=UTC))
        print([post.text for post in seen.messages() if post.id.startswith("note")])
"""


def test_a_source_of_posts_is_a_module_and_a_line(tmp_path: Path) -> None:
    copy = Copy(tmp_path / "copy", "source-of-posts.md")
    assert copy.touched == ["scrapers/posts/notes.py", "scrapers/posts/__init__.py"]
    copy.lint()
    tiny = write_tiny(tmp_path / "tiny-table")
    note = tiny / "community" / "notes" / "2020-01-07 What works.md"
    note.parent.mkdir()
    note.write_text("Ten folds\u202e **help**.", encoding="utf-8")
    before, after = copy.python(READ, tiny, tmp_path / "state.db").splitlines()
    assert before == "[]"
    assert after == "['Ten folds **help**.']"

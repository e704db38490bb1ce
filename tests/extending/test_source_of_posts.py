"""The page on sources of posts: its toy's messages are read into a store, each once, and seen from its time on."""

import json
from pathlib import Path

import pytest

from tests.extending.toys import Copy

READ = """
import asyncio, json, sys
from datetime import UTC, datetime
from pathlib import Path
from scrapers.posts.cleaners import Cleaners
from scrapers.posts.sources import take_in
from state.clock import SystemClock
from state.community import CommunityView
from state.store import Store

async def read(store, folder):
    async with Cleaners(1) as cleaners:
        print(await take_in(store, "c", folder, cleaners, datetime(2020, 1, 9, tzinfo=UTC)))
        messages = json.loads((folder / "chat.json").read_bytes())
        (folder / "chat.json").write_text(json.dumps([*messages, {**messages[0], "time": "2020-01-08T00:00:00Z"}]))
        print(await take_in(store, "c", folder, cleaners, datetime(2020, 1, 9, tzinfo=UTC)))

with Store.open(Path(sys.argv[2]), SystemClock()) as store:
    asyncio.run(read(store, Path(sys.argv[1])))
    for day in (6, 7, 8):
        seen = CommunityView(store, "c", datetime(2020, 1, day, tzinfo=UTC))
        print([post.text for post in seen.messages()])
"""


@pytest.mark.integration
def test_a_source_of_posts_is_a_module_and_a_line(tmp_path: Path) -> None:
    copy = Copy(tmp_path / "copy", "source-of-posts.md")
    assert copy.touched == ["scrapers/posts/chat.py", "scrapers/posts/sources.py"]
    copy.lint()
    chat = tmp_path / "chat"
    chat.mkdir()
    message = {"time": "2020-01-07T00:00:00Z", "by": "ann", "text": "Ten folds\u202e **help**."}
    (chat / "chat.json").write_text(json.dumps([message]), encoding="utf-8")
    found = copy.python(READ, chat, tmp_path / "state.db").splitlines()
    assert found[:2] == ["(1, [])", "(1, [])"]
    text = "Ten folds **help**."
    assert found[2:] == [str([]), str([text]), str([text, text])]

"""The page on notices: its toy reaches a site and a mail server in the same words."""

from pathlib import Path

import pytest

from tests.extending.toys import Copy

SEND = """
import asyncio
from datetime import UTC, datetime
from pathlib import Path
from pydantic import SecretStr
from bot.notify import Notice
from bot.notify.outbox import deliver, notify
from bot.notify.services import AppriseNotifier
from bot.notify.settings import NotifySection
from state.clock import SystemClock
from state.store import Store
from tests.bot.notify.receivers import HookSite, MailServer

NotifySection(digest=("problem.gpu",))
notice = Notice("problem.gpu", "", {"gpu": "GPU_0 <b>", "celsius": 91.0, "since": datetime(2026, 1, 1, tzinfo=UTC)})
print(notice.key)

with HookSite() as site, MailServer() as mail, Store.open(Path("bot.db"), SystemClock()) as store:
    with store.write() as tx:
        notify(tx, notice)
    services = {name: AppriseNotifier(name, SecretStr(url)) for name, url in (("A", site.url), ("B", mail.url))}
    asyncio.run(deliver(store, services, store.clock))
print(site.took[0]["title"], "|", site.took[0]["message"].splitlines()[0])
print(mail.took[0]["Subject"], "|", mail.took[0].get_content().splitlines()[0])
"""


@pytest.mark.integration
def test_a_notice_is_a_table_with_its_words(tmp_path: Path) -> None:
    copy = Copy(tmp_path / "copy", "notice.md")
    assert copy.touched == ["bot/notify/kinds.toml"]
    copy.lint()
    key, site, mail = copy.python(SEND).splitlines()
    assert key == "problem.gpu/GPU_0 <b>/2026-01-01T00:00:00Z"
    text = "has slowed down since 2026-01-01 00:00 UTC. Check its fans."
    assert site == mail == f"GPU_0 ‹b› is at 91 °C | GPU_0 ‹b› {text}"

"""The page on notices: its toy reaches a site in both of its forms, and a mail server."""

from pathlib import Path

import pytest

from tests.extending.toys import Copy

SEND = """
import asyncio
from datetime import UTC, datetime
from pydantic import SecretStr
from bot.notify.events import GpuHot
from bot.notify.services import AppriseNotifier
from bot.notify.settings import NotifySection
from tests.bot.notify.receivers import HookSite, MailServer

NotifySection(digest=("problem.gpu",))
notice = GpuHot("GPU_0 <b>", 91.0, datetime(2026, 1, 1, tzinfo=UTC)).notice()
print(notice.key)

async def send(address):
    await AppriseNotifier("SERVICE", SecretStr(address), seconds=20.0).send(notice)

with HookSite() as site, MailServer() as mail:
    for address in (site.url, f"{site.url}/?format=text", mail.url):
        asyncio.run(send(address))
for taken in site.took:
    print(taken["title"], "|", taken["message"].splitlines()[0])
print(mail.took[0]["Subject"], "|", mail.took[0].get_content().splitlines()[0])
"""


@pytest.mark.integration
def test_a_notice_is_a_class_and_its_template(tmp_path: Path) -> None:
    copy = Copy(tmp_path / "copy", "notice.md")
    assert copy.touched == ["bot/notify/events.py", "bot/notify/templates/problem.gpu.j2"]
    copy.lint()
    key, marked, plain, mail = copy.python(SEND).splitlines()
    assert key == "problem.gpu/GPU_0 <b>/2026-01-01T00:00:00Z"
    text = "has slowed down since 2026-01-01 00:00 UTC. Check its fans."
    assert marked == f"GPU_0 <b> is at 91 °C | **GPU\\_0 ‹b›** {text}"
    assert plain == mail == f"GPU_0 <b> is at 91 °C | GPU_0 <b> {text}"

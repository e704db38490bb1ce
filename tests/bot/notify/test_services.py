"""Services: a real mail server and a real site on loopback take what is sent, and every failure is one sentence of ours."""

import asyncio
import logging
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import SecretStr

from bot.notify import Notice
from bot.notify.outbox import deliver, notify
from bot.notify.services import AppriseNotifier, open_services
from bot.notify.settings import NotifySection
from bot.notify.wording import render
from state.clock import SystemClock
from state.errors import NotificationFailed, UsageError
from state.store import Store
from state.tables import Letter
from tests.bot.notify.receivers import Behaviour, HookSite, MailServer
from tests.bot.submission.parts import HurriedClock

NOTICE = Notice("submission.failed", "wine", {"tag": "wine-1-a", "node": 7, "reason": "it broke off"})
TITLE = "wine: a submission failed"


def letter(key: str, title: str, body: str) -> Letter:
    now = SystemClock().now()
    return Letter(service="HOOK", key=key, kind="", title=title, body=body, created_at=now, due_at=now)


LETTER = letter("rank/wine/1", "Rank 3 <of> 100", "Up from 5 & more.\nSecond line.")


def service(receiver: HookSite | MailServer, *, seconds: float = 20.0, path: str = "") -> AppriseNotifier:
    return AppriseNotifier("HOOK", SecretStr(receiver.url + path), seconds=seconds)


async def test_a_site_gets_title_body_and_key_in_the_form_that_it_shows() -> None:
    with HookSite() as site:
        for form in ("text", "markdown", "html"):
            await service(site, path=f"/?format={form}").send(LETTER)
    assert [got["title"] for got in site.took] == ["Rank 3 <of> 100"] * 3
    plain, marked, html = (got["message"] for got in site.took)
    assert plain == "Up from 5 & more.\nSecond line.\n\n[rank/wine/1]"
    assert marked.replace("\\", "") == plain
    assert html.replace("&nbsp;", " ").startswith("Up from 5 &amp; more.<br/>Second line.")


async def test_a_mail_server_gets_a_mail_that_reads_as_the_notice() -> None:
    with MailServer(user=("bot", "pa55word-of-mail")) as mail:
        await service(mail).send(LETTER)
    (got,) = mail.took
    assert (got["Subject"], got["To"]) == ("Rank 3 <of> 100", "owner@example.org")
    assert got.get_content().split() == ["Up", "from", "5", "&", "more.", "Second", "line.", "[rank/wine/1]"]


async def test_what_is_too_long_for_one_message_comes_in_several_and_whole() -> None:
    words = [f"word{number}" for number in range(9_000)]
    with HookSite() as site:
        await service(site, path="/?format=text").send(letter("k", "Long", " ".join(words)))
    assert len(site.took) > 1
    text = " ".join(got["message"] for got in site.took)
    assert set(words) <= set(text.split())


async def test_a_mail_server_that_refuses_the_password_is_not_quoted() -> None:
    with MailServer(user=("bot", "pa55word-of-mail")) as mail:
        wrong = AppriseNotifier("MAIL", SecretStr(mail.url.replace("pa55", "other")), seconds=20.0)
        with pytest.raises(
            NotificationFailed, match="the service could not be reached, or closed the connection"
        ) as failed:
            await wrong.send(LETTER)
    assert "word-of-mail" not in str(failed.value)
    assert mail.took == []


@pytest.mark.parametrize("made", [HookSite, MailServer])
@pytest.mark.parametrize("behaviour", ["500", "429", "404", "cut", "take, cut", "stall", "take, stall"])
async def test_whatever_goes_wrong_is_a_failure_in_our_words(made: Any, behaviour: Behaviour) -> None:
    seconds = 1.0 if "stall" in behaviour else 20.0
    with made([behaviour]) as receiver:
        with pytest.raises(NotificationFailed) as failed:
            await service(receiver, seconds=seconds).send(LETTER)
        words = {
            "the service could not be reached, or closed the connection",
            "the service rejected the message",
            "no answer within 1 s",
        }
        if made is HookSite and behaviour.isdigit():
            words = {f"the service answered {behaviour}"}
        assert str(failed.value) in words


async def test_a_service_that_is_not_there_is_a_failure() -> None:
    with HookSite() as site:
        gone = service(site)
    with pytest.raises(NotificationFailed, match="could not be reached"):
        await gone.send(LETTER)


async def test_a_stall_holds_up_neither_the_loop_nor_the_next_one_for_ever() -> None:
    with HookSite(["stall"]) as site:
        slow = service(site, seconds=0.5)
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.01)
                ticks += 1

        ticking = asyncio.create_task(tick())
        with pytest.raises(NotificationFailed):
            await slow.send(LETTER)
        ticking.cancel()
        assert ticks > 3
        assert all(thread.daemon for thread in threading.enumerate() if thread.name == "notify-HOOK")
    for thread in [thread for thread in threading.enumerate() if thread.name == "notify-HOOK"]:
        thread.join(10)
        assert not thread.is_alive(), "its own limits end it"


async def test_while_an_attempt_goes_on_no_other_is_begun() -> None:
    with HookSite(["stall"]) as site:
        # The plugin's own limits are a share of this one, so the attempt is cut short from outside.
        slow = service(site, seconds=20.0)
        first = asyncio.create_task(slow.send(LETTER))
        while slow._thread is None:
            await asyncio.sleep(0.01)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        with pytest.raises(NotificationFailed, match="an earlier attempt timed out and is still running"):
            await slow.send(LETTER)


SECRETS = ("hunter2secret", "pathsecret77", "querysecret88", "T1JJ3T3L2", "A1BRTD4JD", "TIiajkdnlazkcOXrIdevi7")


@pytest.fixture
def logged() -> Iterator[list[str]]:
    """All that is logged at any level, by anybody."""
    texts: list[str] = []

    class Everything(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            texts.append(record.getMessage() + str(record.exc_info or ""))

    handler, root = Everything(0), logging.getLogger()
    before = root.level
    root.addHandler(handler)
    root.setLevel(1)
    yield texts
    root.removeHandler(handler)
    root.setLevel(before)


@pytest.mark.integration
@pytest.mark.parametrize("behaviour", ["take", "500", "cut"])
async def test_no_secret_is_in_any_log_event_row_error_or_name(behaviour, tmp_path, logged, capfd) -> None:
    clock = HurriedClock()
    with (
        HookSite([behaviour]) as site,
        MailServer([behaviour], user=("bot", "hunter2secret")) as mail,
        Store.open(tmp_path / "bot.db", clock) as store,
    ):
        environment = {
            "HOOK_URL": f"{site.url}/pathsecret77/?+X-Token=querysecret88",
            "MAIL_URL": mail.url,
            "SLACK_URL": "https://hooks.slack.com/services/T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7",
        }
        settings = NotifySection(services=("HOOK_URL", "MAIL_URL", "SLACK_URL"))
        services = open_services(settings, environment)
        shown = repr(services) + " ".join(one.service for one in services.values())
        del services["SLACK_URL"]
        with store.write() as tx:
            notify(tx, NOTICE)
        await deliver(store, services, clock, settings)
        events = str(list(store.export_events("bot")))
    assert '"HOOK_URL"' in events.replace("'", '"')
    rows = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    everything = "\n".join([shown, events, *logged, *capfd.readouterr(), repr(settings)])
    assert [secret for secret in SECRETS if secret in everything or secret.encode() in rows] == []


def test_what_apprise_cannot_use_is_refused_without_being_repeated(logged: list[str]) -> None:
    for address in ("nosuch://hunter2secret@host/pathsecret77", "mailto://x:hunter2secret@", "slack://hunter2secret"):
        with pytest.raises(UsageError, match="SLACK_URL contains an address") as refused:
            open_services(NotifySection(services=("SLACK_URL",)), {"SLACK_URL": address})
        assert not any(secret in str(refused.value) + "".join(logged) for secret in SECRETS)


async def test_a_slack_web_hook_gets_what_slack_wants_and_a_strangers_words_call_nobody() -> None:
    """Apprise's own Slack plugin, sent to loopback: only the host is another."""
    from apprise.manager_plugins import NotificationManager
    from apprise.plugins.slack import NotifySlack

    with HookSite() as site:

        class LoopbackSlack(NotifySlack):  # type: ignore[misc]
            service_name = "Loopback Slack"
            protocol = ()
            secure_protocol = "slackloop"
            webhook_url = f"http://127.0.0.1:{site.port}/services"

        NotificationManager().add(LoopbackSlack)
        try:
            address = SecretStr("slackloop://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7")
            slack = AppriseNotifier("SLACK_URL", address, seconds=20.0)
            words = "<!channel> <http://evil.example|here> *x* @all & so"
            title, body = render(Notice("submission.refused", "wine", {"tag": "wine-1-a", "node": 7, "words": words}))
            await slack.send(letter(f"submission.refused/{words}", title, body))
        finally:
            NotificationManager().remove("slackloop")
    assert site.paths == ["/services/T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7"]
    (payload,) = site.took
    (attachment,) = payload["attachments"]
    assert attachment["title"] == "wine: a submission was refused"
    assert attachment["text"].startswith("Kaggle refused wine-1-a (node 7)")
    assert attachment["text"].count("‹!\u200bchannel› ‹http:\u200b//evil.example|here› *x* @\u200ball &amp; so") == 2
    assert "<" not in attachment["text"]


@pytest.mark.parametrize(
    "address", ["mmost://127.0.0.1:{port}/abcdefghijklmnopqrstuvwx", "misskey://token@127.0.0.1:{port}"]
)
async def test_a_chat_that_shows_markdown_gets_no_mention_and_no_link_in_strangers_words(address: str) -> None:
    words = "@channel @all @**all** @ann@evil.com [x](http://evil.com/) ![y](//evil.com/a.png) evil.com"
    title, body = render(Notice("submission.failed", "wine", {"tag": "wine-1-a", "node": 7, "reason": words}))
    with HookSite() as site:
        await AppriseNotifier("CHAT", SecretStr(address.format(port=site.port))).send(letter("k", title, body))
    (got,) = site.took
    assert not any(call in got["text"] for call in ("@channel", "@all", "@*", "@ann", "](", "://", "evil.com"))
    assert words in got["text"].replace("\u200b", "")

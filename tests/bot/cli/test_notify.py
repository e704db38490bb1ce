"""`bot notify test`: one message to each service, what came of it, and an exit status."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from bot.cli import app
from bot.doctor.daemon import check_notify
from bot.notify.settings import NotifySection
from state.errors import UsageError
from tests.bot.notify.receivers import HookSite, MailServer


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("HOOK_URL", "MAIL_URL", "CREDENTIALS_DIRECTORY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


def configured(*services: str) -> None:
    Path("bot.toml").write_text(f"[notify]\nservices = {json.dumps(services)}\n", encoding="utf-8")


def notify_test(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["notify", "test", *arguments], catch_exceptions=False)


def test_each_service_gets_one_message_and_is_named_without_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    configured("HOOK_URL", "MAIL_URL")
    with HookSite() as site, MailServer(user=("bot", "hunter2secret")) as mail:
        monkeypatch.setenv("HOOK_URL", f"{site.url}/hunter2secret")
        monkeypatch.setenv("MAIL_URL", mail.url)
        done = notify_test()
    assert done.exit_code == 0, done.output
    assert [got["title"] for got in site.took] == [got["Subject"] for got in mail.took] == ["A test of the Kaggle bot"]
    assert [line.split()[:2] for line in done.stdout.splitlines()] == [["HOOK_URL", "JSON:"], ["MAIL_URL", "E-Mail:"]]
    assert done.stdout.count(": accepted") == 2
    assert "hunter2secret" not in done.output


def test_one_that_fails_is_named_the_other_is_tried_and_the_status_is_1(monkeypatch: pytest.MonkeyPatch) -> None:
    configured("HOOK_URL", "MAIL_URL")
    with HookSite(["500"]) as site, MailServer() as mail:
        monkeypatch.setenv("HOOK_URL", f"{site.url}/hunter2secret")
        monkeypatch.setenv("MAIL_URL", mail.url)
        done = notify_test("--json")
    assert done.exit_code == 1
    hook, mailed = (json.loads(line) for line in done.stdout.splitlines())
    assert (hook["service"], hook["arrived"], hook["error"]) == ("HOOK_URL", False, "the service answered 500")
    assert (mailed["arrived"], mailed["error"]) == (True, None)
    assert "hunter2secret" not in done.output


def test_without_a_service_or_its_address_it_names_what_to_do() -> None:
    with pytest.raises(UsageError, match=r"no service to test: add one under \[notify\] in bot.toml"):
        notify_test()
    configured("HOOK_URL")
    with pytest.raises(UsageError, match="lists HOOK_URL, but no"):
        notify_test()


def test_the_doctor_says_whether_services_are_there_and_can_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    assert next(check_notify(NotifySection())).status == "warning"
    section = NotifySection(services=("HOOK_URL",))
    missing = next(check_notify(section))
    assert (missing.status, "lists HOOK_URL" in str(missing.fix)) == ("fails", True)
    monkeypatch.setenv("HOOK_URL", "nosuch://hunter2secret")
    wrong = next(check_notify(section))
    assert (wrong.status, "hunter2secret" in str(wrong)) == ("fails", False)
    monkeypatch.setenv("HOOK_URL", "json://example.org/hunter2secret")
    assert next(check_notify(section)).result == "HOOK_URL: JSON"

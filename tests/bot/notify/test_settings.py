"""[notify] holds names of secrets, and addresses come from where the names say."""

from datetime import time
from pathlib import Path

import pytest

from bot.configuration.reading import read_settings
from bot.notify.services import find_address
from bot.notify.settings import NotifySection
from state.errors import UsageError


def read(tmp_path: Path, text: str) -> NotifySection:
    path = tmp_path / "bot.toml"
    path.write_text(f"[notify]\n{text}\n", encoding="utf-8")
    return read_settings(path).notify


def test_all_may_be_set(tmp_path: Path) -> None:
    section = read(
        tmp_path,
        """services = ["SLACK_URL", "MAIL_URL"]
        digest = ["leaderboard.rank", "budget.reached"]
        digest_hours = [8, 18]
        quiet = "22:30-07:00"
        time_zone = "Europe/Zurich"
        per_hour = 5""",
    )
    assert section.services == ("SLACK_URL", "MAIL_URL")
    assert section.quiet_hours == (time(22, 30), time(7))
    assert section.zone.key == "Europe/Zurich"


@pytest.mark.parametrize(
    "address",
    ["slack://T1JJ3T3L2/A1BRTD4JD/hunter2secret", "https://hooks.slack.com/x/hunter2secret", "me:hunter2secret@x"],
)
def test_an_address_in_the_file_is_refused_with_why_and_is_not_repeated(tmp_path: Path, address: str) -> None:
    with pytest.raises(UsageError, match=r"do not belong in this file") as refused:
        read(tmp_path, f'services = ["{address}"]')
    assert "hunter2secret" not in str(refused.value)
    assert "notify.services.1" in str(refused.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('services = ["slack"]', "name of an environment variable"),
        ('services = ["A", "A"]', "each name may be listed only once"),
        ('digest = ["rank"]', "is not a kind of notification; choose from .*leaderboard.rank"),
        ("digest_hours = []", "must not be empty"),
        ("digest_hours = [24]", "at most 23"),
        ('quiet = "22-7"', "must be two times of day, such as 22:00-07:00"),
        ('quiet = "07:00-07:00"', "must not start and end at the same time"),
        ('time_zone = "Mars/Olympus"', "is not a time zone known on this machine; use a name such as Europe/Zurich"),
        ('time_zone = "../etc/passwd"', "is not a time zone known on this machine; use a name such as Europe/Zurich"),
        ("per_hour = 0", "at least 1"),
        ('slack = "x"', r"2: unknown key 'slack' in \[notify\]"),
    ],
)
def test_wrong_values_are_refused_with_what_to_write(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        read(tmp_path, text)


SLACK = "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7"


def test_a_credential_goes_before_a_variable_and_that_before_a_file(tmp_path: Path) -> None:
    (tmp_path / "slack_url").write_text("json://credential/x\n", encoding="utf-8")
    (tmp_path / "file").write_text("json://file/x\n", encoding="utf-8")
    everywhere = {
        "CREDENTIALS_DIRECTORY": str(tmp_path),
        "SLACK_URL": "json://variable/x",
        "SLACK_URL_FILE": str(tmp_path / "file"),
    }
    found = []
    for name in ("CREDENTIALS_DIRECTORY", "SLACK_URL", "SLACK_URL_FILE"):
        found.append(find_address("SLACK_URL", everywhere).get_secret_value())
        del everywhere[name]
    assert found == ["json://credential/x", "json://variable/x", "json://file/x"]
    with pytest.raises(UsageError, match="but no systemd credential or environment variable has that name, and"):
        find_address("SLACK_URL", everywhere)


@pytest.mark.parametrize("text", ["hunter2secret", f"{SLACK} {SLACK}", f"{SLACK}\n{SLACK}", "json://" + "x" * 5000])
def test_what_is_no_address_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(UsageError, match="the variable SLACK_URL must contain one address") as refused:
        find_address("SLACK_URL", {"SLACK_URL": text})
    assert text not in str(refused.value)


def test_a_file_that_is_not_there_is_named_by_its_variable(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="SLACK_URL_FILE names a file that does not exist"):
        find_address("SLACK_URL", {"SLACK_URL_FILE": str(tmp_path / "none")})

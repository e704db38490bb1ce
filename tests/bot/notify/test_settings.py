"""`[notify]`: names of secrets, never secrets; every wrong value is refused with what to write."""

from datetime import time
from pathlib import Path

import pytest

from bot.configuration.reading import read_settings
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
    with pytest.raises(UsageError, match=r"(must not|may) stand in this file") as refused:
        read(tmp_path, f'services = ["{address}"]')
    assert "hunter2secret" not in str(refused.value)
    assert "notify.services.1" in str(refused.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('services = ["slack"]', "name of a variable"),
        ('services = ["A", "A"]', "each name may be listed only once"),
        ('digest = ["rank"]', "is no kind of notice; the kinds are .*leaderboard.rank"),
        ("digest_hours = []", "must not be empty"),
        ("digest_hours = [24]", "at most 23"),
        ('quiet = "22-7"', "two times of day, such as 22:00-07:00"),
        ('quiet = "07:00-07:00"', "must not end when it begins"),
        ('time_zone = "Mars/Olympus"', "no time zone"),
        ('time_zone = "../etc/passwd"', "no time zone"),
        ("per_hour = 0", "at least 1"),
        ('slack = "x"', "notify.slack"),
    ],
)
def test_wrong_values_are_refused_with_what_to_write(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        read(tmp_path, text)

"""Where the program may lie that the service runs."""

from pathlib import Path

import pytest

from bot.service.program import check_readable, parts_of_this
from state.errors import UsageError


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/home/me/venv/bin/bot", r"in /home, which is closed to it \(ProtectHome\)"),
        ("/root/bot", r"in /root, which is closed to it \(ProtectHome\)"),
        ("/run/user/1000/bot", r"in /run/user, which is closed to it \(ProtectHome\)"),
        ("/tmp/bot", r"in /tmp, of which it has one of its own \(PrivateTmp\)"),
        ("/var/tmp/bot", r"in /var/tmp, of which it has one of its own \(PrivateTmp\)"),
    ],
)
def test_a_program_where_the_service_sees_nothing_is_refused(path: str, why: str) -> None:
    with pytest.raises(UsageError, match=f"^the service could not read {path}: it lies {why}. Install the bot"):
        check_readable([Path(path)])


def test_so_is_one_to_which_a_link_leads(tmp_path: Path) -> None:
    (tmp_path / "bot").symlink_to("/root/bot")
    with pytest.raises(UsageError, match="could not read /root/bot: it lies in /root"):
        check_readable([tmp_path / "bot"])


def test_so_is_one_that_other_users_may_not_read() -> None:
    assert Path("/etc/shadow").is_file()
    with pytest.raises(UsageError, match="could not read /etc/shadow: other users may not read /etc/shadow"):
        check_readable([Path("/etc/shadow")])


def test_a_program_of_the_system_is_let_through() -> None:
    check_readable([Path("/bin/sh"), Path("/usr/lib")])


def test_all_that_the_program_needs_is_looked_at() -> None:
    parts = parts_of_this()
    assert {"bot", "site-packages"} <= {part.name for part in parts}
    assert Path(__file__).parents[3] in parts
    assert all(part.exists() for part in parts)

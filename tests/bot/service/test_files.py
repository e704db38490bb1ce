"""What an installation writes, once and again, below a folder that stands for a machine."""

import os
import stat
from pathlib import Path

import pytest

from bot.service.files import (
    CONFIGURATION,
    CREDENTIALS,
    SERVICE,
    STATE,
    UNITS,
    check_program,
    delete_units,
    rebase,
    shipped,
    write_files,
)
from bot.service.systemd import file_problems
from state.errors import UsageError

PROGRAM = Path("/srv/elsewhere/bin/bot")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A machine with an installed service and a key."""
    root = tmp_path / "machine"
    install(root, docker=True)
    (rebase(root, CREDENTIALS) / "KAGGLE_API_TOKEN").write_text("the owner's")
    return root


def install(root: Path, configuration: str = "# first\n", **drop_ins: bool) -> None:
    write_files(root, PROGRAM, drop_ins, configuration)


def contents(folder: Path) -> dict[str, tuple[int, str]]:
    """Return mode and text of every file and folder."""
    return {
        str(path.relative_to(folder)): (stat.S_IMODE(path.stat().st_mode), path.read_text() if path.is_file() else "")
        for path in folder.rglob("*")
    }


def drop_ins(root: Path) -> list[str]:
    units = rebase(root, UNITS)
    return sorted(str(path.relative_to(units)) for path in units.glob("*.d/*"))


def test_units_run_the_installed_program_and_are_otherwise_as_shipped(root: Path) -> None:
    unit = (rebase(root, UNITS) / SERVICE).read_text()
    assert "\nExecStart=/srv/elsewhere/bin/bot run --config /etc/kaggle-bot/bot.toml\n" in unit
    assert unit.replace("/srv/elsewhere/bin/bot", "/opt/kaggle-bot/bin/bot") == shipped(SERVICE)


def test_a_second_installation_changes_nothing_and_keeps_the_owners_files(root: Path) -> None:
    for name in ("bot.toml", "environment"):
        (rebase(root, CONFIGURATION) / name).write_text("the owner's")
    before = contents(root)
    install(root, "# another\n")
    assert contents(root) == before


def test_drop_ins_are_chosen_stay_as_installed_and_are_given_up(root: Path) -> None:
    both = ["kaggle-bot-prune.service.d/docker.conf", "kaggle-bot.service.d/docker.conf"]
    install(root)
    assert drop_ins(root) == both
    install(root, gpu=True)
    assert drop_ins(root) == [*both, "kaggle-bot.service.d/gpu.conf"]
    install(root, docker=False, gpu=False)
    assert drop_ins(root) == []


def test_credentials_are_closed_to_others_whatever_the_folder_was(root: Path) -> None:
    folder = rebase(root, CREDENTIALS)
    folder.chmod(0o755)
    install(root)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == dict.fromkeys(
        ("KAGGLE_API_TOKEN", "OPENAI_API_KEY", "SLACK_URL", "MAIL_URL"), 0o600
    )


def test_a_credential_of_another_name_is_loaded_until_its_file_is_gone(root: Path) -> None:
    for name in ("TEAMS_URL", ".hidden", "OPENAI_API_KEY~"):
        (rebase(root, CREDENTIALS) / name).write_text("x")
    install(root)
    drop_in = rebase(root, UNITS) / f"{SERVICE}.d" / "credentials.conf"
    assert drop_in.read_text() == "[Service]\nLoadCredential=TEAMS_URL:/etc/kaggle-bot/credentials/TEAMS_URL\n"
    (rebase(root, CREDENTIALS) / "TEAMS_URL").unlink()
    install(root)
    assert not drop_in.exists()


def test_problems_are_units_of_another_version_and_a_missing_key(root: Path) -> None:
    assert list(file_problems(root)) == []
    (rebase(root, UNITS) / SERVICE).write_text("[Service]\nExecStart=/srv/elsewhere/bin/bot run\n")
    (rebase(root, CREDENTIALS) / "KAGGLE_API_TOKEN").write_text("")
    units, key = file_problems(root)
    assert "bot service install" in units
    assert "KAGGLE_API_TOKEN" in key


def test_deleting_leaves_configuration_state_and_the_owners_drop_ins(root: Path) -> None:
    own = rebase(root, UNITS) / f"{SERVICE}.d" / "override.conf"
    own.write_text("[Service]\n")
    rebase(root, STATE).mkdir(parents=True)
    kept = {name: entry for name, entry in contents(root).items() if name.startswith(("etc/kaggle-bot", "var"))}
    delete_units(root)
    after = contents(root)
    assert {name: entry for name, entry in after.items() if name.startswith(("etc/kaggle-bot", "var"))} == kept
    assert drop_ins(root) == ["kaggle-bot.service.d/override.conf"]
    assert [name for name in after if "kaggle-bot" in name and name not in kept] == [
        "etc/systemd/system/kaggle-bot.service.d",
        "etc/systemd/system/kaggle-bot.service.d/override.conf",
    ]
    delete_units(root)
    assert contents(root) == after


@pytest.mark.parametrize(
    "path",
    [
        *("/home/me/venv/bin/bot", "/root/bot", "/run/user/1000/bot", "/tmp/bot", "/var/tmp/bot"),
        *("/opt/my bot/bin/bot", "/opt/100%/bot", "/opt/$HOME/bot", "bin/bot"),
    ],
)
def test_a_program_that_the_service_cannot_see_or_a_unit_cannot_name_is_refused(path: str) -> None:
    with pytest.raises(UsageError, match="the service cannot use "):
        check_program(Path(path))


def test_a_link_to_such_a_program_is_refused_and_a_program_of_the_system_is_not(tmp_path: Path) -> None:
    (tmp_path / "bot").symlink_to("/root/bot")
    with pytest.raises(UsageError):
        check_program(tmp_path / "bot")
    check_program(Path("/bin/sh"))


def test_other_users_may_read_all_but_the_credentials(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        install(tmp_path / "machine", docker=True)
    finally:
        os.umask(before)
    closed = {name for name, (mode, _) in contents(tmp_path / "machine").items() if not mode & 0o004}
    assert {name.partition("etc/kaggle-bot/credentials")[1] for name in closed} == {"etc/kaggle-bot/credentials"}

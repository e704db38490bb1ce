"""What an installation changes, once and again, in a folder that stands for a machine."""

import os
import stat
from pathlib import Path

import pytest

from bot.service.changes import make
from bot.service.installing import InstallOptions, install, install_options, shipped, uninstall
from bot.service.layout import CREDENTIALS, SERVICE, Layout
from state.errors import UsageError

PROGRAM = Path("/srv/elsewhere/bin/bot")


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(tmp_path / "machine")


def changed(layout: Layout, wished: InstallOptions | None = None, configuration: str = "# begin\n") -> list[str]:
    """Install, and return what that changed."""
    return list(make(install(layout, wished or InstallOptions(PROGRAM), configuration, None), dry_run=False))


def removed(layout: Layout, *, purge: bool = False) -> list[str]:
    return list(make(uninstall(layout, None, purge=purge), dry_run=False))


def content(folder: Path) -> dict[str, tuple[int, str]]:
    """Return mode and text of every file and folder."""
    found = sorted(folder.rglob("*"))
    return {
        str(path.relative_to(folder)): (stat.S_IMODE(path.stat().st_mode), path.read_text() if path.is_file() else "")
        for path in found
    }


def drop_in(layout: Layout, name: str) -> Path:
    return layout.units / f"{SERVICE}.d" / f"{name}.conf"


def test_the_second_time_changes_nothing(layout: Layout) -> None:
    assert changed(layout, InstallOptions(PROGRAM, docker=True, gpu=True, backoff=True))
    before = content(layout.root)
    assert changed(layout, InstallOptions(PROGRAM, docker=True, gpu=True, backoff=True)) == []
    assert content(layout.root) == before


def test_a_dry_run_says_the_same_and_does_nothing(layout: Layout) -> None:
    changes = install(layout, InstallOptions(PROGRAM), "", None)
    planned = list(make(changes, dry_run=True))
    assert not layout.root.exists()
    assert list(make(changes, dry_run=False)) == planned


def test_the_units_run_the_installed_program_and_are_otherwise_as_shipped(layout: Layout) -> None:
    changed(layout)
    unit = (layout.units / SERVICE).read_text()
    assert "\nExecStart=/srv/elsewhere/bin/bot run --config /etc/kaggle-bot/bot.toml\n" in unit
    assert unit.replace("/srv/elsewhere/bin/bot", "/opt/kaggle-bot/bin/bot") == shipped(SERVICE)


@pytest.mark.parametrize("path", ["/opt/my bot/bin/bot", "/opt/100%/bot", "/opt/$HOME/bot", '/opt/"/bot', "bin/bot"])
def test_a_program_whose_path_means_something_else_in_a_unit_is_refused(layout: Layout, path: str) -> None:
    with pytest.raises(UsageError, match="plain name"):
        changed(layout, InstallOptions(Path(path)))


def test_what_is_the_owners_is_never_written_again(layout: Layout) -> None:
    changed(layout)
    assert layout.bot_toml.read_text() == "# begin\n"
    for path in (layout.bot_toml, layout.environment, layout.credentials / "KAGGLE_API_TOKEN"):
        path.write_text("the owner's")
    assert changed(layout, configuration="# another\n") == []
    assert layout.bot_toml.read_text() == layout.environment.read_text() == "the owner's"
    assert (layout.credentials / "KAGGLE_API_TOKEN").read_text() == "the owner's"


def test_credentials_are_closed_to_others_and_closed_again(layout: Layout) -> None:
    changed(layout)
    assert stat.S_IMODE(layout.credentials.stat().st_mode) == 0o700
    assert {path.name for path in layout.credentials.iterdir()} == set(CREDENTIALS)
    assert {stat.S_IMODE(path.stat().st_mode) for path in layout.credentials.iterdir()} == {0o600}
    layout.credentials.chmod(0o755)
    assert changed(layout) == [f"close the folder {layout.credentials}"]
    assert stat.S_IMODE(layout.credentials.stat().st_mode) == 0o700


def test_a_narrow_umask_closes_nothing_that_others_need(layout: Layout) -> None:
    before = os.umask(0o077)
    try:
        changed(layout, InstallOptions(PROGRAM, docker=True))
    finally:
        os.umask(before)
    closed = {name for name, (mode, _) in content(layout.root).items() if not mode & 0o004}
    credentials = "etc/kaggle-bot/credentials"
    assert closed == {credentials, *(f"{credentials}/{name}" for name in CREDENTIALS)}


def test_a_credential_of_another_name_is_loaded_too_and_no_longer_when_it_is_gone(layout: Layout) -> None:
    changed(layout)
    (layout.credentials / "TEAMS_URL").write_text("x")
    (layout.credentials / ".hidden").write_text("x")
    (layout.credentials / "OPENAI_API_KEY~").write_text("x")
    changed(layout)
    lines = drop_in(layout, "credentials").read_text().splitlines()
    assert lines[1:] == ["[Service]", "LoadCredential=TEAMS_URL:/etc/kaggle-bot/credentials/TEAMS_URL"]
    (layout.credentials / "TEAMS_URL").unlink()
    assert len(changed(layout)) == 2
    assert not drop_in(layout, "credentials").parent.exists()


def test_what_is_not_said_stays_as_it_is_installed(layout: Layout) -> None:
    changed(layout, InstallOptions(PROGRAM, docker=True))
    assert install_options(layout, PROGRAM).docker
    assert not install_options(layout, PROGRAM).gpu
    assert not install_options(layout, PROGRAM, docker=False).docker
    assert install_options(layout, PROGRAM, gpu=True).gpu


def test_a_drop_in_that_is_no_longer_wished_for_goes_and_the_owners_stay(layout: Layout) -> None:
    changed(layout, InstallOptions(PROGRAM, docker=True, gpu=True))
    drop_in(layout, "override").write_text("[Service]\n")
    changed(layout, InstallOptions(PROGRAM))
    assert [path.name for path in drop_in(layout, "x").parent.iterdir()] == ["override.conf"]
    assert not (layout.units / "kaggle-bot-prune.service.d").exists()


def test_a_unit_that_somebody_changed_is_written_anew(layout: Layout) -> None:
    changed(layout)
    (layout.units / SERVICE).write_text("[Service]\n")
    assert changed(layout) == [f"write {layout.units / SERVICE}"]


def test_uninstall_leaves_configuration_and_state(layout: Layout) -> None:
    changed(layout, InstallOptions(PROGRAM, docker=True, gpu=True, backoff=True))
    layout.state.mkdir(parents=True)
    (layout.state / "bot.db").write_text("x")
    kept = {name: one for name, one in content(layout.root).items() if name.startswith(("etc/kaggle-bot", "var"))}
    removed(layout)
    assert {
        name: one for name, one in content(layout.root).items() if name.startswith(("etc/kaggle-bot", "var"))
    } == kept
    assert [path for path in (layout.root / "etc").rglob("*kaggle-bot*") if path != layout.configuration] == []
    assert removed(layout) == []


def test_purge_leaves_nothing_and_follows_no_link(layout: Layout, tmp_path: Path) -> None:
    changed(layout, InstallOptions(PROGRAM, docker=True))
    drop_in(layout, "override").write_text("[Service]\n")
    disk = tmp_path / "disk"
    disk.mkdir()
    (disk / "bot.db").write_text("x")
    layout.state.parent.mkdir(parents=True)
    layout.state.symlink_to(disk)
    layout.cache.mkdir(parents=True)
    removed(layout, purge=True)
    assert list(layout.root.rglob("*kaggle-bot*")) == []
    assert (disk / "bot.db").exists()
    assert removed(layout, purge=True) == []

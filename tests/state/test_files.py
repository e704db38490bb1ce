"""Files appear whole or not at all, and keys only for their owner."""

import os
import stat
from pathlib import Path

import pytest

from state.files import replacing, write_whole
from state.own_keys import DIRECTORY, own_folder, save_key, use_own_keys


@pytest.mark.parametrize("durable", [False, True])
@pytest.mark.parametrize("content", ["a\r\n\udc80", b"a\r\n?"])
def test_what_is_written_takes_the_place_of_what_was(tmp_path: Path, content: str | bytes, durable: bool) -> None:
    file = tmp_path / "log.txt"
    file.write_text("old")
    write_whole(file, content, durable=durable)
    assert file.read_bytes() == b"a\r\n?"
    assert list(tmp_path.iterdir()) == [file]


def test_a_file_stays_as_it_was_until_all_is_written_and_if_that_fails(tmp_path: Path) -> None:
    file = tmp_path / "log.txt"
    write_whole(file, "old")
    with pytest.raises(ValueError), replacing(file) as partial:
        partial.write_text("half")
        assert file.read_text() == "old"
        raise ValueError
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_a_key_is_kept_for_its_owner_alone_and_replaced_at_once(tmp_path: Path) -> None:
    file = tmp_path / "new" / "folder" / "SOME_KEY"
    before = os.umask(0)
    try:
        for key in ("first", "second"):
            save_key(file, key)
            assert file.read_text() == f"{key}\n"
    finally:
        os.umask(before)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert [one.name for one in file.parent.iterdir()] == ["SOME_KEY"]


def test_the_folder_is_the_users_for_settings(tmp_path: Path) -> None:
    assert own_folder({"HOME": "/home/ann"}) == Path("/home/ann/.config/kaggle-bot/credentials")
    assert own_folder({"HOME": "/home/ann", "XDG_CONFIG_HOME": "/cfg"}) == Path("/cfg/kaggle-bot/credentials")


def test_it_stands_in_for_systemds_credentials_only_where_there_are_none(tmp_path: Path) -> None:
    variables = {"XDG_CONFIG_HOME": str(tmp_path)}
    use_own_keys(variables)
    assert DIRECTORY not in variables
    own_folder(variables).mkdir(parents=True)
    use_own_keys(variables)
    assert variables[DIRECTORY] == str(own_folder(variables))
    given = variables | {DIRECTORY: "/run/credentials/kaggle-bot.service"}
    use_own_keys(given)
    assert given[DIRECTORY] == "/run/credentials/kaggle-bot.service"

"""Where a key is found, and that it is not shown."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from scrapers.kaggle.credentials import Credentials, find_credentials
from state.errors import UsageError


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


LEGACY = json.dumps({"username": "me", "key": "0123abcd"})


def test_every_place_is_looked_in_in_order(tmp_path: Path) -> None:
    home, systemd, other = tmp_path / "home", tmp_path / "systemd", tmp_path / "other"
    environment: dict[str, str] = {}

    def source() -> str:
        return find_credentials(environment, home).source

    with pytest.raises(UsageError, match=r"No Kaggle key.*KAGGLE_API_TOKEN"):
        source()
    write(home / ".config" / "kaggle" / "kaggle.json", LEGACY)
    assert source() == "kaggle.json"
    write(home / ".kaggle" / "access_token", "KGAT_file\n")
    assert source() == "~/.kaggle/access_token"
    environment |= {"KAGGLE_USERNAME": "me", "KAGGLE_KEY": "0123"}
    assert source() == "KAGGLE_USERNAME and KAGGLE_KEY"
    environment["KAGGLE_API_TOKEN"] = str(write(other / "token", "KGAT_path"))
    assert find_credentials(environment, home).secret == "KGAT_path"
    environment["KAGGLE_API_TOKEN"] = "KGAT_value"
    assert find_credentials(environment, home).secret == "KGAT_value"
    environment["CREDENTIALS_DIRECTORY"] = str(systemd)
    write(systemd / "KAGGLE_API_TOKEN", "KGAT_systemd\n")
    assert find_credentials(environment, home).authorization == "Bearer KGAT_systemd"


def test_a_legacy_key_is_sent_as_basic(tmp_path: Path) -> None:
    write(tmp_path / "c" / "kaggle.json", LEGACY)
    found = find_credentials({"KAGGLE_CONFIG_DIR": str(tmp_path / "c")}, tmp_path)
    assert (found.user, found.authorization) == ("me", "Basic bWU6MDEyM2FiY2Q=")


def test_a_login_of_the_kaggle_command_is_found_and_its_end_is_known(tmp_path: Path) -> None:
    login = {"refresh_token": "refreshing", "access_token": "KGAT_a", "username": "me", "scopes": ["x"]}
    file = write(
        tmp_path / ".kaggle" / "credentials.json",
        json.dumps(login | {"access_token_expiration": "2026-11-20T12:00:00+00:00"}),
    )
    found, noon = find_credentials({}, tmp_path), datetime(2026, 11, 20, 12, tzinfo=UTC)
    assert (found.authorization, found.source) == ("Bearer KGAT_a", "~/.kaggle/credentials.json")
    assert [found.is_expiring(noon - timedelta(minutes=minutes)) for minutes in (11, 10, 0)] == [False, True, True]
    file.write_text(json.dumps({"refresh_token": "refreshing", "access_token": "", "access_token_expiration": ""}))
    found = find_credentials({}, tmp_path)
    assert found.is_expiring(noon)
    assert not found.renewed("KGAT_b", noon, 3_600).is_expiring(noon)
    assert "refreshing" not in f"{found!r} {found.hide('refreshing')}"
    write(tmp_path / ".kaggle" / "access_token", "KGAT_file")
    assert find_credentials({}, tmp_path).secret == "KGAT_file"


def test_a_key_is_never_shown() -> None:
    found = Credentials("KGAT_secret", "me")
    assert "KGAT_secret" not in f"{found} {found!r}"
    assert found.hide(f"sent KGAT_secret, {found.authorization}") == "sent [the key], [the key]"


@pytest.mark.parametrize("text", ["two words", "line\nend", "ключ", " "])
def test_what_cannot_be_a_key_is_refused_without_showing_it(text: str, tmp_path: Path) -> None:
    write(tmp_path / ".kaggle" / "access_token", text)
    with pytest.raises(UsageError) as raised:
        find_credentials({}, tmp_path)
    assert text.strip() == "" or text not in str(raised.value)


@pytest.mark.parametrize("text", ["{", "[]", '{"access_token": "KGAT_a"}', '{"refresh_token": "a b"}'])
def test_a_login_that_kaggle_did_not_write_is_refused(text: str, tmp_path: Path) -> None:
    write(tmp_path / ".kaggle" / "credentials.json", text)
    with pytest.raises(UsageError):
        find_credentials({}, tmp_path)


@pytest.mark.parametrize("text", ["{", "[]", '{"username": "me"}'])
def test_a_file_that_kaggle_did_not_give_is_refused(text: str, tmp_path: Path) -> None:
    write(tmp_path / ".kaggle" / "kaggle.json", text)
    with pytest.raises(UsageError, match="No valid Kaggle key in"):
        find_credentials({}, tmp_path)

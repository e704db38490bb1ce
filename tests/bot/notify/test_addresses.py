"""Addresses: from a credential, a variable or a file, one each."""

from pathlib import Path

import pytest

from bot.notify.services import find_address
from state.errors import UsageError

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
    with pytest.raises(UsageError, match="neither a systemd credential nor a variable of that name, nor a file"):
        find_address("SLACK_URL", everywhere)


@pytest.mark.parametrize("text", ["hunter2secret", f"{SLACK} {SLACK}", f"{SLACK}\n{SLACK}", "json://" + "x" * 5000])
def test_what_is_no_address_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(UsageError, match="the variable SLACK_URL does not hold one address") as refused:
        find_address("SLACK_URL", {"SLACK_URL": text})
    assert text not in str(refused.value)


def test_a_file_that_is_not_there_is_named_by_its_variable(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="SLACK_URL_FILE names a file that is not there"):
        find_address("SLACK_URL", {"SLACK_URL_FILE": str(tmp_path / "none")})

"""`bot run` at a terminal: what a person must do first is said there, and not only in the log."""

import os
import pty
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bot.cli.run import tell_of_missing_key

END = "[end]"


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[[], str]]:
    """Return a function that returns what a terminal is told."""
    for name in ("KAGGLE_API_TOKEN", "KAGGLE_KEY", "CREDENTIALS_DIRECTORY", "KAGGLE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    ours, theirs = pty.openpty()

    def tell() -> str:
        with open(theirs, "w", closefd=False) as terminal:
            tell_of_missing_key(terminal)
            terminal.write(END)
        said = ""
        while not said.endswith(END):  # a terminal hands over what it has, which may be a part
            said += os.read(ours, 4096).decode()
        return said.removesuffix(END)

    yield tell
    os.close(ours)
    os.close(theirs)


def test_without_a_key_a_terminal_is_told_what_to_do(told: Callable[[], str], monkeypatch: pytest.MonkeyPatch) -> None:
    text = " ".join(told().split())
    assert "There is no key for Kaggle" in text and "`bot keys set KAGGLE_API_TOKEN` in another shell" in text
    monkeypatch.setenv("KAGGLE_API_TOKEN", "a-token")
    assert told() == ""

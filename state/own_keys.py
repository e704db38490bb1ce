"""Keys that a user keeps for the bot: files named as the variables, like systemd's credentials, which they stand in for."""

import os
from collections.abc import Mapping, MutableMapping
from pathlib import Path

DIRECTORY = "CREDENTIALS_DIRECTORY"


def own_folder(variables: Mapping[str, str]) -> Path:
    """Return the user's folder of keys; it need not exist."""
    configured = variables.get("XDG_CONFIG_HOME")
    home = Path(variables.get("HOME") or Path.home())
    return (Path(configured) if configured else home / ".config") / "kaggle-bot" / "credentials"


def use_own_keys(variables: MutableMapping[str, str]) -> None:
    """Let everything that reads systemd's credentials read the user's folder where systemd gives none."""
    folder = own_folder(variables)
    if not variables.get(DIRECTORY) and folder.is_dir():
        variables[DIRECTORY] = str(folder)


def keep(file: Path, key: str) -> None:
    """Write a key to a file that only its owner can read; an earlier one is replaced at once, or not at all."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = file.with_name(f".{file.name}.new")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as key_file:
        key_file.write(f"{key}\n")
    fresh.replace(file)

"""Keys that a user keeps for the bot: files named as the variables, like systemd's credentials, which they stand in for."""

from collections.abc import Mapping, MutableMapping
from pathlib import Path

from state.files import replacing

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


def save_key(file: Path, key: str) -> None:
    """Write a key to a file that only its owner can read; an earlier one is replaced at once, or not at all."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with replacing(file) as partial:
        partial.unlink(missing_ok=True)
        partial.touch(mode=0o600, exist_ok=False)
        partial.write_text(f"{key}\n", encoding="utf-8")

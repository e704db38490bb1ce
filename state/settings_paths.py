"""Paths in a settings file: a relative one starts at the file's folder, wherever the program is started."""

import os
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, ValidationInfo

FOLDER = "folder"
"""Key of the validation context that holds the file's folder; without it paths are left as they are."""


def beside_file(path: Path, info: ValidationInfo) -> Path:
    """Resolve a path relative to the folder of its file; `~` is the user's home folder."""
    folder = (info.context or {}).get(FOLDER)
    return path if folder is None else resolve_beside(path, folder)


def resolve_beside(path: Path, folder: Path) -> Path:
    """Return a path as seen from a folder; `~` is the user's. Raises ValueError if it begins with an unknown user."""
    if path.is_absolute():
        return path
    try:
        path = path.expanduser()
    except RuntimeError:
        raise ValueError(f"must be a valid path: the home folder {path.parts[0]} does not exist") from None
    return path if path.is_absolute() else (folder / path).resolve()


def state_folder(folder: Path | None) -> Path:
    """Return where a daemon's state lies: in the folder that is given, else systemd's, else the user's for state."""
    if folder:
        return folder.expanduser().absolute()
    if directories := os.environ.get("STATE_DIRECTORY"):
        return Path(directories.split(":")[0]).absolute()
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state").absolute() / "kaggle-bot"


SettingsPath = Annotated[Path, AfterValidator(beside_file)]
"""The type of a setting that names a file or a folder."""

"""Paths in a settings file: a relative one starts at the file's folder, wherever the program is started."""

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, ValidationInfo

FOLDER = "folder"
"""Key of the validation context that holds the file's folder; without it paths are left as they are."""


def beside_file(path: Path, info: ValidationInfo) -> Path:
    """Resolve a path relative to the folder of its file; `~` is the user's home folder."""
    folder = (info.context or {}).get(FOLDER)
    if folder is None or path.is_absolute():
        return path
    path = path.expanduser()
    return path if path.is_absolute() else (folder / path).resolve()


SettingsPath = Annotated[Path, AfterValidator(beside_file)]
"""The type of a setting that names a file or a folder."""

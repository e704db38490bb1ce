"""Paths in a file of settings: a relative one starts at the folder that the file stands in, wherever the program is started."""

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, ValidationInfo

FOLDER = "folder"
"""In the context of validation: the file's folder; without it paths are left as they are."""


def beside_file(path: Path, info: ValidationInfo) -> Path:
    """Return a path as seen from the file that it stands in; `~` is the user's folder."""
    folder = (info.context or {}).get(FOLDER)
    if folder is None or path.is_absolute():
        return path
    path = path.expanduser()
    return path if path.is_absolute() else (folder / path).resolve()


SettingsPath = Annotated[Path, AfterValidator(beside_file)]
"""The type of a setting that names a file or a folder."""

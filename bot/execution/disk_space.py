"""The disk of runs: how much must be free before one starts, and how long finished ones keep their views."""

import shutil
from pathlib import Path

from pydantic import Field

from state.closed_model import ClosedModel
from state.errors import UsageError


class DiskSettings(ClosedModel):
    """The table `[disk]` of bot.toml."""

    free_gb: float = Field(default=2.0, ge=0, description="free disk space required to start a run, in GB")
    keep_days: float = Field(
        default=14.0, ge=0, description="days after which `bot prune` removes a finished run's views"
    )


def check_free(folder: Path, settings: DiskSettings) -> None:
    """Ensure that the disk of a folder, which may not exist yet, has enough free space.

    Raises UsageError: less is free than the settings require.
    """
    free = free_bytes(folder) / 1e9
    if free < settings.free_gb:
        raise UsageError(
            f"the disk that holds {folder} has {free:.1f} GB free, but a run requires {settings.free_gb:g} GB: "
            f"free some space with `bot prune {folder}`, or lower free_gb under [disk] in bot.toml"
        )


def free_bytes(folder: Path) -> int:
    """Return the free bytes of the disk on which the folder lies, or will lie."""
    return shutil.disk_usage(nearest(folder)).free


def nearest(path: Path) -> Path:
    """Return the absolute path, or the innermost folder around it that exists."""
    return next(folder for folder in (path.absolute(), *path.absolute().parents) if folder.exists())

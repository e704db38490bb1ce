"""The table `[knowledge]` of bot.toml."""

import os
from pathlib import Path
from typing import Literal

from pydantic import Field

from state.closed import ClosedModel
from state.settings_paths import SettingsPath

Shown = Literal["clock", "all", "none"]
"""Which entries a run is shown: those that its clock allows, all, whatever their age, or none."""


class KnowledgeSettings(ClosedModel):
    """The section `[knowledge]` of bot.toml."""

    dir: SettingsPath | None = Field(
        default=None, description="where your own entries lie; none: in the user's data folder", examples=["knowledge"]
    )

    @property
    def folder(self) -> Path:
        """Where the owner's entries lie."""
        data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
        return (self.dir or data / "kaggle-bot" / "knowledge").expanduser().absolute()

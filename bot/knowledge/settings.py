"""The table `[knowledge]` of bot.toml."""

import os
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from state.settings_paths import SettingsPath


class KnowledgeSettings(BaseModel):
    """The section `[knowledge]` of bot.toml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    dir: SettingsPath | None = Field(
        default=None, description="where your own entries lie; none: in the user's data folder", examples=["knowledge"]
    )

    @property
    def folder(self) -> Path:
        """Where the owner's entries lie."""
        data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
        return (self.dir or data / "kaggle-bot" / "knowledge").expanduser().absolute()

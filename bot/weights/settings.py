"""The table `[weights]` of bot.toml."""

import os
from pathlib import Path

from pydantic import Field

from state.closed_model import ClosedModel
from state.settings_paths import SettingsPath


class WeightsSettings(ClosedModel):
    """The section `[weights]` of bot.toml."""

    dir: SettingsPath | None = Field(
        default=None, description="folder for weights (default: in the user's data folder)", examples=["/srv/weights"]
    )
    offer: bool = Field(default=True, description="whether runs may use these weights")

    @property
    def folder(self) -> Path:
        """Where weights lie."""
        data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
        return (self.dir or data / "kaggle-bot" / "weights").expanduser().absolute()

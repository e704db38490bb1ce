"""The table `[knowledge]` of bot.toml."""

import os
from pathlib import Path
from typing import Literal

from pydantic import Field

from state.closed_model import ClosedModel
from state.settings_paths import SettingsPath

KnowledgeMode = Literal["clock", "all", "none"]
"""Which entries a run is shown: those that its clock allows, all, whatever their age, or none."""


class KnowledgeSettings(ClosedModel):
    """The section `[knowledge]` of bot.toml."""

    dir: SettingsPath | None = Field(
        default=None, description="folder for your own entries (default: user data folder)", examples=["knowledge"]
    )
    model: SettingsPath | None = Field(
        default=None,
        description="folder with a sentence-transformers model for embeddings (default: the weights' own, once pulled)",
        examples=["weights/all-minilm-l6-v2"],
    )
    python: SettingsPath | None = Field(
        default=None,
        description="Python interpreter with sentence-transformers, for embeddings (default: the bot's)",
        examples=["embeddings/bin/python"],
    )

    @property
    def folder(self) -> Path:
        """Where the owner's entries lie."""
        data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
        return (self.dir or data / "kaggle-bot" / "knowledge").expanduser().absolute()

"""The table `[knowledge]` of bot.toml."""

import os
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from state.closed import ClosedModel
from state.settings_paths import SettingsPath

KnowledgeMode = Literal["clock", "all", "none"]
"""Which entries a run is shown: those that its clock allows, all, whatever their age, or none."""


class KnowledgeSettings(ClosedModel):
    """The section `[knowledge]` of bot.toml."""

    dir: SettingsPath | None = Field(
        default=None, description="folder for your own entries (default: user data folder)", examples=["knowledge"]
    )
    backend: Literal["bm25", "embeddings"] = Field(
        default="bm25", description="how texts are compared: by words, or by embeddings (requires `model`)"
    )
    model: SettingsPath | None = Field(
        default=None,
        description="folder with the sentence-transformers model for embeddings",
        examples=["weights/all-minilm-l6-v2"],
    )
    python: SettingsPath | None = Field(
        default=None,
        description="Python interpreter with sentence-transformers, for embeddings (default: the bot's)",
        examples=["embeddings/bin/python"],
    )

    @model_validator(mode="after")
    def _has_a_model(self) -> Self:
        if self.backend == "embeddings" and self.model is None:
            raise ValueError("the embeddings backend requires a model: set `model` to its folder")
        return self

    @property
    def folder(self) -> Path:
        """Where the owner's entries lie."""
        data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
        return (self.dir or data / "kaggle-bot" / "knowledge").expanduser().absolute()

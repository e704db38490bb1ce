"""The table `[daemon]` of bot.toml."""

from pathlib import Path
from typing import Literal

from pydantic import Field

from state.closed_model import ClosedModel
from state.settings_paths import SettingsPath, state_folder


class DaemonSettings(ClosedModel):
    """How the daemon runs, whatever it competes in."""

    dir: SettingsPath | None = Field(
        default=None,
        description="the folder for bot.db and the competitions' data (default: systemd's STATE_DIRECTORY, or kaggle-bot in "
        "the user's state folder)",
        examples=["/var/lib/kaggle-bot"],
    )
    rehearsal: bool = Field(
        default=False,
        description="whether the daemon competes on the simulated Kaggle of `bot rehearse` and follows its clock",
    )
    slots: int = Field(default=1, ge=1, description="maximum number of scripts at a time, across all competitions")
    longest_script: float = Field(
        default=3600.0, gt=0, allow_inf_nan=False, description="time limit for one script, in seconds"
    )
    log_format: Literal["auto", "text", "json"] = Field(
        default="auto",
        description="log format: text, json (one object per line), or auto (text on a terminal, else json)",
    )
    keep_community_days: float = Field(
        default=90.0,
        ge=14,
        allow_inf_nan=False,
        description="how many days to keep posts, leaderboards, prompts and data derived from them after a competition ends; "
        "scores, submissions, code and spending are kept",
    )
    backups: int = Field(default=7, ge=1, le=366, description="how many daily backups of bot.db to keep")

    @property
    def folder(self) -> Path:
        """Where the state lies."""
        return state_folder(self.dir)

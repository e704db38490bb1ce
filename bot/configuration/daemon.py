"""The table `[daemon]` of bot.toml."""

from pathlib import Path
from typing import Literal

from pydantic import Field

from state.closed import ClosedModel
from state.settings_paths import SettingsPath, state_folder


class DaemonSettings(ClosedModel):
    """How the daemon runs, whatever it competes in."""

    dir: SettingsPath | None = Field(
        default=None,
        description="the folder of bot.db and of the competitions' data; none: systemd's STATE_DIRECTORY, else "
        "kaggle-bot in the user's folder for state",
        examples=["/var/lib/kaggle-bot"],
    )
    rehearsal: bool = Field(
        default=False,
        description="whether the site is that of `bot rehearse`, by whose clock the daemon then goes",
    )
    slots: int = Field(default=1, ge=1, description="scripts that are worked on at a time, over all competitions")
    longest_script: float = Field(
        default=3600.0, gt=0, allow_inf_nan=False, description="seconds that no run of a script may take more of"
    )
    log_format: Literal["auto", "text", "json"] = Field(
        default="auto", description="lines for people, one JSON object a line, or auto: the first on a terminal alone"
    )
    keep_community_days: float = Field(
        default=90.0,
        ge=14,
        allow_inf_nan=False,
        description="days after a competition's end for which posts, boards, prompts and what was made of them are kept; "
        "scores, submissions, code and spending stay",
    )
    backups: int = Field(default=7, ge=1, le=366, description="how many daily backups of bot.db are kept")

    @property
    def folder(self) -> Path:
        """Where the state lies."""
        return state_folder(self.dir)

"""A replay's settings, and their record in the run's folder."""

import hashlib
import json
import platform
import subprocess
from datetime import datetime
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from bot.agents.settings import AgentRunSettings, ReplayOptions
from scrapers.snapshots.card import TaskCard
from state.errors import UsageError
from state.words import iso

PACKAGES = ("kaggle-bot", "numpy", "scipy", "pandas", "scikit-learn", "pillow", "sqlmodel")


class ReplaySettings(AgentRunSettings, ReplayOptions):
    """All settings of one replay."""

    snapshot: Path
    own_data: bool = Field(default=False, description="grade your data on withheld rows only, without a leaderboard")
    force: bool = Field(default=False, description="write your predictions even if a constant scores better")
    cutoff: datetime
    fleet: str | None = Field(default=None, description="Ray cluster on which to run scripts (default: this machine)")


def cutoff_on(card: TaskCard, cutoff: datetime | Literal["deadline"]) -> datetime:
    """Return the time that a cutoff is on a competition.

    A time after the deadline is accepted, although posts by winners then make the result mean little.

    Raises UsageError: it is before the competition began, when nothing was known.
    """
    if cutoff == "deadline":
        return card.deadline
    if cutoff < card.enabled_at:
        raise UsageError(
            f"--cutoff {iso(cutoff)} is before {card.slug} started: pass {iso(card.enabled_at)} or later, or `deadline` "
            f"({iso(card.deadline)})"
        )
    return cutoff


def config_record(run_id: str, settings: ReplaySettings) -> dict[str, Any]:
    """Return the content of config.json: every setting, versions, the commit if there is one, and a hash of the settings."""
    values = settings.model_dump(mode="json")
    return {
        "run_id": run_id,
        "settings": values,
        "versions": {"python": platform.python_version(), **{name: metadata.version(name) for name in PACKAGES}},
        "git_commit": _commit(),
        "hash": hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest(),
    }


def _commit() -> str | None:
    """Return the commit of the checkout that this code is in; None for an installed wheel."""
    root = Path(__file__).parents[2]
    if not (root / ".git").exists():
        return None
    try:
        git = subprocess.run(["git", "-C", str(root), "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return git.stdout.strip()

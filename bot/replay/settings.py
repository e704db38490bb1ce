"""A replay's settings, and their record in the run's folder."""

import hashlib
import json
import platform
import subprocess
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from bot.agents import AgentName
from bot.agents.settings import AgentRunSettings
from scrapers.snapshots.card import TaskCard
from state.errors import UsageError
from state.words import iso

PACKAGES = ("kaggle-bot", "numpy", "scipy", "pandas", "scikit-learn", "pillow", "sqlmodel")

DEFAULT_SECONDS = 5 * 3600.0
"""The papers' first budget: five hours per competition."""


class ReplaySettings(AgentRunSettings):
    """All settings of one replay."""

    agent: AgentName | Literal["blend"] = "comind"
    blended: tuple[str, ...] = Field(
        default=(), description="runs whose scripts were blended afterwards, in place of a search"
    )
    snapshot: Path
    own_data: bool = Field(
        default=False, description="one's own data: no leaderboard, and answers only of rows withheld"
    )
    force: bool = Field(default=False, description="whether a result on own data that a constant beats is handed in")
    cutoff: datetime
    signals: Literal["asof", "collected"] = "asof"
    pace: Literal["all", "stream"] = "all"
    community: bool = True
    notes: Path | None = Field(default=None, description="the folder of notes that the run began with")
    seconds: float = Field(default=DEFAULT_SECONDS, gt=0, description="wall time to the run's exit")
    fleet: str | None = Field(default=None, description="the Ray cluster whose nodes run scripts; none: this machine")

    @property
    def in_labs(self) -> bool:
        """Whether rows are withheld for labs; a blend withholds those of the runs that it blends."""
        return self.rounds.coder == "lab" if self.blended else super().in_labs


def parse_cutoff(text: str, card: TaskCard) -> datetime:
    """Read `deadline` or an ISO time (without a zone it is UTC).

    A time after the deadline is accepted, although posts by winners then make the result mean little.

    Raises:
        UsageError: it is neither, or a time before the competition began, when nothing was known.
    """
    if text == "deadline":
        return card.deadline
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(f"--cutoff {text!r}: give `deadline` or a time such as 2017-11-20T00:00:00Z") from error
    time = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    if time < card.enabled_at:
        raise UsageError(
            f"--cutoff {text}: {card.slug} began at {iso(card.enabled_at)} and ended at {iso(card.deadline)}; give a time "
            "from then on, or `deadline`"
        )
    return time


def parse_seconds(text: str) -> float:
    """Read `90s`, `5m`, `5h` or plain seconds.

    Raises:
        UsageError: none of these, or not above zero.
    """
    units = {"s": 1.0, "m": 60.0, "h": 3600.0}
    number, unit = (text[:-1], units[text[-1]]) if text[-1:] in units else (text, 1.0)
    try:
        seconds = float(number) * unit
    except ValueError as error:
        raise UsageError(f"--time {text!r}: give a time such as 90s, 5m or 5h") from error
    if not 0 < seconds < float("inf"):
        raise UsageError(f"--time {text!r}: must be above zero")
    return seconds


def config_record(run_id: str, settings: ReplaySettings) -> dict[str, Any]:
    """Return the content of config.json: every setting, versions, the commit if there is one, and a hash of the settings."""
    chosen = settings.model_dump(mode="json")
    return {
        "run_id": run_id,
        "settings": chosen,
        "versions": {"python": platform.python_version(), **{name: metadata.version(name) for name in PACKAGES}},
        "git_commit": _commit(),
        "hash": hashlib.sha256(json.dumps(chosen, sort_keys=True).encode()).hexdigest(),
    }


def _commit() -> str | None:
    """Return the commit of the checkout that this code is in; None for an installed wheel."""
    root = Path(__file__).parents[2]
    if not (root / ".git").exists():
        return None
    try:
        done = subprocess.run(["git", "-C", str(root), "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()

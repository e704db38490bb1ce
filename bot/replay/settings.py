"""What a replay is asked to do, and the record of it that a run's folder keeps."""

import hashlib
import json
import platform
import subprocess
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from bot.budgets.settings import BudgetSettings
from bot.coder.monitor import WatchSettings
from bot.runs.context import EngineSettings
from state.errors import UsageError

PACKAGES = ("kaggle-bot", "numpy", "scipy", "pandas", "scikit-learn", "pillow", "sqlmodel", "openai")

DEFAULT_SECONDS = 5 * 3600.0
"""The papers' first budget: five hours a competition."""


class ReplaySettings(BaseModel):
    """One run's settings, all of them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    snapshot: Path
    agent: Literal["comind", "aide"] = "comind"
    model: str = Field(default="builtin", description="`builtin`, `openai:NAME` or `recorded:DIR`")
    roles: dict[str, str] = Field(default={}, description="the model of a role, where it is not that of `model`")
    record: Path | None = Field(default=None, description="folder that receives a recording of every model call")
    cutoff: datetime
    signals: Literal["asof", "collected"] = "asof"
    pace: Literal["all"] = "all"
    community: bool = True
    steps: int | None = Field(default=None, ge=1, description="nodes, the baseline included")
    seconds: float = Field(default=DEFAULT_SECONDS, gt=0, description="wall time to the run's exit")
    max_cost: float | None = Field(default=None, ge=0, description="USD")
    seed: int = 0
    sandbox: Literal["auto", "docker", "bubblewrap", "process"] = "auto"
    image: str | None = Field(default=None, description="name and id of the image that containers are made from")
    runtime: str | None = Field(default=None, description="of containers; none: the engine's default")
    parallel: int = Field(default=1, ge=1, description="nodes worked on at a time")
    cpus: int = Field(ge=1)
    gpus: int = Field(default=0, ge=0, description="GPUs that an execution holds")
    config: Path | None = Field(default=None, description="bot.toml")
    engine: EngineSettings = EngineSettings()
    watch: WatchSettings = WatchSettings()
    budget: BudgetSettings = BudgetSettings()
    weights: Path | None = Field(default=None, description="folder of pretrained weights; none: go without")

    @property
    def caps(self) -> BudgetSettings:
        """The budget, in which `--max-cost` goes before what is configured for a run."""
        return self.budget.with_run_money(self.max_cost)


def parse_cutoff(text: str, deadline: datetime) -> datetime:
    """Read `deadline` or an ISO time (without a zone it is UTC).

    Raises:
        UsageError: neither.
    """
    if text == "deadline":
        return deadline
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(f"--cutoff {text!r}: give `deadline` or a time such as 2017-11-20T00:00:00Z") from error
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


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
    """Return what config.json holds: every setting, versions, the commit if there is one, and a hash of the settings."""
    chosen = settings.model_dump(mode="json")
    return {
        "run_id": run_id,
        "settings": chosen,
        "versions": {"python": platform.python_version(), **_versions()},
        "git_commit": _commit(),
        "hash": hashlib.sha256(json.dumps(chosen, sort_keys=True).encode()).hexdigest(),
    }


def _versions() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def _commit() -> str | None:
    """Return the commit of the checkout that this code lies in; None for an installed wheel."""
    root = Path(__file__).parents[2]
    if not (root / ".git").exists():
        return None
    try:
        done = subprocess.run(["git", "-C", str(root), "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()

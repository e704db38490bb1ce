"""The tables `[sandbox]`, `[leases]` and `[fleet]` of bot.toml, apart from the parts they set, which take long to import."""

import os
import re
from pathlib import Path
from typing import Self

from pydantic import Field

from sandbox.environments import PLAIN_NAME
from state.closed_model import ClosedModel
from state.errors import UsageError
from state.settings_paths import SettingsPath

_ADDRESS = r"^(auto|ray://[^\s/]+)$"
NO_FLEET = "none"
"""The address that stands for this machine alone."""


class SandboxSettings(ClosedModel):
    """The back end, packages and limits of scripts; the owner's choice, never a model's."""

    environment: str | None = Field(
        default=None,
        pattern=PLAIN_NAME,
        description="environment for scripts, from `bot env create` (default: `default` if it exists, else the bot's packages)",
        examples=["vision"],
    )
    environments: SettingsPath | None = Field(
        default=None,
        description="folder for environments (default: in the user's data folder)",
        examples=["/srv/environments"],
    )
    memory_gb: float | None = Field(
        default=None,
        gt=0,
        description="GiB of memory per script (default: the machine's memory minus a reserve, divided among scripts)",
        examples=[16.0],
    )
    disk_gb: float | None = Field(
        default=None,
        gt=0,
        description="maximum GB that a script may write (default: half of the free space, divided among scripts)",
        examples=[20.0],
    )
    image: str | None = Field(
        default=None,
        min_length=1,
        description="container image (default: the one built by `make image`)",
        examples=["kaggle-bot-sandbox:python3.11"],
    )
    runtime: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z0-9._-]+$",
        description="container runtime, such as `runsc` (gVisor) or `nvidia` (default: runc)",
        examples=["nvidia"],
    )

    @property
    def environments_folder(self) -> Path:
        """Where environments lie."""
        data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
        return (self.environments or data / "kaggle-bot" / "environments").expanduser().absolute()


class LeaseSettings(ClosedModel):
    """The table `[leases]` of bot.toml."""

    gpu_shares: int = Field(default=1, ge=1, le=64, description="maximum number of executions per GPU")


class FleetSettings(ClosedModel):
    """The table `[fleet]` of bot.toml."""

    address: str | None = Field(
        default=None,
        pattern=_ADDRESS,
        description="Ray cluster for scripts: `auto` for the one on this machine, or ray://HOST:10001 (default: none)",
        examples=["auto"],
    )
    cache_gb: float = Field(default=50.0, gt=0, description="size limit of a node's cache of views and weights, in GB")
    disk_gb: float = Field(
        default=20.0, gt=0, description="maximum GB that a script may write on a node, unless [sandbox] sets a limit"
    )
    free_gb: float = Field(default=5.0, ge=0, description="minimum free space on a node's disk, in GB")

    def at(self, address: str | None) -> Self:
        """Return it with another address, if one is given, or without one for `none`; raises UsageError for what is neither."""
        if address is None:
            return self
        if address != NO_FLEET and not re.fullmatch(_ADDRESS, address):
            raise UsageError(f"--fleet {address}: must be `auto`, `none`, or an address such as ray://HOST:10001")
        return self.model_copy(update={"address": None if address == NO_FLEET else address})

"""The table `[watch]` of bot.toml."""

from pydantic import Field

from sandbox.rules import RuleSettings


class WatchSettings(RuleSettings):
    """The section `[watch]` of bot.toml: how running scripts are watched."""

    inspect_interval: float = Field(
        default=300.0,
        ge=0,
        allow_inf_nan=False,
        description="seconds between two looks of the model; 0: it never looks",
    )

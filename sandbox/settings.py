"""The tables `[sandbox]` and `[leases]` of bot.toml, apart from the parts they set, which take long to import."""

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["DockerSettings", "LeaseSettings"]


class DockerSettings(BaseModel):
    """The table `[sandbox]` of bot.toml: which image and which runtime; the owner's choice, never a model's."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    image: str | None = Field(
        default=None,
        min_length=1,
        description="the image that containers are made from; none: the first of our own variants that is there",
        examples=["kaggle-bot-sandbox:cuda"],
    )
    runtime: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z0-9._-]+$",
        description="`runsc` (gVisor), `nvidia` or another that the engine knows; none: its default, runc",
        examples=["nvidia"],
    )


class LeaseSettings(BaseModel):
    """The table `[leases]` of bot.toml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    gpu_shares: int = Field(default=1, ge=1, le=64, description="executions that may share a GPU")

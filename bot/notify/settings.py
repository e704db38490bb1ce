"""The section `[notify]` of bot.toml: where and when the owner is notified."""

import re
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from bot.notify import kinds

DEFAULT_DIGEST = ("leaderboard.rank", "run.best", "submission.scored")


def _name(value: str) -> str:
    if "://" in value or "@" in value:
        # The value is not repeated: it holds the secret that should not have been written down here.
        raise ValueError(
            "an address must not stand in this file, as it holds a token or a password: put it in a variable, a "
            "systemd credential or a file, and write its name here, such as SLACK_URL"
        )
    if not re.fullmatch(r"[A-Z][A-Z0-9_]{0,63}", value):
        raise ValueError("must be the name of a variable or of a systemd credential, such as SLACK_URL")
    return value


def _kind(value: str) -> str:
    if value not in kinds():
        raise ValueError(f"is no kind of notice; the kinds are {', '.join(sorted(kinds()))}")
    return value


class NotifySection(BaseModel):
    """Where and when notices are sent."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    services: tuple[Annotated[str, AfterValidator(_name)], ...] = Field(
        default=(),
        examples=[["SLACK_URL", "MAIL_URL"]],
        description="names of the variables (or systemd credentials) that hold the services' addresses, as Apprise writes them",
    )
    digest: tuple[Annotated[str, AfterValidator(_kind)], ...] = Field(
        default=DEFAULT_DIGEST,
        description="kinds of notices collected into a digest; all others are sent at once",
    )
    digest_hours: tuple[Annotated[int, Field(ge=0, le=23)], ...] = Field(
        default=(8,), min_length=1, description="hours of the day, in UTC, at which there is a digest"
    )

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        if len(set(self.services)) < len(self.services):
            raise ValueError("services: each name may be listed only once")
        return self

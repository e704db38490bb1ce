"""The section `[notify]` of bot.toml: where the owner is told what, when, and how often."""

import re
from datetime import time
from typing import Annotated, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from bot.notify.events import KINDS

__all__ = ["DEFAULT_DIGEST", "NotifySection"]

DEFAULT_DIGEST = ("standing.rank", "standing.best", "submission.scored")


def _name(value: str) -> str:
    if "://" in value or "@" in value:
        # The value is not repeated: it holds the secret that should not have been written down here.
        raise ValueError(
            "an address must not stand in this file, as it holds a token or a password: put it into a variable, a "
            "systemd credential or a file, and write its name here, such as SLACK_URL"
        )
    if not re.fullmatch(r"[A-Z][A-Z0-9_]{0,63}", value):
        raise ValueError("must be the name of a variable or of a systemd credential, such as SLACK_URL")
    return value


def _kind(value: str) -> str:
    if value not in KINDS:
        raise ValueError(f"there is no such kind; kinds are {', '.join(sorted(KINDS))}")
    return value


def _zone(value: str) -> str:
    try:
        ZoneInfo(value)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError("is no time zone that this machine knows, such as Europe/Zurich") from None
    return value


def _hours(value: object) -> object:
    """Read `22:00-07:00`."""
    if not isinstance(value, str):
        return value
    found = re.fullmatch(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)", value)
    if not found:
        raise ValueError("must be two times of day, such as 22:00-07:00")
    begin, end = time(int(found[1]), int(found[2])), time(int(found[3]), int(found[4]))
    if begin == end:
        raise ValueError("must not end when it begins")
    return begin, end


class NotifySection(BaseModel):
    """Where, when and how patiently notices are sent."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    services: tuple[Annotated[str, AfterValidator(_name)], ...] = ()
    """Names of the variables (or systemd credentials) that hold the services' addresses, as Apprise writes them."""
    digest: tuple[Annotated[str, AfterValidator(_kind)], ...] = DEFAULT_DIGEST
    """Kinds that are told together at the digest's hour; all others are told at once."""
    digest_hours: tuple[Annotated[int, Field(ge=0, le=23)], ...] = Field(default=(8,), min_length=1)
    """Hours of the day at which there is a digest."""
    quiet: Annotated[tuple[time, time] | None, BeforeValidator(_hours)] = None
    """Times of day between which only what is urgent is told, such as `22:00-07:00`."""
    time_zone: Annotated[str, AfterValidator(_zone)] = "UTC"
    """The zone of the digest's and the quiet hours."""
    per_hour: int = Field(default=20, ge=1, le=1000)
    """Most messages to one service within any hour; what is over it is told together."""
    first_pause: float = Field(default=30.0, gt=0, allow_inf_nan=False)
    """Seconds after the first failure; doubled with each that follows."""
    longest_pause: float = Field(default=3600.0, gt=0, le=30 * 86_400)
    """Seconds, the longest pause after a failure."""
    seconds: float = Field(default=60.0, gt=0, le=3600)
    """Longest time of one attempt."""

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        if len(set(self.services)) < len(self.services):
            raise ValueError("services: each name may stand there once")
        return self

    @property
    def zone(self) -> ZoneInfo:
        """The time zone."""
        return ZoneInfo(self.time_zone)

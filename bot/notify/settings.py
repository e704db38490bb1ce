"""The section `[notify]` of bot.toml: where, when and how often the owner is notified."""

import re
from datetime import time
from typing import Annotated, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from bot.notify import kinds

DEFAULT_DIGEST = ("leaderboard.rank", "run.best", "submission.scored")


def _name(value: str) -> str:
    if "://" in value or "@" in value:
        # The value is not repeated: it holds the secret that should not have been written down here.
        raise ValueError(
            "addresses contain tokens or passwords and do not belong in this file: store the address in an "
            "environment variable, a systemd credential or a file, and give its name here, such as SLACK_URL"
        )
    if not re.fullmatch(r"[A-Z][A-Z0-9_]{0,63}", value):
        raise ValueError("must be the name of an environment variable or systemd credential, such as SLACK_URL")
    return value


def _kind(value: str) -> str:
    if value not in kinds():
        raise ValueError(f"is not a kind of notification; choose from {', '.join(sorted(kinds()))}")
    return value


def _zone(value: str) -> str:
    try:
        ZoneInfo(value)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError("is not a time zone known on this machine; use a name such as Europe/Zurich") from None
    return value


def _hours(value: str) -> tuple[time, time]:
    """Read `22:00-07:00`."""
    match = re.fullmatch(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)", value)
    if not match:
        raise ValueError("must be two times of day, such as 22:00-07:00")
    begin, end = time(int(match[1]), int(match[2])), time(int(match[3]), int(match[4]))
    if begin == end:
        raise ValueError("must not start and end at the same time")
    return begin, end


def _quiet(value: str) -> str:
    _hours(value)
    return value


class NotifySection(BaseModel):
    """Where, when and how often notices are sent."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    services: tuple[Annotated[str, AfterValidator(_name)], ...] = Field(
        default=(),
        examples=[["SLACK_URL", "MAIL_URL"]],
        description="names of environment variables or systemd credentials with the services' addresses, as Apprise URLs",
    )
    digest: tuple[Annotated[str, AfterValidator(_kind)], ...] = Field(
        default=DEFAULT_DIGEST,
        description="kinds of notifications to collect in a digest; all others are sent at once",
    )
    digest_hours: tuple[Annotated[int, Field(ge=0, le=23)], ...] = Field(
        default=(8,), min_length=1, description="hours of the day at which to send a digest"
    )
    quiet: Annotated[str, AfterValidator(_quiet)] | None = Field(
        default=None,
        examples=["22:00-07:00"],
        description="quiet hours, when only urgent notifications are sent, such as `22:00-07:00`",
    )
    time_zone: Annotated[str, AfterValidator(_zone)] = Field(
        default="UTC", description="time zone for the digest and the quiet hours"
    )
    per_hour: int = Field(
        default=20,
        ge=1,
        le=1000,
        description="maximum number of messages per hour to each service; further notifications share one message",
    )
    first_pause: float = Field(
        default=30.0,
        gt=0,
        allow_inf_nan=False,
        description="wait after the first failure, in seconds; doubled after each further failure",
    )
    longest_pause: float = Field(
        default=3600.0, gt=0, le=30 * 86_400, description="maximum wait after a failure, in seconds"
    )
    seconds: float = Field(default=60.0, gt=0, le=3600, description="time limit for each attempt, in seconds")

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        if len(set(self.services)) < len(self.services):
            raise ValueError("services: each name may be listed only once")
        return self

    @property
    def quiet_hours(self) -> tuple[time, time] | None:
        """When quiet begins and ends, in the time zone."""
        return None if self.quiet is None else _hours(self.quiet)

    @property
    def zone(self) -> ZoneInfo:
        """The time zone."""
        return ZoneInfo(self.time_zone)

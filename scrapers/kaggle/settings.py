"""The table `[kaggle]` of bot.toml: Kaggle's address, and the limits on requests."""

from urllib.parse import urlsplit

from pydantic import Field

from state.closed_model import ClosedModel

KAGGLE = "https://api.kaggle.com/v1"
WEBSITE = "https://www.kaggle.com"


class Pace(ClosedModel):
    """Limits on the rate of requests. Kaggle's own limits are not published, differ by family, and change."""

    per_minute: float = Field(default=4.0, gt=0, description="maximum number of requests per minute in each family")
    burst: int = Field(default=20, ge=1, description="maximum burst of requests per family after a pause")
    per_day: int = Field(default=3_000, ge=1, description="maximum number of requests per UTC day, across all families")
    reserved: float = Field(
        default=0.2, ge=0, lt=1, description="share of per_day reserved for submissions, leaderboards and pages"
    )
    max_concurrent: int = Field(default=2, ge=1, le=8, description="maximum number of concurrent requests")
    min_interval: float = Field(default=1.0, ge=0, description="minimum time between two requests, in seconds")
    initial_cooldown: float = Field(default=30.0, gt=0, description="initial pause for a failing family, in seconds")
    max_cooldown: float = Field(default=1_800.0, gt=0, description="maximum pause for a failing family, in seconds")


class Timeouts(ClosedModel):
    """Timeouts and retries of requests."""

    connect: float = Field(default=10.0, gt=0, description="connection timeout, in seconds")
    read: float = Field(default=30.0, gt=0, description="maximum time without receiving data, in seconds")
    total: float = Field(default=120.0, gt=0, description="time limit for a response except downloads, in seconds")
    attempts: int = Field(default=3, ge=1, le=10, description="maximum number of attempts per request")
    backoff: float = Field(
        default=2.0, gt=0, description="maximum random wait before the second attempt, in seconds; doubled each time"
    )
    max_wait: float = Field(default=60.0, gt=0, description="maximum Retry-After to wait for, in seconds")
    max_response_bytes: int = Field(
        default=80_000_000, gt=0, description="maximum size of a response except downloads, in bytes"
    )


class KaggleSection(ClosedModel):
    """Kaggle's address and the limits on requests; the key is never stored in a settings file."""

    url: str = Field(default=KAGGLE, description="API address (in a rehearsal, the address printed by `bot rehearse`)")
    hosts: tuple[str, ...] = Field(
        default=(), description="additional hosts allowed for downloads and uploads", examples=[["storage.example"]]
    )
    pace: Pace = Field(default=Pace(), description="Rate limits for requests; a family is a group of similar calls.")
    timeouts: Timeouts = Field(default=Timeouts(), description="Timeouts and retries of requests to Kaggle.")

    def page_of(self, competition: str, page: str = "") -> str:
        """Return the address of a competition's page for people: Kaggle's, or in a rehearsal the rehearsal's."""
        address = urlsplit(self.url)
        site = WEBSITE if self.url == KAGGLE else f"{address.scheme}://{address.netloc}"
        return f"{site}/competitions/{competition}{'/' if page else ''}{page}"

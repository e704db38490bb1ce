"""The table `[kaggle]` of bot.toml: Kaggle's address, and the limits on requests."""

from urllib.parse import urlsplit

from pydantic import Field

from state.closed import ClosedModel

KAGGLE = "https://api.kaggle.com/v1"
WEBSITE = "https://www.kaggle.com"


class Pace(ClosedModel):
    """Limits on the rate of requests. Kaggle's own limits are not published, differ by family, and change."""

    per_minute: float = Field(default=4.0, gt=0, description="requests of one family in the long run")
    burst: int = Field(default=20, ge=1, description="requests of one family that may come at once after a pause")
    per_day: int = Field(default=3_000, ge=1, description="requests in a UTC day, over all families and restarts")
    reserved: float = Field(
        default=0.2,
        ge=0,
        lt=1,
        description="share of them that reading what others wrote leaves for submissions, boards and pages",
    )
    at_once: int = Field(default=2, ge=1, le=8, description="requests under way at a time")
    apart: float = Field(default=1.0, ge=0, description="seconds between the beginnings of two requests")
    first_rest: float = Field(default=30.0, gt=0, description="seconds for which a family is left in peace that failed")
    longest_rest: float = Field(default=1_800.0, gt=0, description="seconds of the longest such rest")


class Patience(ClosedModel):
    """How long an answer may take, in seconds, and how often a question is put again."""

    connect: float = Field(default=10.0, gt=0, description="longest time to connect")
    silence: float = Field(default=30.0, gt=0, description="longest time without a byte")
    whole: float = Field(default=120.0, gt=0, description="longest time of a whole answer, downloads aside")
    attempts: int = Field(default=3, ge=1, le=10, description="times that one question is put")
    backoff: float = Field(default=2.0, gt=0, description="before the second time, at most; it doubles, and is random")
    longest_wait: float = Field(default=60.0, gt=0, description="a longer wait is left to the next call")
    largest: int = Field(default=80_000_000, gt=0, description="bytes of an answer, downloads aside")


class KaggleSection(ClosedModel):
    """Kaggle's address, and the limits on requests; the key is never in a settings file."""

    url: str = Field(default=KAGGLE, description="address of the interface; that of `bot rehearse` for a rehearsal")
    hosts: tuple[str, ...] = Field(
        default=(),
        description="hosts that the site may name for downloads and uploads, besides its own and Kaggle's storage",
        examples=[["storage.example"]],
    )
    pace: Pace = Field(default=Pace(), description="How often Kaggle is asked.")
    patience: Patience = Field(
        default=Patience(),
        description="How long an answer may take, in seconds, and how often a question is put again.",
    )

    def page_of(self, competition: str, page: str = "") -> str:
        """Return the address of a competition's page for people: Kaggle's, or in a rehearsal the rehearsal's."""
        address = urlsplit(self.url)
        site = WEBSITE if self.url == KAGGLE else f"{address.scheme}://{address.netloc}"
        return f"{site}/competitions/{competition}{'/' if page else ''}{page}"

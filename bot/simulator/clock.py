"""The clock of a rehearsal, read from the stand-in site itself, so that both have exactly the same time."""

from urllib.parse import urlsplit

import httpx2
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from scrapers.http.addresses import is_loopback
from state.clock import FastClock
from state.errors import SiteUnavailable, UsageError


class _SiteClock(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    start: AwareDatetime
    speed: float = Field(gt=0, allow_inf_nan=False)
    began: float = Field(allow_inf_nan=False)


async def site_clock(http: httpx2.AsyncClient, url: str) -> FastClock:
    """Ask a stand-in site for its clock. Kaggle has none to ask for, and is never asked.

    Raises UsageError: the address is not on this machine; SiteUnavailable: nobody answers there, or the answer holds no clock.
    """
    try:
        parts = urlsplit(url)
        is_local = parts.scheme in ("http", "https") and parts.port != 0 and is_loopback(parts.hostname or "")
    except ValueError:
        is_local = False
    if not is_local:
        raise UsageError(f"a rehearsal requires a simulated Kaggle on this machine, but [kaggle] url is {url}")
    address = f"{parts.scheme}://{parts.netloc}/clock"
    try:
        answer = await http.get(address, follow_redirects=False)
    except httpx2.HTTPError as error:
        reason = str(error) or type(error).__name__
        raise SiteUnavailable(f"no simulated Kaggle at {address}: {reason}; start `bot rehearse`") from error
    if answer.status_code != 200:
        raise SiteUnavailable(f"{address} returned status {answer.status_code}; is `bot rehearse` running there?")
    try:
        site_clock_now = _SiteClock.model_validate_json(answer.content)
    except ValidationError as error:
        raise SiteUnavailable(f"{address} returned an invalid clock time: {error.errors()[0]['msg']}") from error
    return FastClock(site_clock_now.start, site_clock_now.speed, site_clock_now.began)

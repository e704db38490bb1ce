"""Reading an answer of Kaggle's: JSON, the address of a download in one of two ways, or a small file; or an error."""

from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx2

from scrapers.http.responses import read_json, receive, retry_after
from scrapers.kaggle.failures import code_and_words, failure
from state.errors import BotError, SiteUnavailable

_REFUSED = 400
"""Status of a refusal that came with another."""


@dataclass(frozen=True)
class Answered:
    """An answer: decoded JSON, an address, or bytes."""

    content: Any
    served_at: datetime
    location: str = ""
    raw: bytes = b""


@dataclass(frozen=True)
class ResponseReader:
    """How an answer is read and judged."""

    method: str
    subject: str
    largest: int
    redirect: bool = False
    raw: bool = False
    says_why: bool = False
    """Whether an error without a code is a refusal; else it is no answer, whatever it may say."""

    async def read(self, response: httpx2.Response, now: datetime) -> Answered:
        """Read a response; raises what `KaggleClient` does, and httpx2's errors if the connection breaks."""
        served = _date(response.headers.get("Date"), now)
        if response.next_request is not None and (self.redirect or self.raw):
            return Answered(None, served, str(response.next_request.url))
        data = await receive(response, self.largest)
        text = "" if self.raw and response.is_success else data.decode("utf-8", errors="replace")
        if not response.is_success:
            raise self._failure(response.status_code, text, retry_after(response.headers.get("Retry-After"), served))
        if self.raw and data.lstrip()[:1] != b"{":
            return Answered(None, served, raw=data)
        content = self._decoded(data.decode("utf-8", errors="replace"))
        address = content.get("url") if isinstance(content, dict) and (self.redirect or self.raw) else None
        return Answered(content, served, address if isinstance(address, str) else "")

    def _decoded(self, text: str) -> Any:
        try:
            content = read_json(text or "{}")
        except ValueError:
            raise SiteUnavailable(
                f"Kaggle answered {self.method} with {code_and_words(text)[1][:120]!r}, no data"
            ) from None
        code = code_and_words(text)[0] if isinstance(content, dict) and ({"code", "error"} & content.keys()) else None
        if code is not None and code >= 400:
            raise self._failure(code, text, None)
        if isinstance(content, dict) and content.get("error"):
            has_reason = self.says_why and isinstance(content["error"], str)
            raise self._failure(_REFUSED if has_reason else 200, text, None)
        return content

    def _failure(self, status: int, text: str, wait: float | None) -> BotError:
        return failure(status, text, method=self.method, subject=self.subject, wait=wait)


def _date(value: str | None, now: datetime) -> datetime:
    try:
        return parsedate_to_datetime(value or "").astimezone(UTC)
    except (ValueError, OverflowError):  # a year that there is not
        return now

"""The client of Kaggle's official interface: one careful way to call any method."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx2
from pydantic import ValidationError
from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception_type,
    stop_after_attempt,
    wait_random_exponential,
)

from scrapers.http.addresses import is_loopback, kaggle_addresses, open_download
from scrapers.http.responses import CODING, read_json, receive, retry_after
from scrapers.http.upload import Upload
from scrapers.kaggle.credentials import Credentials, find_credentials
from scrapers.kaggle.failures import code_and_words, failure
from scrapers.kaggle.pacing import Meter, Pacing
from scrapers.kaggle.settings import KaggleSection, Timeouts
from scrapers.kaggle.wire import ApiResponse, Int, Text, first_fault
from state.clock import Clock
from state.errors import (
    BotError,
    KaggleError,
    NotAuthenticated,
    RateLimited,
    SiteUnavailable,
    UnknownAnswer,
    UsageError,
)

_REFUSED = 400
"""Status of a refusal that came with another."""


@dataclass(frozen=True)
class ApiAnswer:
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
    gives_reason: bool = False
    """Whether an error without a code is a refusal; else it is no answer, whatever it may say."""

    async def read(self, response: httpx2.Response, now: datetime) -> ApiAnswer:
        """Read a response; raises what `KaggleClient` does, and httpx2's errors if the connection breaks."""
        served = _date(response.headers.get("Date"), now)
        if response.next_request is not None and (self.redirect or self.raw):
            return ApiAnswer(None, served, str(response.next_request.url))
        data = await receive(response, self.largest)
        text = "" if self.raw and response.is_success else data.decode("utf-8", errors="replace")
        if not response.is_success:
            raise self._failure(response.status_code, text, retry_after(response.headers.get("Retry-After"), served))
        if self.raw and data.lstrip()[:1] != b"{":
            return ApiAnswer(None, served, raw=data)
        content = self._decoded(data.decode("utf-8", errors="replace"))
        address = content.get("url") if isinstance(content, dict) and (self.redirect or self.raw) else None
        return ApiAnswer(content, served, address if isinstance(address, str) else "")

    def _decoded(self, text: str) -> Any:
        try:
            content = read_json(text or "{}")
        except ValueError:
            raise SiteUnavailable(
                f"Kaggle answered {self.method} with {code_and_words(text)[1][:120]!r} instead of JSON"
            ) from None
        code = code_and_words(text)[0] if isinstance(content, dict) and ({"code", "error"} & content.keys()) else None
        if code is not None and code >= 400:
            raise self._failure(code, text, None)
        if isinstance(content, dict) and content.get("error"):
            has_reason = self.gives_reason and isinstance(content["error"], str)
            raise self._failure(_REFUSED if has_reason else 200, text, None)
        return content

    def _failure(self, status: int, text: str, wait: float | None) -> BotError:
        return failure(status, text, method=self.method, subject=self.subject, wait=wait)


def _date(value: str | None, now: datetime) -> datetime:
    try:
        return parsedate_to_datetime(value or "").astimezone(UTC)
    except (ValueError, OverflowError):  # a year that there is not
        return now


_AGENT = "kaggle-bot/0.1 (open-source client of the official API; single account)"
_LOGIN = "everything"
"""The family whose breaker opens when the token is unknown: then no request is made."""

AnswerT = TypeVar("AnswerT", bound=ApiResponse)


@dataclass(frozen=True)
class Method:
    """A method of one of Kaggle's services."""

    service: str
    """The service with its package, such as `competitions.CompetitionApiService`."""
    name: str
    family: str
    """Calls that Kaggle limits together, as far as is known."""
    reads: bool = True
    """Whether it changes nothing, and so may be repeated."""
    open: bool = False
    """Whether it is called without the key."""
    gives_reason: bool = False
    """Whether it refuses by the answer's field `error` under status 200; of others, such an answer is no reliable one."""


_RENEWAL = Method("users.AccountService", "GenerateAccessToken", "account", open=True)
_LIFE = 43_200
"""Seconds for which a renewed token is good, as those of `kaggle auth login` are."""


def open_http(timeouts: Timeouts) -> httpx2.AsyncClient:
    """Return connections to Kaggle, through the proxies that the environment names."""
    timeout = httpx2.Timeout(timeouts.read, connect=timeouts.connect)
    return httpx2.AsyncClient(timeout=timeout, headers={"User-Agent": _AGENT}, follow_redirects=False)


class KaggleClient:
    """Calls Kaggle; every method may be called from many tasks.

    All calls may raise:

    - SiteUnavailable: no reliable answer. Calls that only read were tried several times; anything else once, and it may
      have been done. RateLimited: nothing was done; it holds the time to try again.
    - NotAuthenticated, Forbidden, NotFound, another KaggleError, QuotaReached, SubmissionRefused: Kaggle refuses.
    - UnknownAnswer: an answer that breaks the interface.
    """

    def __init__(
        self,
        http: httpx2.AsyncClient,
        credentials: Callable[[], Credentials],
        clock: Clock,
        meter: Meter,
        section: KaggleSection,
    ) -> None:
        """Prepare the client; no request is made yet.

        `http` is closed by its opener. `credentials` finds the key, and finds it again after Kaggle rejected it. Raises
        UsageError if the key would be sent unencrypted.
        """
        parts = urlsplit(section.url)
        if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
            raise UsageError(f"{section.url} does not use https; the bot never sends a key unencrypted.")
        self._http = http
        self._find_credentials = credentials
        self._credentials: Credentials | None = None
        self._refusal: str | None = None
        """What Kaggle answered to the key when it last refused it; None: it has not, or takes it again."""
        self.clock = clock
        self.url = section.url.rstrip("/")
        self._check = kaggle_addresses(section.url, section.hosts)
        self._timeouts = section.timeouts
        self._pacing = Pacing(section.pace, clock, meter)

    async def call(
        self, method: Method, body: Mapping[str, Any], answer: type[AnswerT], *, subject: str = ""
    ) -> AnswerT:
        """Call a method and read its answer.

        The body has camelCase fields; those that are None are left out. Errors name the subject.
        """
        response = await self._request(method, body, subject)
        try:
            return answer.read(response.content, response.served_at)  # type: ignore[return-value]
        except ValidationError as error:
            raise UnknownAnswer(f"cannot read Kaggle's answer to {method.name}: {first_fault(error)}") from None

    async def location(self, method: Method, body: Mapping[str, Any], *, subject: str = "") -> str:
        """Call a method that answers with the address of a download."""
        answer = await self._request(method, body, subject, redirect=True)
        if not answer.location:
            raise UnknownAnswer(f"Kaggle's answer to {method.name} contains no URL")
        return answer.location

    async def content(self, method: Method, body: Mapping[str, Any], *, subject: str = "") -> tuple[bytes, datetime]:
        """Call a method that answers with a small file, or with its address; return its bytes, and the server's time."""
        answer = await self._request(method, body, subject, raw=True)
        if not answer.location:
            return answer.raw, answer.served_at
        try:
            async with asyncio.timeout(self._timeouts.total), self.stream(answer.location) as response:
                if not response.is_success:
                    raise SiteUnavailable(f"the download of {method.name} returned status {response.status_code}")
                return await receive(response, self._timeouts.max_response_bytes), answer.served_at
        except TimeoutError:
            raise SiteUnavailable(f"the download of {method.name} timed out") from None

    @asynccontextmanager
    async def stream(self, url: str, headers: Mapping[str, str] | None = None) -> AsyncIterator[httpx2.Response]:
        """Open a download at an address of the site's storage, without our key.

        Raises:
            SiteUnavailable: it cannot be reached.
            UnknownAnswer: it is not an address of the site's, or redirects elsewhere.
        """
        try:
            async with open_download(self._http, url, headers or {}, self._check) as response:
                yield response
        except httpx2.HTTPError as error:
            raise SiteUnavailable(f"the download was interrupted: {_words(error)}") from error

    async def upload(self, url: str, file: Path) -> None:
        """Upload a file to an address that Kaggle gave, without our key; see `Upload.run`."""
        try:
            await self._check(httpx2.URL(url))
        except httpx2.InvalidURL as error:
            raise UnknownAnswer(f"invalid URL {url[:200]!r}: {error}") from error
        await Upload(self._http, url, file, self._timeouts.total, self.clock.sleep).run()

    async def _request(
        self, method: Method, body: Mapping[str, Any], subject: str, *, redirect: bool = False, raw: bool = False
    ) -> ApiAnswer:
        reader = ResponseReader(
            method.name, subject, self._timeouts.max_response_bytes, redirect, raw, method.gives_reason
        )
        if self._refusal is not None and not self._pacing.breaker(_LOGIN).admits():
            raise NotAuthenticated(self._refusal)  # the reason for the rest, which callers act on
        for family in (_LOGIN, method.family):
            self._pacing.ensure_admitted(family)
        with self._pacing.breaker(method.family).call() as number, self._pacing.breaker(_LOGIN).call() as login:
            try:
                response = await self._retry(method, body, reader)
            except NotAuthenticated as error:
                self._credentials = None  # its owner may have replaced it
                self._refusal = str(error)
                self._pacing.breaker(_LOGIN).fail(login, lasting=True)
                raise
            except SiteUnavailable as error:
                wait = error.wait if isinstance(error, RateLimited) else 0.0
                self._pacing.breaker(method.family).fail(number, at_least=wait)
                raise
            except BotError:
                self._succeed(method)  # an answer all the same
                raise
            self._succeed(method)
            return response

    def _succeed(self, method: Method) -> None:
        self._refusal = None
        self._pacing.breaker(method.family).succeed()
        self._pacing.breaker(_LOGIN).succeed()

    async def _retry(self, method: Method, body: Mapping[str, Any], reader: ResponseReader) -> ApiAnswer:
        if not method.reads:
            return await self._once(method, body, reader)
        timeouts, backoff = self._timeouts, wait_random_exponential(multiplier=self._timeouts.backoff)
        is_last = stop_after_attempt(timeouts.attempts)
        attempts = AsyncRetrying(
            sleep=self.clock.sleep,
            stop=lambda state: is_last(state) or _requested_wait(state) > timeouts.max_wait,
            wait=lambda state: max(_requested_wait(state), backoff(state)),
            retry=retry_if_exception_type(SiteUnavailable),
            reraise=True,
        )
        response: ApiAnswer = await attempts(self._once, method, body, reader)
        return response

    async def _once(self, method: Method, body: Mapping[str, Any], reader: ResponseReader) -> ApiAnswer:
        credentials = await self.key(renewed=not method.open)
        headers = {"Content-Type": "application/json", "Accept-Encoding": CODING}
        if not method.open:
            headers["Authorization"] = credentials.authorization
        content = json.dumps({name: value for name, value in body.items() if value is not None})
        url = f"{self.url}/{method.service}/{method.name}"
        async with self._pacing.request(method.family):
            try:
                async with (
                    asyncio.timeout(self._timeouts.total),
                    self._http.stream("POST", url, content=content, headers=headers) as response,
                ):
                    return await reader.read(response, self.clock.now())
            except TimeoutError:
                raise SiteUnavailable(f"Kaggle did not answer {method.name} in time") from None
            except httpx2.HTTPError as error:
                words = credentials.hide(_words(error))
                raise SiteUnavailable(f"the request {method.name} to Kaggle failed: {words}") from error

    async def key(self, *, renewed: bool = True) -> Credentials:
        """Return the key, found again after it was rejected, and renewed if it is one of `kaggle auth login` that expires."""
        credentials = self._credentials = self._credentials or self._find_credentials()
        if not renewed or not credentials.is_expiring(self.clock.now()):
            return credentials
        body = {"refreshToken": credentials.refresh, "apiVersion": "API_VERSION_V1", "expirationDuration": f"{_LIFE}s"}
        try:
            response = await self._once(
                _RENEWAL, body, ResponseReader(_RENEWAL.name, "", self._timeouts.max_response_bytes)
            )
            new = _Renewed.model_validate(response.content)
            credentials = self._credentials = credentials.renewed(new.token, self.clock.now(), new.expires_in)
        except (KaggleError, ValidationError, UsageError) as error:
            self._credentials = None
            reason = credentials.hide(str(error))
            raise NotAuthenticated(
                f"cannot renew the token in {credentials.source}: {reason}; run `kaggle auth login` again"
            ) from None
        return credentials


class _Renewed(ApiResponse):
    token: Text = ""
    expires_in: Int = 0


def _requested_wait(state: RetryCallState) -> float:
    """Return how long Kaggle asks to wait, which is often too short."""
    error = state.outcome.exception() if state.outcome else None
    return error.wait if isinstance(error, RateLimited) else 0.0


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__


@asynccontextmanager
async def open_client(
    section: KaggleSection, clock: Clock, meter: Meter, credentials: Callable[[], Credentials] = find_credentials
) -> AsyncIterator[KaggleClient]:
    """Open a client; nothing is asked yet. Raises UsageError where the key would travel in the clear."""
    async with open_http(section.timeouts) as http:
        yield KaggleClient(http, credentials, clock, meter, section)

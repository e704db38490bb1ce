"""Submits and notifies over HTTP to the scripted site, as a real one would: each request once, errors by class."""

import ssl
from pathlib import Path
from typing import Any

import httpx2

from bot.submission import Quota
from state.errors import NotificationFailed, QuotaReached, SiteUnavailable, SubmissionRefused
from state.tables import Letter


def plain_client() -> httpx2.AsyncClient:
    """Return a client for a site on loopback; reading the machine's certificates takes longer than a whole test."""
    return httpx2.AsyncClient(trust_env=False, verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))


class SiteSubmitter:
    """A submitter for `ScriptedSite`; a silent site is given up after `seconds`."""

    def __init__(self, client: httpx2.AsyncClient, url: str, *, seconds: float = 10.0) -> None:
        self._client = client
        self._url = url
        self._seconds = seconds

    async def quota(self) -> Quota:
        return Quota((await self._ask("GET", "quota"))["remaining"])

    async def submit(self, file: Path, tag: str) -> str:
        return str((await self._ask("POST", "act", tag, file.read_bytes()))["ref"])

    async def find(self, tag: str) -> str | None:
        found: str | None = (await self._ask("GET", "find", tag))["ref"]
        return found

    async def score(self, ref: str) -> float | None:
        found: float | str | None = (await self._ask("GET", "score", ref))["score"]
        if isinstance(found, str):
            raise SubmissionRefused(found)
        return found

    async def _ask(self, method: str, what: str, tag: str = "", content: bytes = b"") -> dict[str, Any]:
        try:
            answer = await self._client.request(
                method, f"{self._url}/{what}", params={"tag": tag}, content=content, timeout=self._seconds
            )
        except httpx2.TransportError as error:
            raise SiteUnavailable(f"no answer from the site: {type(error).__name__}") from error
        words = str(answer.json().get("message"))
        if answer.status_code == 429:
            raise QuotaReached(words)
        if answer.status_code >= 500:
            raise SiteUnavailable(f"the site answered {answer.status_code}: {words}")
        if answer.status_code >= 400:
            raise SubmissionRefused(words)
        found: dict[str, Any] = answer.json()
        return found


class SiteNotifier:
    """Sends letters to `ScriptedSite`, which keeps them by their keys."""

    def __init__(self, client: httpx2.AsyncClient, url: str, *, seconds: float = 10.0) -> None:
        self._site = SiteSubmitter(client, url, seconds=seconds)

    async def send(self, letter: Letter) -> None:
        try:
            await self._site._ask("POST", "act", letter.key, f"{letter.title}\n{letter.body}".encode())
        except (SiteUnavailable, SubmissionRefused, QuotaReached) as error:
            raise NotificationFailed(str(error)) from error

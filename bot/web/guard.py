"""Access to the page: who may ask, from which address, how long and how much; nothing behind it needs to check.

Everything needs the token. It comes once in the address, and is then kept in a cookie that no other site's request carries and
no script can read. A site that makes a browser believe its name is this machine's (DNS rebinding) fails at the Host header; a
form from another site fails at the Origin header and at the form's own secret, which no other site can read.
"""

import asyncio
import hashlib
import hmac
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bot.web.rendering import document, page

LONGEST_BODY = 20_000
"""Bytes of a form; a note has at most 4,000 characters."""
PATIENCE = 10.0
"""Seconds that a client may take to send a form, or to receive what it was sent."""
_COOKIE_DAYS = 90
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    # Under "no-referrer" browsers send forms without their origin, by which the guard knows them.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Of every answer that does not set its own."""


@dataclass(frozen=True)
class Keys:
    """What follows from the token."""

    token: str
    port: int

    @property
    def cookie(self) -> str:
        """The cookie's name: cookies are shared by all ports of a machine, so that two pages must not share one."""
        return f"bot-{self.port}"

    @property
    def session(self) -> str:
        """The cookie's value."""
        return self._derived("session")

    @property
    def csrf(self) -> str:
        """What each form sends along."""
        return self._derived("form")

    def _derived(self, purpose: str) -> str:
        return hmac.new(self.token.encode(), purpose.encode(), hashlib.sha256).hexdigest()


def is_same(given_token: str, expected: str) -> bool:
    """Return whether two secrets are the same, in a time that does not depend on where they differ."""
    return secrets.compare_digest(given_token.encode(errors="replace"), expected.encode())


class Guard:
    """Refuses what may not pass, and adds the headers that tell a browser what a page may do."""

    def __init__(self, inner: ASGIApp, keys: Keys, hosts: frozenset[str]) -> None:
        """Take the application, and the values of the Host header that are this page's, with their ports."""
        self._inner, self._keys, self._hosts = inner, keys, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] != "http":
            return
        request = Request(scope)
        answer = self._refusal(request)
        if answer is None and request.url.path == "/token":
            answer = ask_for_token(200)
            if request.method == "POST":
                form = await read_form(Request(scope, receive))
                answer = refuse(413, "The form is too large.") if form is None else self._welcome(form.get("token", ""))
        if answer is None and "token" in request.query_params:
            answer = self._welcome(request.query_params["token"], request.url.path)
        if answer is None and not is_same(request.cookies.get(self._keys.cookie, ""), self._keys.session):
            answer = ask_for_token(401)
        # The connection of a client that receives nothing is closed.
        with suppress(TimeoutError):
            await (answer or self._inner)(scope, receive, _guarded(send))

    def _refusal(self, request: Request) -> Response | None:
        """Return why a request is refused whoever sends it; None: it is not."""
        if request.headers.get("host", "").lower() not in self._hosts or len(request.headers.getlist("host")) != 1:
            return refuse(421, "Unknown host. Add it to `hosts` under [web] in bot.toml.")
        if request.method not in ("GET", "HEAD", "POST"):
            return refuse(405, "Method not allowed: the page accepts GET requests and its own forms.")
        origin = request.headers.get("origin")
        if request.method == "POST" and (origin is None or urlsplit(origin).netloc.lower() not in self._hosts):
            return refuse(403, "This form was sent from another site, or without an Origin header.")
        if request.method == "POST" and request.headers.get("sec-fetch-site", "same-origin") != "same-origin":
            return refuse(403, "This form was sent from another site.")
        return None

    def _welcome(self, given_token: str, path: str = "/") -> Response:
        """Return a redirect to a page, without the token in the address; or ask for the token again."""
        if not is_same(given_token, self._keys.token):
            return ask_for_token(401, wrong=True)
        answer = RedirectResponse("/" + path.lstrip("/\\"), status_code=303)  # two would begin another site's name
        answer.set_cookie(
            self._keys.cookie, self._keys.session, max_age=_COOKIE_DAYS * 86_400, httponly=True, samesite="strict"
        )
        return answer


def ask_for_token(status: int, *, wrong: bool = False) -> Response:
    """Return the page that asks for the token."""
    return html(document(page("Token", ("token",), {"wrong": wrong})), status)


def refuse(status: int, text: str, back: str | None = None) -> Response:
    """Return a page that says why something is not done."""
    return html(document(page("Not done", ("message",), {"text": text, "back": back})), status)


def html(text: str, status: int = 200) -> Response:
    """Return a page as an answer."""
    return Response(text.encode(errors="replace"), status, media_type="text/html; charset=utf-8")


async def read_form(request: Request) -> dict[str, str] | None:
    """Return the fields of a form; None: it is too long, too slow, or not a form."""
    body = bytearray()
    try:
        async with asyncio.timeout(PATIENCE):
            async for chunk in request.stream():
                body += chunk
                if len(body) > LONGEST_BODY:
                    return None
    except TimeoutError:
        return None
    if request.headers.get("content-type", "").partition(";")[0] != "application/x-www-form-urlencoded":
        return None
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=20))
    except ValueError:
        return None


def _guarded(send: Send) -> Send:
    """Add the headers, and give up a client that does not receive what it is sent."""

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        async with asyncio.timeout(PATIENCE):
            await send(message)

    return send_with_headers

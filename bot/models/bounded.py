"""An HTTP client for strangers' endpoints: answers have a bounded size, and a prompt is sent on to no host that was not named."""

import json
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from openai import DefaultAsyncHttpxClient

from scrapers.http.receiving import CODING, receive

if TYPE_CHECKING:
    from httpx2 import Request, Response

MOST_BYTES = 16 * 1024 * 1024
"""Of a body when it is unpacked; the longest answers of today's models are a few hundred kilobytes."""
MOST_OF_ERROR = 256 * 1024
"""Bytes of an error's body, which the openai package decodes on the loop."""

_MOST_REDIRECTS = 3
_SENT_ON = (307, 308)
"""Those that repeat the request as it is; others would make a GET without the prompt of it."""
_OF_THE_WIRE = frozenset({"content-encoding", "content-length", "content-type", "transfer-encoding"})


class BoundedClient(DefaultAsyncHttpxClient):
    """The openai package's own client, which follows the environment's proxies; it reads every body itself."""

    def __init__(self, hosts: Collection[str] = ()) -> None:
        """Open it.

        Args:
            hosts: to which a request may be redirected, besides the one that it was sent to.
        """
        super().__init__(follow_redirects=False, headers={"Accept-Encoding": CODING})
        self._hosts = frozenset(host.lower() for host in hosts)

    async def send(self, request: "Request", *, stream: bool = False, **options: Any) -> "Response":
        """Return the whole answer, unpacked and taken for UTF-8; of a redirect that is not followed, an error that says so.

        Raises:
            DecodingError: the body is in another coding than was asked for, or longer than `MOST_BYTES`; that of an error
                than `MOST_OF_ERROR`.
            What the client raises where there is no connection, or one that breaks.
        """
        for left in reversed(range(_MOST_REDIRECTS + 1)):
            response = await super().send(request, stream=True, **options)
            try:
                onward = response.next_request
                if onward is not None and left and self._may_go_on(response, request, onward):
                    request = onward
                    continue
                most = MOST_BYTES if response.is_success else MOST_OF_ERROR
                content = _refusal(onward) if onward is not None else await receive(response, most)
            finally:
                await response.aclose()
            break
        headers = [(name, value) for name, value in response.headers.items() if name.lower() not in _OF_THE_WIRE]
        return type(response)(response.status_code, headers=headers, content=content, request=request)

    def _may_go_on(self, response: "Response", request: "Request", onward: "Request") -> bool:
        known = onward.url.host in self._hosts or onward.url.host == request.url.host
        # A port that there is not breaks the connection with an error that nobody expects.
        safe = (onward.url.scheme == "https" or request.url.scheme == "http") and (onward.url.port or 1) < 1 << 16
        return response.status_code in _SENT_ON and known and safe


def _refusal(onward: "Request") -> bytes:
    where = f"{onward.url.scheme}://{onward.url.netloc.decode('ascii', 'replace')}"
    words = (
        f"it redirects to {where[:200]}, where no prompt is sent: only the host that was asked, by 307 or 308, and those of "
        "`redirects_to` under [models] in bot.toml are followed"
    )
    return json.dumps({"error": {"message": words}}).encode()

"""An HTTP client for foreign endpoints: it bounds the size of answers, and sends no prompt after a redirect."""

import json
from typing import TYPE_CHECKING, Any

from openai import DefaultAsyncHttpxClient

from bot.models.failures import MOST_BYTES, MOST_OF_ERROR, redirected
from scrapers.http.responses import CODING, receive

if TYPE_CHECKING:
    from httpx2 import Request, Response

_TRANSPORT_HEADERS = frozenset({"content-encoding", "content-length", "content-type", "transfer-encoding"})


class BoundedClient(DefaultAsyncHttpxClient):
    """The openai package's own client, which follows the environment's proxies; it reads every body itself."""

    def __init__(self) -> None:
        super().__init__(follow_redirects=False, headers={"Accept-Encoding": CODING})

    async def send(self, request: "Request", *, stream: bool = False, **options: Any) -> "Response":
        """Return the whole answer, unpacked; in place of a redirect, an error that names its target.

        Raises:
            DecodingError: the body has a content coding that was not accepted, or is longer than `MOST_BYTES`
                (`MOST_OF_ERROR` for an error).
            TransportError: there is no connection, or it broke.
        """
        response = await super().send(request, stream=True, **options)
        try:
            onward = response.next_request
            most = MOST_BYTES if response.is_success else MOST_OF_ERROR
            content = await receive(response, most) if onward is None else _refusal(onward)
        finally:
            await response.aclose()
        headers = [(name, value) for name, value in response.headers.items() if name.lower() not in _TRANSPORT_HEADERS]
        return type(response)(response.status_code, headers=headers, content=content, request=request)


def _refusal(onward: "Request") -> bytes:
    where = f"{onward.url.scheme}://{onward.url.netloc.decode('ascii', 'replace')}"
    return json.dumps(redirected(where)).encode()

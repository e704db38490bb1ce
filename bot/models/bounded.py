"""An HTTP client for strangers' endpoints: answers have a bounded size, and no redirect takes a prompt elsewhere."""

import json
from typing import TYPE_CHECKING, Any

from openai import DefaultAsyncHttpxClient

from scrapers.http.responses import CODING, receive

if TYPE_CHECKING:
    from httpx2 import Request, Response

MOST_BYTES = 16 * 1024 * 1024
"""Of a body when it is unpacked; the longest answers of today's models are a few hundred kilobytes."""
MOST_OF_ERROR = 256 * 1024
"""Bytes of an error's body, which the openai package decodes on the loop."""

_OF_THE_WIRE = frozenset({"content-encoding", "content-length", "content-type", "transfer-encoding"})


class BoundedClient(DefaultAsyncHttpxClient):
    """The openai package's own client, which follows the environment's proxies; it reads every body itself."""

    def __init__(self) -> None:
        super().__init__(follow_redirects=False, headers={"Accept-Encoding": CODING})

    async def send(self, request: "Request", *, stream: bool = False, **options: Any) -> "Response":
        """Return the whole answer, unpacked and taken for UTF-8; of a redirect, an error that says where to.

        Raises:
            DecodingError: the body is in another coding than was asked for, or longer than `MOST_BYTES`; that of an error
                than `MOST_OF_ERROR`.
            What the client raises where there is no connection, or one that breaks.
        """
        response = await super().send(request, stream=True, **options)
        try:
            onward = response.next_request
            most = MOST_BYTES if response.is_success else MOST_OF_ERROR
            content = await receive(response, most) if onward is None else _refusal(onward)
        finally:
            await response.aclose()
        headers = [(name, value) for name, value in response.headers.items() if name.lower() not in _OF_THE_WIRE]
        return type(response)(response.status_code, headers=headers, content=content, request=request)


def _refusal(onward: "Request") -> bytes:
    where = f"{onward.url.scheme}://{onward.url.netloc.decode('ascii', 'replace')}"
    words = (
        f"it redirects to {where[:200]}, where no prompt is sent: redirects are not followed, so name the address itself as "
        "base_url"
    )
    return json.dumps({"error": {"message": words}}).encode()

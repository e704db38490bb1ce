"""An HTTP client whose answers have a bounded size: an endless body must not fill the memory until its time is up."""

from typing import TYPE_CHECKING, Any

from openai import APIConnectionError, DefaultAsyncHttpxClient

if TYPE_CHECKING:
    from httpx2 import Request, Response

MOST_BYTES = 16 * 1024 * 1024
"""Of a body when it is unpacked; the longest answers of today's models are a few hundred kilobytes."""

_OF_THE_WIRE = frozenset({"content-encoding", "content-length", "content-type", "transfer-encoding"})


class BoundedClient(DefaultAsyncHttpxClient):
    """The openai package's own client, which follows the environment's proxies; it reads every body itself."""

    async def send(self, request: "Request", *, stream: bool = False, **options: Any) -> "Response":
        """Return the whole answer, unpacked and taken for UTF-8.

        Raises:
            APIConnectionError: the body is longer than `MOST_BYTES`.
            What the client raises where there is no connection, or one that breaks.
        """
        response = await super().send(request, stream=True, **options)
        parts, length = [], 0
        try:
            async for part in response.aiter_bytes():
                length += len(part)
                if length > MOST_BYTES:
                    raise APIConnectionError(message=f"its body is over {MOST_BYTES} bytes", request=request)
                parts.append(part)
        finally:
            await response.aclose()
        headers = [(name, value) for name, value in response.headers.items() if name.lower() not in _OF_THE_WIRE]
        return type(response)(response.status_code, headers=headers, content=b"".join(parts), request=request)

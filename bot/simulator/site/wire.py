"""The wire format: requests read with care, answers written as Kaggle writes them, refusals in both shapes."""

import base64
import binascii
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, TypeVar

ItemT = TypeVar("ItemT")
Json = dict[str, Any]

_CODES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}
_OPTIONAL = frozenset(
    ("publicScore", "privateScore", "isPrivate", "enableGpu", "enableTpu", "enableInternet", "isPublished", "tier")
)
"""Fields that are sent even with a default value, as a client must distinguish that from their absence."""


class ApiError(Exception):
    """A request that the site answers with an error status."""

    def __init__(self, status: int, message: str, code: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code or _CODES.get(status, "UNKNOWN")


def precondition(message: str) -> ApiError:
    """Return Kaggle's 400 for a valid request that is not allowed now."""
    return ApiError(400, message, "FAILED_PRECONDITION")


def denied(permission: str) -> ApiError:
    """Return Kaggle's 403, which is also the answer for what does not exist."""
    return ApiError(403, f"Permission '{permission}' was denied")


@dataclass(frozen=True)
class Redirect:
    """An answer that sends the client to a signed address of the storage."""

    url: str


@dataclass(frozen=True)
class Binary:
    """An answer that is a file."""

    content: bytes
    media_type: str
    headers: Mapping[str, str] = field(default_factory=dict)


Answer = Json | Redirect | Binary


@dataclass(frozen=True)
class Call:
    """One request to a method: its JSON body, the site's time when it came, and the site's own address."""

    body: Mapping[str, Any]
    now: datetime
    base_url: str = ""

    def text(self, name: str) -> str:
        """Return a field as text, empty if it is not there."""
        value = self.body.get(name)
        text = value if isinstance(value, str) else "" if value is None else str(value)
        return text.encode(errors="replace").decode()  # JSON may hold half a pair of surrogates, which no answer can

    def number(self, name: str) -> int | None:
        """Return a field as an integer; 64-bit ones may come as text."""
        value = self.body.get(name)
        if value is None or value == "":
            return None
        try:
            return int(value)
        except (TypeError, ValueError, OverflowError) as error:
            raise ApiError(400, f"Invalid value for {name}") from error

    def flag(self, name: str) -> bool:
        """Return whether a boolean field is true."""
        return self.body.get(name) is True

    def list_of(self, name: str) -> list[Any]:
        """Return a field that is a list, empty if it is not there."""
        value = self.body.get(name)
        if value is not None and not isinstance(value, list):
            raise ApiError(400, f"Invalid value for {name}")
        return value or []

    def inner(self, name: str) -> "Call":
        """Return a field that is an object, as a call of its own; an empty one if it is not there."""
        value = self.body.get(name)
        if value is not None and not isinstance(value, dict):
            raise ApiError(400, f"Invalid value for {name}")
        return replace(self, body=value or {})

    def enum(self, name: str, prefix: str, names: Sequence[str]) -> str:
        """Return an enumeration's name without its prefix; names and numbers are accepted, the first is the default."""
        value = self.body.get(name)
        if value is None or value == "":
            return names[0]
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(names):
            return names[value]
        short = value.upper().removeprefix(prefix) if isinstance(value, str) else ""
        if short not in names:
            raise ApiError(400, f"Invalid value for {name}")
        return short

    def page(self, items: Sequence[ItemT], *, default: int = 20, largest: int = 100) -> tuple[list[ItemT], str]:
        """Return the requested page, and the token of the next one, empty after the last.

        If `page` is given, its number counts, and there is no token; otherwise the token counts.
        """
        size = self.number("pageSize")
        size = default if not size or size < 0 else min(size, largest)
        page = self.number("page")
        if page is not None:
            start = (max(page, 1) - 1) * size
            return list(items[start : start + size]), ""
        start = _offset(self.text("pageToken"))
        end = start + size
        token = base64.urlsafe_b64encode(f"o:{end}".encode()).decode() if end < len(items) else ""
        return list(items[start:end]), token


def _offset(token: str) -> int:
    if not token:
        return 0
    try:
        match = re.fullmatch(r"o:(\d{1,9})", base64.urlsafe_b64decode(token.encode()).decode())
    except (ValueError, binascii.Error):
        match = None
    if match is None:
        raise ApiError(400, "Invalid page token")
    return int(match[1])


def wire_time(time: datetime | None) -> str | None:
    """Return a time as Kaggle writes it: UTC, `Z`, and 0 to 9 fractional digits, always the same for the same time."""
    if time is None:
        return None
    text = f"{time:%Y-%m-%dT%H:%M:%S}"
    digits_needed = len(f"{time.microsecond:06d}".rstrip("0"))
    digits = max(digits_needed, zlib.crc32(text.encode()) % 10)
    return f"{text}.{time.microsecond:06d}000"[: len(text) + 1 + digits] + "Z" if digits else f"{text}Z"


def error_body(error: ApiError, *, nested: bool) -> Json:
    """Return the body of a refusal in the gateway's shape, or in the legacy one."""
    if nested:
        return {"error": {"code": error.status, "message": error.message, "status": error.code}}
    return {"code": error.status, "message": error.message}


def finished(answer: Json, *, unknown_fields: bool) -> Json:
    """Return an answer as it is sent: without what is as by default, and perhaps with fields from the future."""
    body: Json = _without_defaults(answer, unknown_fields)
    return body | ({"rolloutCohort": {"name": "b", "since": "2026-11-01T00:00:00Z"}} if unknown_fields and body else {})


def _without_defaults(value: Any, unknown_fields: bool) -> Any:
    if isinstance(value, list):
        return [_without_defaults(item, unknown_fields) for item in value]
    if not isinstance(value, dict):
        return value
    fields = {
        name: _without_defaults(item, unknown_fields)
        for name, item in value.items()
        if item or isinstance(item, dict) or (name in _OPTIONAL and item is not None)
    }
    return fields | ({"renderHint": 3} if unknown_fields and "id" in fields else {})


def list_answer(name: str, items: Iterable[Any], token: str = "", **further_fields: Any) -> Json:
    """Return the answer of a list method; past the end it becomes `{}` when defaults are left out."""
    return {name: list(items), "nextPageToken": token, **further_fields}

"""Field types that the manifest and the community rows share: identifiers, times, and the wording of faults."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from pydantic import BeforeValidator, ValidationError


def parse_time(value: object) -> datetime:
    """Read a time in UTC, such as `2017-10-25T14:03:00Z`. Raises ValueError if it is none, or has no zone or another."""
    if isinstance(value, datetime):
        return value
    if not isinstance(value, str) or len(value) < len("2017-10-25T14:03"):
        raise ValueError("not a time such as 2017-10-25T14:03:00Z")
    try:
        time = datetime.fromisoformat(value)
    except ValueError:
        raise ValueError(f"{value[:40]!r} is not a time such as 2017-10-25T14:03:00Z") from None
    if time.utcoffset() != timedelta(0):
        raise ValueError(f"the time {value!r} is not in UTC; times must end in Z")
    return time.astimezone(UTC)


def _identifier(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError("an id must be a string or an integer")
    if value == "":
        raise ValueError("an id must not be empty")
    return str(value)


UtcTime = Annotated[datetime, BeforeValidator(parse_time)]
Identifier = Annotated[str, BeforeValidator(_identifier)]
"""The original id as a string; 7 and "7" are the same id."""


def sentences(error: ValidationError) -> Iterator[str]:
    """Word each error of a pydantic validation as one short sentence that names the field."""
    for mistake in error.errors(include_url=False):
        field = ".".join(str(part) for part in mistake["loc"])
        text: Any = mistake["msg"].removeprefix("Value error, ")
        if mistake["type"] == "missing":
            text = "is missing"
        elif mistake["type"] == "extra_forbidden":
            text = "is not a known field"
        yield f"field `{field}`: {text}" if field else str(text)

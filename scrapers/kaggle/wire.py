"""Reading of Kaggle's answers: camelCase fields, UTC times, numbers as strings; unknown fields are no error, null is absence."""

import logging
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from enum import Enum
from typing import Annotated, Any, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)
from pydantic.alias_generators import to_camel

_LOG = logging.getLogger(__name__)

EnumT = TypeVar("EnumT", bound=Enum)
AnswerT = TypeVar("AnswerT", bound="ApiResponse")


def parse_time(value: object) -> datetime | None:
    """Read one of Kaggle's times, UTC with 0 to 9 fractional digits; None if there is none. Raises ValueError."""
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise ValueError(f"{str(value)[:40]!r} is not a time")
    time = datetime.fromisoformat(value)
    if time.year == 1:  # how Protocol Buffers express a missing time
        return None
    return time.astimezone(UTC) if time.tzinfo is not None else time.replace(tzinfo=UTC)


def wire_time(time: datetime) -> str:
    """Write an aware time as Kaggle does, such as `2026-11-20T10:00:00.120Z`."""
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _number(value: object) -> object:
    """Take a 64-bit integer that comes as a string."""
    return int(value) if isinstance(value, str) and re.fullmatch(r"-?\d{1,20}", value) else value


def _text(value: object) -> object:
    """Take a score that comes as a number."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _items(value: Any, read: ValidatorFunctionWrapHandler) -> Any:
    """Take an empty list that comes as `{}` or null, and leave out rows that are not understood, unless all are."""
    if value is None or value == {}:
        return read(())
    if isinstance(value, list):
        value = [row for row in value if row is not None]
    try:
        return read(value)
    except ValidationError as error:
        rows = [row for row in value if _is_understood(row, read)] if isinstance(value, list) else []
        if not rows:
            raise
        _LOG.warning("skipped %d of %d rows of a list: %s", len(value) - len(rows), len(value), first_fault(error))
        return read(rows)


def _is_understood(row: object, read: ValidatorFunctionWrapHandler) -> bool:
    try:
        read([row])
    except ValidationError:
        return False
    return True


def first_fault(error: ValidationError) -> str:
    """Return the first field that is not as it should be, and why."""
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


def lenient_enum(kind: type[EnumT]) -> BeforeValidator:
    """Return a validator of an enumeration's values by name, with or without its prefix, or by number.

    An unknown value becomes the first member, which stands for the unknown. Numbers are the members' values.
    """
    unknown = next(iter(kind))

    def read(value: object) -> object:
        if isinstance(value, str):
            return next(
                (member for member in kind if value == member.name or value.endswith(f"_{member.name}")), unknown
            )
        if isinstance(value, int):
            return next((member for member in kind if member.value == value), unknown)
        return value if isinstance(value, kind) else unknown

    return BeforeValidator(read)


Time = Annotated[
    datetime | None, BeforeValidator(lambda value: value if isinstance(value, datetime) else parse_time(value))
]
Int = Annotated[int, BeforeValidator(_number)]
Seconds = Annotated[float, BeforeValidator(lambda value: value.removesuffix("s") if isinstance(value, str) else value)]
"""A duration as Protocol Buffers write it, such as `12.5s`."""
Text = Annotated[str, BeforeValidator(_text)]
Mixed = Annotated[str, BeforeValidator(lambda value: "" if value is None else str(value))]
"""A value of an open enumeration: a name as it is, a number as its digits, nothing as `""`."""
Items = WrapValidator(_items)


class Wire(BaseModel):
    """An object in an answer; fields that are not declared here are ignored."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="ignore", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _null_is_absent(cls, value: Any) -> Any:
        return {name: item for name, item in value.items() if item is not None} if isinstance(value, dict) else value


class ApiResponse(Wire):
    """A whole answer."""

    served_at: datetime | None = Field(default=None, exclude=True, alias="servedAt")
    """The server's time, from the header `Date`; not part of the answer's body."""

    @classmethod
    def read(cls, body: Any, served_at: datetime) -> "ApiResponse":
        """Read a decoded body. Raises pydantic's ValidationError."""
        return cls.model_validate({} if body is None else body).model_copy(update={"served_at": served_at})

    def stamped(self, items: Iterable[AnswerT]) -> "tuple[AnswerT, ...]":
        """Return its items with the answer's server time, for callers that do not get the whole answer."""
        return tuple(item.model_copy(update={"served_at": self.served_at}) for item in items)


class PageOfItems(ApiResponse):
    """An answer with a part of a list."""

    next_page_token: Text = ""
    """Empty on the last page, and where pages have numbers."""

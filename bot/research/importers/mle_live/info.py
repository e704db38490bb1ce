"""A folder of kernels or of discussions of MLE-Live: `info.json`, a list of entries with dates or a dict by id, and its texts."""

import codecs
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import BeforeValidator, Field, FiniteFloat, TypeAdapter, ValidationError

from scrapers.posts.cleaning import clean
from scrapers.snapshots.files import resolve_inside

MAX_EXAMPLES = 3
"""Names kept for each reason."""
_MAX_EXAMPLE_CHARACTERS = 80
"""Characters of one."""


@dataclass(frozen=True)
class Reason:
    """A reason for leaving something out or changing it, its count, and a few examples."""

    text: str
    count: int
    examples: tuple[str, ...]

    def __str__(self) -> str:
        ellipsis = " …" if self.count > len(self.examples) else ""
        return f"{self.count:,} {self.text} ({', '.join(self.examples)}{ellipsis})"


class ReasonCounter:
    """Counts reasons in the order of their first occurrence."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._examples: dict[str, list[str]] = {}

    def add(self, text: str, example: str) -> None:
        """Count a reason, worded to follow a number, such as `kernels without a text`."""
        self._counts[text] += 1
        examples = self._examples.setdefault(text, [])
        if len(examples) < MAX_EXAMPLES:
            examples.append(
                example if len(example) <= _MAX_EXAMPLE_CHARACTERS else f"{example[:_MAX_EXAMPLE_CHARACTERS]}…"
            )

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """All reasons so far."""
        return tuple(Reason(text, count, tuple(self._examples[text])) for text, count in self._counts.items())


MAX_FILE_BYTES = 16_000_000
"""Larger files are not read."""

_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


@dataclass(frozen=True)
class Unread:
    """Why a file has no text."""

    reason: str
    """A clause such as `whose file is missing`, which follows a plural noun."""


@dataclass(frozen=True)
class Decoded:
    """A file's text with newline line ends."""

    text: str
    guessed: bool
    """Whether it is not UTF-8, so that its letters are a guess."""


def read_text(folder: Path, name: str, largest: int = MAX_FILE_BYTES) -> Decoded | Unread:
    """Return the text of a file; a link that leads out of the folder is not followed."""
    if (path := resolve_inside(folder, name)) is None:
        is_there = (folder / name).is_symlink() or (folder / name).exists()
        return Unread("whose file is not a regular file in its folder" if is_there else "whose file is missing")
    try:
        with path.open("rb") as file:
            data = file.read(largest + 1)
    except OSError as error:
        return Unread(f"whose file cannot be read: {error.strerror or error}")
    if len(data) > largest:
        return Unread(f"whose file is larger than {largest / 1e6:.0f} MB")
    return _decoded(data)


def _decoded(data: bytes) -> Decoded:
    encoding = next((name for mark, name in _MARKS if data.startswith(mark)), "utf-8")
    try:
        text, guessed = data.decode(encoding), False
    except UnicodeDecodeError:
        # What Windows writes where nobody names an encoding; it has a letter for nearly every byte.
        text, guessed = data.decode("cp1252", errors="replace"), True
    return Decoded(text.replace("\r\n", "\n").replace("\r", "\n"), guessed)


_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_MAX_TITLE_CHARACTERS = 1_000
"""Characters."""


def _none_if_empty(value: object) -> object:
    """Read an empty value, and NaN, which pandas writes for it, as None."""
    return None if value == "" or value != value else value


def _whole_day(value: object) -> object:
    """Read a date without a time as the day's last moment, so that nothing is known before it was written."""
    return f"{value}T23:59:59" if isinstance(value, str) and _DAY.fullmatch(value) else value


VOTES = TypeAdapter(Annotated[Annotated[int, Field(ge=-(2**31), lt=2**31)] | None, BeforeValidator(_none_if_empty)])
SCORE = TypeAdapter(Annotated[FiniteFloat | None, BeforeValidator(_none_if_empty)])
TIME = TypeAdapter(Annotated[datetime | None, BeforeValidator(_whole_day), BeforeValidator(_none_if_empty)])
"""A time without a zone is UTC, which is what Kaggle writes; see `in_utc`."""


def in_utc(time: datetime) -> datetime:
    """Return a time as aware UTC."""
    return time.astimezone(UTC) if time.tzinfo is not None else time.replace(tzinfo=UTC)


def title_of(value: object) -> str | None:
    """Return a title on one line; None if there is none."""
    if not isinstance(value, str):
        return None
    return " ".join(clean(value).split())[:_MAX_TITLE_CHARACTERS] or None


INFO = "info.json"
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")

ValueT = TypeVar("ValueT")


@dataclass(frozen=True)
class InfoRecord:
    """The entry in `info.json` for one kernel version or one discussion; None where it lacks a field."""

    id: str
    title: str | None = None
    votes: int | None = None
    created_at: datetime | None = None
    public_score: float | None = None
    lower_is_better: bool | None = None


def is_id(text: str) -> bool:
    """Whether a text can be the id of a kernel version or a discussion, and so name a file."""
    return _ID.fullmatch(text) is not None


def read_info(
    folder: Path, kind: str, left_out_entries: ReasonCounter, remarks: ReasonCounter, broken: ReasonCounter
) -> dict[str, InfoRecord]:
    """Return the entries of a folder's `info.json` by id (the first with each id); none if it cannot be read.

    Each tally is of the `kind`, in the plural: of entries that cannot be used, of faults that exclude none and a missing
    list, and of a list that cannot be read.
    """
    read = read_text(folder, INFO)
    place = f"{folder.name}/{INFO}"
    if isinstance(read, Unread):
        is_there = (folder / INFO).is_symlink() or (folder / INFO).exists()
        tally = broken if is_there else remarks
        tally.add(f"list of {kind} {read.reason}, so the {kind} have no dates or votes", place)
        return {}
    try:
        content = json.loads(read.text)
    except (ValueError, RecursionError):  # no JSON, a number of thousands of digits, absurd nesting
        content = None
    if not isinstance(content, list | dict):
        broken.add(f"list of {kind} that is not a JSON list or object, so the {kind} have no dates or votes", place)
        return {}
    entries: dict[str, InfoRecord] = {}
    for id, fields in _pairs(content):
        if not isinstance(fields, dict) or id is None or not is_id(id):
            left_out_entries.add(f"entries for {kind} whose id cannot be a file name", str(id))
        elif id in entries:
            remarks.add(f"{kind} listed twice in {INFO}: only the first entry is used", id)
        else:
            entries[id] = _entry(id, fields, kind, remarks)
    return entries


def _pairs(content: list[object] | dict[str, object]) -> Iterator[tuple[str | None, object]]:
    if isinstance(content, dict):
        yield from content.items()
        return
    for fields in content:
        yield _id(fields.get("id")) if isinstance(fields, dict) else None, fields


def _id(value: object) -> str | None:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else None


def _entry(id: str, fields: dict[str, object], kind: str, remarks: ReasonCounter) -> InfoRecord:
    def read(values: TypeAdapter[ValueT | None], name: str, field_name: str) -> ValueT | None:
        try:
            return values.validate_python(fields.get(name))
        except ValidationError:
            remarks.add(f"{kind} whose {field_name} could not be read and is treated as unknown", id)
            return None

    created_at = read(TIME, "created_at", "time")
    if created_at is not None and created_at.tzinfo is None:
        remarks.add(f"{kind} whose time has no time zone and is read as UTC", id)
    lower = fields.get("is_lower_better")
    return InfoRecord(
        id=id,
        title=title_of(fields.get("title")),
        votes=read(VOTES, "votes", "vote count"),
        created_at=created_at and in_utc(created_at),
        public_score=read(SCORE, "bestPublicScore", "score"),
        lower_is_better=lower if isinstance(lower, bool) else None,
    )

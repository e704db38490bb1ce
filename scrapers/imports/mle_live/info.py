"""`info.json` of a folder of kernels or of discussions: a list of entries with dates, or a dict by id without."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from scrapers.imports.mle_live.tally import Tally
from scrapers.imports.mle_live.texts import Unread, read_text
from scrapers.imports.mle_live.values import SCORE, TIME, VOTES, in_utc, title_of

INFO = "info.json"
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")

ValueT = TypeVar("ValueT")


@dataclass(frozen=True)
class Entry:
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


def read_info(folder: Path, kind: str, left_out: Tally, remarks: Tally, broken: Tally) -> dict[str, Entry]:
    """Return the entries of a folder's `info.json` by id (the first with each id); none if it cannot be read.

    Args:
        folder: the folder of `info.json` and the texts.
        kind: the name of the entries in the tallies, in the plural.
        left_out: receives entries that cannot be used.
        remarks: receives faults that do not exclude an entry, and a missing list.
        broken: receives the reason if the list cannot be read.
    """
    read = read_text(folder, INFO)
    place = f"{folder.name}/{INFO}"
    if isinstance(read, Unread):
        there = (folder / INFO).is_symlink() or (folder / INFO).exists()
        tally = broken if there else remarks
        tally.add(f"list of {kind} {read.reason}, so that none of them has a date or votes", place)
        return {}
    try:
        content = json.loads(read.text)
    except (ValueError, RecursionError):  # no JSON, a number of thousands of digits, absurd nesting
        content = None
    if not isinstance(content, list | dict):
        broken.add(f"list of {kind} that is no JSON list or object, so that none of them has a date or votes", place)
        return {}
    entries: dict[str, Entry] = {}
    for id, fields in _pairs(content):
        if not isinstance(fields, dict) or id is None or not is_id(id):
            left_out.add(f"entries of {kind} without an id that can name a file", str(id))
        elif id in entries:
            remarks.add(f"{kind} named twice in {INFO}, of which the first entry counts", id)
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


def _entry(id: str, fields: dict[str, object], kind: str, remarks: Tally) -> Entry:
    def read(values: TypeAdapter[ValueT | None], name: str, what: str) -> ValueT | None:
        try:
            return values.validate_python(fields.get(name))
        except ValidationError:
            remarks.add(f"{kind} whose {what} cannot be read and counts as unknown", id)
            return None

    created_at = read(TIME, "created_at", "time")
    if created_at is not None and created_at.tzinfo is None:
        remarks.add(f"{kind} whose time has no zone and is taken as UTC", id)
    lower = fields.get("is_lower_better")
    return Entry(
        id=id,
        title=title_of(fields.get("title")),
        votes=read(VOTES, "votes", "votes"),
        created_at=created_at and in_utc(created_at),
        public_score=read(SCORE, "bestPublicScore", "score"),
        lower_is_better=lower if isinstance(lower, bool) else None,
    )

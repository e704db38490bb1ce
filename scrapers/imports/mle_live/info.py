"""`info.json` of a folder of kernels or of discussions: a list of entries with dates, or a dict by id without."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from scrapers.imports.tally import Tally
from scrapers.imports.texts import Unread, read_text
from scrapers.imports.values import Unreadable, score_of, time_of, title_of, votes_of

INFO = "info.json"
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")

ValueT = TypeVar("ValueT")


@dataclass(frozen=True)
class Entry:
    """What `info.json` says of one kernel version or one discussion; None is what it does not say."""

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
    """Return the entries of a folder's `info.json` by id, the first of each id; none where it cannot be read.

    Args:
        folder: of `info.json` and the texts.
        kind: what the entries are, in the plural, as the tallies call them.
        left_out: receives entries that cannot be used.
        remarks: receives what is wrong but does not keep an entry out; also that there is no list.
        broken: receives why a list that is there cannot be read.
    """
    read = read_text(folder, INFO)
    place = f"{folder.name}/{INFO}"
    if isinstance(read, Unread):
        there = (folder / INFO).is_symlink() or (folder / INFO).exists()
        tally = broken if there else remarks
        tally.add(f"list of {kind} {read.reason}, so that none of them has a date or votes", place)
        return {}
    repeated: list[str] = []
    try:
        content = json.loads(read.text, object_pairs_hook=lambda pairs: _first(pairs, repeated))
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
    for id in repeated:
        if id in entries:
            remarks.add(f"{kind} named twice in {INFO}, of which the first entry counts", id)
    return entries


def _first(pairs: list[tuple[str, object]], repeated: list[str]) -> dict[str, object]:
    made: dict[str, object] = {}
    for key, value in pairs:
        if key in made:
            repeated.append(key)
        else:
            made[key] = value
    return made


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
    def read(reader: Callable[[object], ValueT], name: str) -> ValueT | None:
        try:
            return reader(fields.get(name))
        except Unreadable as what:
            remarks.add(f"{kind} whose {what} cannot be read and counts as unknown", id)
            return None

    created_at, zoned = read(time_of, "created_at") or (None, True)
    if not zoned:
        remarks.add(f"{kind} whose time has no zone and is taken as UTC", id)
    lower = fields.get("is_lower_better")
    return Entry(
        id=id,
        title=title_of(fields.get("title")),
        votes=read(votes_of, "votes"),
        created_at=created_at,
        public_score=read(score_of, "bestPublicScore"),
        lower_is_better=lower if isinstance(lower, bool) else None,
    )

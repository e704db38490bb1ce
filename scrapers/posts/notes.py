"""A folder of notes: Markdown and text files become topics, notebooks and scripts kernel versions, dated by front matter."""

import hashlib
import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import yaml

from scrapers.posts.cleaners import RawPost
from scrapers.posts.cleaning import clean
from scrapers.posts.ingest import Raw
from scrapers.posts.kernel_text import notebook_language, parse_notebook
from scrapers.posts.sources import Change
from state.community import NOTE, TEAM
from state.tables import KernelVersion, Observation, PostedMessage, Topic

LARGEST = 20_000_000
"""Bytes of a file that is read."""
MOST_FILES = 2_000
_SUFFIXES = (".md", ".txt", ".ipynb", ".py")
_FRONT = re.compile(r"---[ \t]*\n(?P<keys>.*?)(?<=\n)---[ \t]*(?:\n|\Z)", re.DOTALL)
_COMMENTED = re.compile(r"# ---[ \t]*\n(?P<keys>(?:#.*\n)*?)# ---[ \t]*(?:\n|\Z)")
_LONGEST_FRONT = 20_000
_HEADING = re.compile(r"^#{1,6}[ \t]+(.+)$", re.MULTILINE)


class _LeftOut(Exception):
    """Why a file is left out, in a sentence that goes on after its name."""


@dataclass(frozen=True)
class _Facts:
    at: datetime | None
    title: str | None
    author: str | None
    votes: int | None


def changes(folder: Path, competition: str, states: Mapping[str, Any], now: datetime) -> Iterator[Change]:
    """Yield each file that is new, or whose text was edited; see `CommunitySource`.

    Only the size and the time of a file that has not changed are looked at. An edited text replaces its message, known from
    when the edit was seen; an edited notebook or script is a new version beside the earlier one. Names that begin with a dot
    are passed over, and links that lead out of the folder.
    """
    root, keys = folder.resolve(), set[str]()
    unread: list[OSError] = []
    for number, path in enumerate(_files(root, unread)):
        key = " ".join(clean(path.relative_to(root).as_posix()).split())
        if number == MOST_FILES:
            unread.append(OSError(0, f"the folder contains more than {MOST_FILES:,} notes", str(path)))
            break
        keys.add(key)
        change = _change(root, path, key, competition, states.get(key, {}), now)
        if change is not None:
            yield change
    for error in unread:
        key = "notes from " + clean(os.path.relpath(error.filename, root)) + " onward"
        keys.add(key)
        if key not in states:
            yield Change(key, {"unread": True}, problem=f"cannot be read: {error.strerror}")
    # What never was a note may be forgotten once it is gone.
    yield from (Change(key, {}) for key, state in states.items() if key not in keys and "first" not in state)


def _files(root: Path, unread: list[OSError]) -> Iterator[Path]:
    """Yield the notes, and links to folders, in the order of their paths; folders that cannot be listed go to `unread`."""
    for place, folders, names in os.walk(root, onerror=unread.append):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__pycache__")))
        links = [name for name in folders if Path(place, name).is_symlink()]
        notes = [name for name in names if not name.startswith(".") and name.lower().endswith(_SUFFIXES)]
        yield from (Path(place, name) for name in sorted([*links, *notes]))


def _change(
    root: Path, path: Path, key: str, competition: str, before: Mapping[str, Any], now: datetime
) -> Change | None:
    try:
        info = path.stat()
        stamp = [info.st_size, info.st_mtime_ns]
    except OSError:
        stamp = [-1, -1]
    if before.get("stamp") == stamp:
        return None
    try:
        text = _text(root, path)
        facts = _facts(path, text)
    except _LeftOut as error:
        return Change(key, {**before, "stamp": stamp}, problem=str(error))
    digest = hashlib.sha256(text.encode()).hexdigest()
    if before.get("sha") == digest:
        return Change(key, {**before, "stamp": stamp}, at=facts.at)
    # What was dated in the future was never seen: its next text is still the first.
    edited = "first" in before and datetime.fromisoformat(before["first"]) <= now
    first = datetime.fromisoformat(before["first"]) if edited else facts.at or now
    version = before["version"] + 1 if edited else 1
    state = {"stamp": stamp, "sha": digest, "version": version, "first": first.isoformat()}
    post = _Note(competition, _id(key), facts, version, first, now if edited else None)
    rows = post.topic(text, key) if path.suffix.lower() in (".md", ".txt") else post.kernel(text, path)
    return Change(key, state, rows, facts.at)


@dataclass(frozen=True)
class _Note:
    competition: str
    id: str
    facts: _Facts
    version: int
    first: datetime
    edited: datetime | None

    def topic(self, text: str, key: str) -> list[Raw]:
        body = text[front.end() :] if (front := _FRONT.match(text)) else text
        heading = _HEADING.search(body)
        title = self.facts.title or (_line(heading[1]) if heading else "") or _line(key)
        shared: dict[str, Any] = {
            "competition": self.competition,
            "posted_at": self.first,
            "author": self.facts.author,
            "tier": TEAM,
        }
        topic = Topic(**shared, id=self.id, title=title, votes=self.facts.votes)
        message = PostedMessage(**shared, id=self.id, topic_id=self.id, edited_at=self.edited, votes=self.facts.votes)
        readings = [self._reading("topic", self.id), self._reading("message", self.id)]
        return [Raw(topic), Raw(message, RawPost("markdown", body)), *readings]

    def kernel(self, text: str, path: Path) -> list[Raw]:
        notebook = path.suffix.lower() == ".ipynb"
        kind, language = ("notebook" if notebook else "script"), "python"
        if notebook:
            language = notebook_language(parse_notebook(text) or {}) or language
        row = KernelVersion(
            competition=self.competition,
            id=f"{self.id}/v{self.version}",
            ref=f"notes/{self.id}",
            version=self.version,
            title=self.facts.title or _line(path.stem),
            author=self.facts.author,
            tier=TEAM,
            created_at=self.edited or self.first,
            votes=self.facts.votes,
            language=language,
            kind=kind,
        )
        return [Raw(row, RawPost("kernel", text, language, kind)), self._reading("kernel", row.id)]

    def _reading(self, target: str, id: str) -> Raw:
        time, votes = self.edited or self.first, self.facts.votes
        row = Observation(competition=self.competition, target=target, target_id=id, at=time, votes=votes, tier=TEAM)
        return Raw(row)


def _text(root: Path, path: Path) -> str:
    """Return a file's text; raises `_LeftOut` for what is none."""
    try:
        if not path.resolve().is_relative_to(root):
            raise _LeftOut("was skipped: it is a link that points outside the folder")
        info = path.stat()
        if stat.S_ISDIR(info.st_mode):
            raise _LeftOut("was skipped: it is a link to a folder")
        if not stat.S_ISREG(info.st_mode):
            raise _LeftOut("was skipped: it is not a file")
        if info.st_size > LARGEST:
            size = f"{info.st_size / 1e6:,.0f} MB, but the limit is {LARGEST / 1e6:.0f} MB"
            raise _LeftOut(f"was skipped: it has {size}")
        with path.open("rb") as file:
            text = file.read(LARGEST).decode("utf-8-sig").replace("\r\n", "\n")
    except (OSError, RuntimeError) as error:
        raise _LeftOut(f"cannot be read: {getattr(error, 'strerror', None) or error}") from error
    except UnicodeDecodeError as error:
        raise _LeftOut("was skipped: it is not UTF-8 text") from error
    if "\0" in text:
        raise _LeftOut("was skipped: it is not UTF-8 text")
    if not text.strip():
        raise _LeftOut("was skipped: it is empty")
    return text


def _facts(path: Path, text: str) -> _Facts:
    """Return what a note's front matter says; of a notebook, what begins its first cell says.

    Front matter that cannot be read leaves the note out: without its date it might be known too early.
    """
    pattern = _FRONT
    if path.suffix.lower() == ".py":
        pattern = _COMMENTED
    elif path.suffix.lower() == ".ipynb":
        if (notebook := parse_notebook(text)) is None:
            raise _LeftOut("was skipped: it is not a notebook in format 4")
        first = next(iter(notebook["cells"]), None)
        source = first.get("source") if isinstance(first, dict) else None
        text = "".join(map(str, source)) if isinstance(source, list) else str(source or "")
    match = pattern.match(text[:_LONGEST_FRONT])
    if match is None:
        if re.match(r"(# )?---[ \t]*\n(# )?\w+:", text):
            raise _LeftOut("was skipped: its front matter is not closed by a `---` line")
        return _Facts(None, None, None, None)
    keys = match["keys"] if pattern is _FRONT else re.sub(r"^# ?", "", match["keys"], flags=re.MULTILINE)
    try:
        content = yaml.safe_load(keys)
    except (yaml.YAMLError, ValueError, LookupError, AttributeError, RecursionError) as error:
        reason = str(getattr(error, "problem", None) or error).splitlines()[0]
        raise _LeftOut(f"was skipped: its front matter cannot be read ({clean(reason)[:200]})") from error
    if not isinstance(content, dict):
        # A rule, some prose, and another rule.
        return _Facts(None, None, None, None)
    title, author, votes = (content.get(name) for name in ("title", "author", "votes"))
    if votes is not None and (type(votes) is not int or abs(votes) >= 2**31):
        raise _LeftOut("was skipped: its `votes` must be a whole number")
    # YAML's lists may refer to themselves, so that written out they are endless.
    title, author = (_line(field) or None if isinstance(field, str) else None for field in (title, author))
    return _Facts(_time(content.get("date")), title, author, votes)


def _time(value: object) -> datetime | None:
    """Return a date's time in UTC: a day counts from its beginning, a time without a zone is UTC."""
    if value is None:
        return None
    try:
        if not isinstance(value, str | int | date):
            raise ValueError(type(value))
        time = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise _LeftOut("was skipped: its `date` must look like 2018-01-05 or 2018-01-05T12:00:00Z") from error


def _id(key: str) -> str:
    """Return a post's id: readable, and safe in a prompt and as a file's name."""
    plain = re.sub(r"[^a-z0-9]+", "-", key.lower()).strip("-")[:50]
    return f"{NOTE}{hashlib.sha256(key.encode()).hexdigest()[:8]}-{plain}".rstrip("-")


def _line(text: str) -> str:
    return " ".join(clean(text).split())[:200]

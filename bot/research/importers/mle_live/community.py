"""The community of an MLE-Live folder, written as the `community/` of a snapshot."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TextIO

from bot.research.importers.mle_live.info import (
    INFO,
    InfoRecord,
    Reason,
    ReasonCounter,
    Unread,
    is_id,
    read_info,
    read_text,
    title_of,
)
from scrapers.snapshots.community import KERNELS, MESSAGES, TIERS, TOPICS, KernelRow
from scrapers.snapshots.manifest import RowCounts
from state.words import iso

_AUTHOR = r"\((?P<name>.{0,200}?) <TIER: ?(?P<tier>[^<>]{0,40})>\)(?: (?P<rest>.*)|)$"
_OPENING = re.compile(_AUTHOR)
_COMMENT = re.compile(rf"(?P<indent>(?: {{4}}){{1,100}})\+ {_AUTHOR}")


@dataclass(frozen=True)
class ThreadMessage:
    """One message of a discussion."""

    author: str | None
    tier: str | None
    markdown: str
    parent: int | None
    """Index of the message that it answers among the discussion's messages; None for the opening one."""


@dataclass(frozen=True)
class DiscussionThread:
    """A discussion: the opening message first, each answer after the message that it answers."""

    title: str | None
    messages: tuple[ThreadMessage, ...]


@dataclass
class _Open:
    """A message whose text may continue."""

    match: re.Match[str] | None
    parent: int | None
    lines: list[str]

    def closed(self) -> ThreadMessage:
        name, tier = (self.match["name"], self.match["tier"].strip()) if self.match else (None, "")
        tier_name = TIERS.get(tier, tier.upper())
        known_tier = tier_name if tier_name in TIERS.values() else None
        return ThreadMessage(title_of(name), known_tier, "\n".join(self.lines).strip("\n"), self.parent)


def read_thread(text: str) -> DiscussionThread | None:
    """Return the discussion in a text with newline line ends; None: it is not one."""
    lines = text.lstrip("\n").rstrip().split("\n")
    title = None
    if lines[0].startswith("# "):
        title = title_of(lines[0][2:])
        del lines[0]
    if not any(line.strip() for line in lines):
        return None
    match = _OPENING.match(lines[0])
    messages = [_Open(match, None, [match["rest"] or ""] if match else [lines[0]])]
    path = [0]  # the last message and those it answers, outermost first
    for line in lines[1:]:
        match = _COMMENT.match(line)
        depth = len(match["indent"]) // 4 if match else 0
        if match is None or depth > len(path):
            messages[-1].lines.append(line)
            continue
        del path[depth:]
        messages.append(_Open(match, path[-1], [match["rest"] or ""]))
        path.append(len(messages) - 1)
    return DiscussionThread(title, tuple(m.closed() for m in messages))


DISCUSSIONS_FOLDER = "discussions"
KERNELS_FOLDER = "kernels"
FROM = "MLE-Live"
DATED = f"{FROM}; undated, so the deadline is used as the date"
"""The `source` of a row that was given the deadline as its time."""
_KERNEL_FIELDS = tuple(name for name, field in KernelRow.model_fields.items() if field.is_required())
"""Fields that a row must have; null: unknown."""


@dataclass(frozen=True)
class ImportCounts:
    """The number of rows imported from one competition's folder, and what was left out."""

    rows: RowCounts
    undated: RowCounts
    """Imported rows without their own time."""
    omitted: tuple[Reason, ...]
    remarks: tuple[Reason, ...]
    """Faults of imported entries."""
    broken: tuple[Reason, ...]
    """Lists of entries that could not be read."""


class CommunityWriter:
    """Writes rows and kernels' files into a snapshot's folder."""

    def __init__(self, source: Path, target: Path, slug: str, deadline: datetime | None) -> None:
        """Set the folder of `kernels/` and `discussions/`, the snapshot's, and the time of rows that have none."""
        self._source, self._target, self._slug, self._deadline = source, target, slug, deadline
        self._left_out, self._remarks, self._broken = ReasonCounter(), ReasonCounter(), ReasonCounter()
        self._rows: Counter[str] = Counter()
        self._undated: Counter[str] = Counter()

    def write(self, lower_is_better: bool, tick: Callable[[int], None]) -> ImportCounts:
        """Write the whole community; entries that contradict the task's direction get a remark. Raises OSError."""
        (self._target / TOPICS).parent.mkdir()
        count = 0
        with ExitStack() as stack:
            topics, messages, kernels = (
                stack.enter_context((self._target / name).open("w", encoding="utf-8"))
                for name in (TOPICS, MESSAGES, KERNELS)
            )
            for entry, text in self._texts(DISCUSSIONS_FOLDER):
                self._discussion(entry, text, topics, messages)
                tick(count := count + 1)
            (self._target / KERNELS).parent.joinpath(KERNELS_FOLDER).mkdir()
            for entry, text in self._texts(KERNELS_FOLDER):
                if entry.lower_is_better not in (None, lower_is_better):
                    better = "lower" if entry.lower_is_better else "higher"
                    self._remarks.add(
                        f"{KERNELS_FOLDER} whose entry says that {better} scores are better, which contradicts the task",
                        entry.id,
                    )
                self._kernel(entry, text, kernels)
                tick(count := count + 1)
        tallies = (self._left_out, self._remarks, self._broken)
        return ImportCounts(RowCounts(**self._rows), RowCounts(**self._undated), *(tally.reasons for tally in tallies))

    def _texts(self, kind: str) -> Iterator[tuple[InfoRecord, str]]:
        """Yield every entry that has a text, and every text that has no entry, with an empty one."""
        folder = self._source / kind
        if not folder.is_dir():
            return
        entries = read_info(folder, kind, self._left_out, self._remarks, self._broken)
        has_entries = len(entries) > 0
        for path in sorted(folder.iterdir()):
            if path.name == INFO or path.name.startswith("."):
                continue
            if path.suffix != ".txt" or not is_id(path.stem):
                self._left_out.add(f"files in {kind}/ that are not in MLE-Live's format", path.name)
            elif path.stem not in entries:
                entries[path.stem] = InfoRecord(path.stem)
                if has_entries:
                    self._remarks.add(f"{kind} without an entry in {INFO}, and so without a date or votes", path.stem)
        for entry in entries.values():
            read = read_text(folder, f"{entry.id}.txt")
            if isinstance(read, Unread):
                self._left_out.add(f"{kind} {read.reason}", entry.id)
            elif not read.text.strip("\n\t \0`"):
                self._left_out.add(f"{kind} whose file is empty", entry.id)
            else:
                if read.guessed:
                    self._remarks.add(f"{kind} whose text is not UTF-8 and was read as Windows-1252", entry.id)
                yield entry, read.text

    def _discussion(self, entry: InfoRecord, text: str, topics: TextIO, messages: TextIO) -> None:
        thread = read_thread(text)
        if thread is None:
            self._left_out.add(f"{DISCUSSIONS_FOLDER} with only a title", entry.id)
            return
        opening = thread.messages[0]
        if opening.author is None:
            self._remarks.add(f"{DISCUSSIONS_FOLDER} whose first message has no author", entry.id)
        time, source = self._time(entry.created_at)
        topic = {
            "id": entry.id,
            "title": entry.title or thread.title,
            "author": opening.author,
            "tier": opening.tier,
            "posted_at": time and iso(time),
            "votes": entry.votes,
            "url": f"https://www.kaggle.com/competitions/{self._slug}/discussion/{entry.id}"
            if entry.id.isdecimal()
            else None,
            "source": source,
        }
        _line(topics, topic)
        for row in self._messages(entry, thread):
            _line(messages, row)
        count, undated = len(thread.messages), entry.created_at is None
        self._rows.update(topics=1, messages=count)
        self._undated.update(topics=int(undated), messages=count - 1 + undated)

    def _messages(self, entry: InfoRecord, thread: DiscussionThread) -> Iterator[dict[str, Any]]:
        for place, message in enumerate(thread.messages):
            time, source = self._time(entry.created_at if place == 0 else None)
            if time is not None and entry.created_at is not None:
                time = max(time, entry.created_at)  # nobody answers a post that does not exist yet
            yield {
                "id": f"{entry.id}-{place}",
                "topic_id": entry.id,
                "parent_id": None if message.parent is None else f"{entry.id}-{message.parent}",
                "author": message.author,
                "tier": message.tier,
                "posted_at": time and iso(time),
                "edited_at": None,
                "votes": entry.votes if place == 0 else None,
                "markdown": message.markdown,
                "deleted": None,
                "source": source,
            }

    def _kernel(self, entry: InfoRecord, text: str, kernels: TextIO) -> None:
        # The collector turned it into markdown: prose, and code between bare fences.
        path = f"{KERNELS_FOLDER}/{entry.id}.md"
        (self._target / KERNELS).parent.joinpath(path).write_text(text, encoding="utf-8", errors="replace")
        time, source = self._time(entry.created_at)
        row = {
            "id": entry.id,
            "ref": f"mle-live/{entry.id}",
            "title": entry.title,
            "created_at": time and iso(time),
            "votes": entry.votes,
            "public_score": entry.public_score,
            "path": path,
            "source": source,
        }
        _line(kernels, dict.fromkeys(_KERNEL_FIELDS) | row)
        self._rows["kernels"] += 1
        self._undated["kernels"] += entry.created_at is None

    def _time(self, own_time: datetime | None) -> tuple[datetime | None, str]:
        """Return a row's time and its `source`."""
        if own_time is not None or self._deadline is None:
            return own_time, FROM
        return self._deadline, DATED


def _line(file: TextIO, row: dict[str, Any]) -> None:
    file.write(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n")

"""The community of a snapshot: its four files of rows, checked against one another, and turned into table rows."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from scrapers.found import Found
from scrapers.inside import resolve_inside
from scrapers.jsonl import read_rows
from scrapers.kernel_source import kernel_text
from scrapers.rows import KernelRow, MessageRow, ObservationRow, TopicRow
from state.tables import CommunityRow

COMMUNITY = "community"
TOPICS = f"{COMMUNITY}/topics.jsonl"
MESSAGES = f"{COMMUNITY}/messages.jsonl"
KERNELS = f"{COMMUNITY}/kernels.jsonl"
OBSERVATIONS = f"{COMMUNITY}/observations.jsonl"

RowT = TypeVar("RowT", TopicRow, MessageRow, KernelRow)


@dataclass(frozen=True)
class Community:
    """All rows of `community/`; empty where a file is missing."""

    topics: list[TopicRow] = field(default_factory=list)
    messages: list[MessageRow] = field(default_factory=list)
    kernels: list[KernelRow] = field(default_factory=list)
    observations: list[ObservationRow] = field(default_factory=list)

    @property
    def empty(self) -> bool:
        """Whether there is neither a topic nor a message nor a kernel."""
        return not (self.topics or self.messages or self.kernels)

    def table_rows(self, root: Path, competition: str) -> Iterator[CommunityRow]:
        """Yield the rows that the database holds; each kernel's file is read and cleaned when its turn comes."""
        yield from (topic.table_row(competition) for topic in self.topics)
        yield from (message.table_row(competition) for message in self.messages)
        for kernel in self.kernels:
            path = resolve_inside(root / COMMUNITY, kernel.path) if kernel.path else None
            yield kernel.table_row(competition, kernel_text(path) if path else "")
        yield from (observation.table_row(competition) for observation in self.observations)


def read_community(root: Path, found: Found) -> Community:
    """Read and check `community/`; a missing folder or file is legal and empty.

    Args:
        root: the snapshot's folder.
        found: receives every bad line, duplicate id, and reference to a row or file that is not there.
    """
    topics = _unique(root, TOPICS, TopicRow, found)
    messages = _unique(root, MESSAGES, MessageRow, found)
    kernels = _unique(root, KERNELS, KernelRow, found)
    _check_messages(messages, topics, found)
    _check_files(root, kernels, found)
    known = {"topic": topics.keys(), "message": messages.keys(), "kernel": kernels.keys()}
    observations: list[ObservationRow] = []
    for line, row in read_rows(root / OBSERVATIONS, OBSERVATIONS, ObservationRow, found):
        observations.append(row)
        if row.id not in known[row.target]:
            found.add(OBSERVATIONS, f"there is no {row.target} with the id {row.id!r}", line, kind="references")
    return Community(_rows(topics), _rows(messages), _rows(kernels), observations)


def _unique(root: Path, name: str, model: type[RowT], found: Found) -> dict[str, tuple[int, RowT]]:
    rows: dict[str, tuple[int, RowT]] = {}
    for line, row in read_rows(root / name, name, model, found):
        if row.id in rows:
            first = rows[row.id][0]
            found.add(name, f"the id {row.id!r} is already that of line {first}", line, kind="duplicate ids")
        else:
            rows[row.id] = line, row
    return rows


def _rows(numbered: dict[str, tuple[int, RowT]]) -> list[RowT]:
    return [row for _, row in numbered.values()]


def _check_messages(
    messages: dict[str, tuple[int, MessageRow]], topics: dict[str, tuple[int, TopicRow]], found: Found
) -> None:
    for line, row in messages.values():
        if row.topic_id not in topics:
            found.add(MESSAGES, f"there is no topic with the id {row.topic_id!r}", line, kind="references")
        if row.parent_id is None:
            continue
        parent = messages.get(row.parent_id)
        if parent is None or row.parent_id == row.id:
            found.add(MESSAGES, f"there is no other message with the id {row.parent_id!r}", line, kind="references")
        elif parent[1].topic_id != row.topic_id:
            found.add(MESSAGES, f"its parent {row.parent_id!r} belongs to another topic", line, kind="references")


def _check_files(root: Path, kernels: dict[str, tuple[int, KernelRow]], found: Found) -> None:
    for line, row in kernels.values():
        for path in (row.path, row.output):
            if path is not None and resolve_inside(root / COMMUNITY, path) is None:
                message = f"its file {path!r} is missing, or lies outside of {COMMUNITY}/"
                found.add(KERNELS, message, line, kind="files")

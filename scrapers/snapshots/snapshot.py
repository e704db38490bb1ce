"""A snapshot as the engine uses it: loaded whole or refused, a source of the community."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from scrapers.posts.cleaning import clean
from scrapers.posts.ingest import Raw
from scrapers.snapshots.answers import ANSWERS
from scrapers.snapshots.card import Direction, TaskCard
from scrapers.snapshots.check import check
from scrapers.snapshots.community import Community
from scrapers.snapshots.fields import parse_time
from scrapers.snapshots.inside import DATA, walk
from scrapers.snapshots.manifest import DESCRIPTION, Manifest
from state.errors import SnapshotError
from state.tables import CommunityRow, KernelVersion, Message, Observation
from state.words import plural


@dataclass(frozen=True)
class Summary:
    """Counts of what a snapshot holds."""

    teams: int
    """Entries of the leaderboard."""
    data_files: int
    data_bytes: int
    topics: int
    messages: int
    kernels: int
    """Different kernels (refs); each may have several versions."""
    kernel_versions: int
    observations: int
    undated_topics: int
    """Rows without a time are never visible at any cutoff."""
    undated_messages: int
    undated_kernel_versions: int

    @property
    def undated(self) -> int:
        """Rows of all kinds without a time."""
        return self.undated_topics + self.undated_messages + self.undated_kernel_versions

    @property
    def without_community(self) -> bool:
        """Whether there is neither a topic nor a message nor a kernel."""
        return not (self.topics or self.messages or self.kernel_versions)


@dataclass(frozen=True)
class Snapshot:
    """One competition as of the day it was collected, checked."""

    path: Path
    manifest: Manifest
    card: TaskCard
    leaderboard: list[float]
    """The private leaderboard's scores in file order, best first."""
    community: Community
    summary: Summary
    shift: timedelta = timedelta(0)
    """By how much the times of the card and of the community are later than the files say; the manifest is as it is."""

    @classmethod
    def load(cls, path: Path, metrics: Mapping[str, Direction]) -> "Snapshot":
        """Load and check the snapshot in the folder `path`.

        Args:
            path: the snapshot's folder; it is never written to.
            metrics: the metrics that can be computed, by name, and the direction of each.

        Raises:
            SnapshotError: it breaks the format; `problems` holds all that is wrong, each with its file and line.
        """
        checked = check(path, metrics)
        if checked.problems or checked.manifest is None:
            raise SnapshotError(checked.problems)
        description = clean((path / DESCRIPTION).read_text(encoding="utf-8", errors="replace"))
        return cls(
            path=path,
            manifest=checked.manifest,
            card=checked.manifest.card(description),
            leaderboard=checked.leaderboard,
            community=checked.community,
            summary=_summary(path, checked.leaderboard, checked.community),
        )

    @property
    def data(self) -> Path:
        """The folder that agents may read."""
        return self.path / DATA

    @property
    def answers(self) -> Path:
        """The hidden answers, for the evaluator alone."""
        return self.path / ANSWERS


class SnapshotSource:
    """A snapshot as a `CommunitySource`."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    async def changes(self, since: str | None) -> AsyncIterator[Raw]:
        """Yield the community's rows, their texts still to be cleaned.

        Which of them may be seen at a time is for queries with `as_of` to say.

        Args:
            since: None for all rows, undated ones included; an ISO time in UTC for those that are newer.
        """
        after = None if since is None else parse_time(since)
        for raw in self._snapshot.community.raws(self._snapshot.path, self._snapshot.card.slug):
            time = _time(raw.row)
            if after is None or (time is not None and time > after):
                yield raw


def format_summary(snapshot: Snapshot) -> list[str]:
    """Describe a snapshot in a few lines for a terminal, the undated rows and a missing community included."""
    card, summary = snapshot.card, snapshot.summary
    targets = plural(len(card.prediction_columns), "prediction column")
    id_columns = " with ".join(f"`{name}`" for name in card.row_columns)
    lines = [
        f"{card.slug}: {card.title} ({card.category})",
        f"task: {card.metric.name}, {card.metric.direction}; id {id_columns}, {targets}",
        f"time: {_minute(card.enabled_at)} to {_minute(card.deadline)}, "
        f"collected {_minute(snapshot.manifest.collected_at)}",
        f"data: {plural(summary.data_files, 'file')}, {summary.data_bytes / 1e6:,.1f} MB; "
        f"leaderboard: {plural(summary.teams, 'team')}",
    ]
    if summary.without_community:
        return [*lines, "community: none (a run on this snapshot learns from nobody)"]
    lines.append(
        f"community: {_counted(summary.topics, summary.messages, summary.kernel_versions)} of "
        f"{plural(summary.kernels, 'kernel')}, {plural(summary.observations, 'observation')}"
    )
    if summary.undated:
        lines.append(
            "undated, so never shown at any cutoff: "
            f"{_counted(summary.undated_topics, summary.undated_messages, summary.undated_kernel_versions)}"
        )
    if dated := snapshot.manifest.dated_at_deadline:
        lines.append(
            "without a time of their own, so dated at the deadline on import: "
            f"{_counted(dated.topics, dated.messages, dated.kernels)}"
        )
    return lines


def _counted(topics: int, messages: int, versions: int) -> str:
    return f"{plural(topics, 'topic')}, {plural(messages, 'message')}, {plural(versions, 'kernel version')}"


def _summary(root: Path, board: list[float], community: Community) -> Summary:
    files = [path for path in walk(root / DATA) if path.is_file()]
    return Summary(
        teams=len(board),
        data_files=len(files),
        data_bytes=sum(path.stat().st_size for path in files),
        topics=len(community.topics),
        messages=len(community.messages),
        kernels=len({kernel.ref for kernel in community.kernels}),
        kernel_versions=len(community.kernels),
        observations=len(community.observations),
        undated_topics=sum(topic.posted_at is None for topic in community.topics),
        undated_messages=sum(message.posted_at is None for message in community.messages),
        undated_kernel_versions=sum(kernel.created_at is None for kernel in community.kernels),
    )


def _time(row: CommunityRow) -> datetime | None:
    if isinstance(row, Observation):
        return row.at
    if isinstance(row, KernelVersion):
        return row.created_at
    if isinstance(row, Message) and row.posted_at and row.edited_at:
        return max(row.posted_at, row.edited_at)
    return row.posted_at


def _minute(time: datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M} UTC"

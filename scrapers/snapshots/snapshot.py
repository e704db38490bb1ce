"""A snapshot as the engine uses it: loaded whole or refused."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from scrapers.posts.cleaning import clean
from scrapers.snapshots.answers import ANSWERS
from scrapers.snapshots.card import Direction, TaskCard
from scrapers.snapshots.check import check
from scrapers.snapshots.community import Community
from scrapers.snapshots.files import DATA, walk
from scrapers.snapshots.manifest import DESCRIPTION, Manifest
from state.errors import SnapshotError
from state.words import moment, plural


@dataclass(frozen=True)
class Snapshot:
    """One competition as of the day it was collected, checked."""

    path: Path
    manifest: Manifest
    card: TaskCard
    leaderboard: list[float]
    """The private leaderboard's scores in file order, best first."""
    community: Community
    shift: timedelta = timedelta(0)
    """Added to the times of the card and of the community; the manifest keeps its own."""

    @classmethod
    def load(
        cls, path: Path, metrics: Mapping[str, Direction], *, own_data: bool = False, community_only: bool = False
    ) -> "Snapshot":
        """Load and check a snapshot, to which nothing is written; see `check`. Raises SnapshotError with all its faults."""
        checked = check(path, metrics, own_data=own_data, community_only=community_only)
        if checked.problems or checked.manifest is None:
            raise SnapshotError(checked.problems)
        description = clean((path / DESCRIPTION).read_text(encoding="utf-8", errors="replace"))
        return cls(
            path=path,
            manifest=checked.manifest,
            card=checked.manifest.card(description),
            leaderboard=checked.leaderboard,
            community=checked.community,
        )

    @property
    def data(self) -> Path:
        """The folder that agents may read."""
        return self.path / DATA

    @property
    def answers(self) -> Path:
        """The hidden answers, for the evaluator alone."""
        return self.path / ANSWERS


def format_summary(snapshot: Snapshot) -> list[str]:
    """Describe a snapshot in a few lines for a terminal, the undated rows and a missing community included."""
    card, community = snapshot.card, snapshot.community
    topics, messages, kernels = community.topics, community.messages, community.kernels
    lines = [
        f"{card.slug}: {card.title} ({card.category})",
        f"task: {card.metric.name}, {card.metric.direction}; {_columns(card)}",
        f"time: {moment(card.enabled_at)} to {moment(card.deadline)}, "
        f"collected {moment(snapshot.manifest.collected_at)}",
    ]
    if snapshot.data.exists():
        sizes = [path.stat().st_size for path in walk(snapshot.data) if path.is_file()]
        files = f"{plural(len(sizes), 'file')}, {sum(sizes) / 1e6:,.1f} MB"
        lines.append(f"data: {files}; leaderboard: {plural(len(snapshot.leaderboard), 'team')}")
    else:
        lines.append("data: not included (posts can be read but not replayed)")
    if not (topics or messages or kernels):
        return [*lines, "community: none"]
    lines.append(
        f"community: {_post_counts(len(topics), len(messages), len(kernels))} of "
        f"{plural(len({kernel.ref for kernel in kernels}), 'kernel')}, "
        f"{plural(len(community.observations), 'observation')}"
    )
    if board := community.public_leaderboard:
        lines.append(
            f"public leaderboard by day: {plural(len({row.team for row in board}), 'team')}, {len(board):,} scores"
        )
    if snapshot.manifest.exact_dates:
        lines.append("dates: exact for every post, vote, score and tier")
    undated = (
        sum(topic.posted_at is None for topic in topics),
        sum(message.posted_at is None for message in messages),
        sum(kernel.created_at is None for kernel in kernels),
    )
    if any(undated):
        lines.append(f"undated and therefore never shown: {_post_counts(*undated)}")
    if dated := snapshot.manifest.dated_at_deadline:
        lines.append(
            "undated, so imported with the deadline as their date: "
            f"{_post_counts(dated.topics, dated.messages, dated.kernels)}"
        )
    return lines


def _columns(card: TaskCard) -> str:
    if not card.id_column:
        return "columns unknown"
    id_columns = " with ".join(f"`{name}`" for name in card.row_columns)
    return f"id {id_columns}, {plural(len(card.prediction_columns), 'prediction column')}"


def _post_counts(topics: int, messages: int, versions: int) -> str:
    return f"{plural(topics, 'topic')}, {plural(messages, 'message')}, {plural(versions, 'kernel version')}"

"""The check of a snapshot that claims exact dates: nothing in its community can be seen before it was known.

A row is shown from its time, a vote, score or tier from the time of its observation. So each must have a time, no earlier
than that of what it belongs to; and what is known only as of the day of collection must not be there at all.
"""

from collections.abc import Iterator
from datetime import datetime, time

from scrapers.snapshots.community import (
    KERNELS,
    MESSAGES,
    OBSERVATIONS,
    PUBLIC_LEADERBOARD,
    TOPICS,
    Community,
    KernelRow,
    MessageRow,
    TopicRow,
)
from scrapers.snapshots.manifest import Manifest
from scrapers.snapshots.problems import Problems
from state.words import iso


def check_exact_dates(manifest: Manifest, community: Community, problems: Problems) -> None:
    """Report everything that a run could see before its time."""
    for file, item, message in _faults(manifest, community):
        problems.add(file, f"{item}: {message}", kind=f"dates: {message}")


def _faults(manifest: Manifest, community: Community) -> Iterator[tuple[str, str, str]]:
    """Yield file, item and what is wrong with it."""
    topics = {row.id: row.posted_at for row in community.topics}
    messages = {row.id: row.posted_at for row in community.messages}
    kernels = {row.id: row.created_at for row in community.kernels}
    first_versions: dict[str, datetime] = {}
    for kernel in community.kernels:
        if kernel.created_at is not None:
            first_versions[kernel.ref] = min(first_versions.get(kernel.ref, kernel.created_at), kernel.created_at)

    def row_faults(
        row: TopicRow | MessageRow | KernelRow, at: datetime | None, *parents: datetime | None
    ) -> Iterator[str]:
        if at is None:
            yield "has no time"
        elif not manifest.enabled_at <= at <= manifest.collected_at:
            yield "is dated before the competition's start, or after the day of collection"
        elif any(parent is not None and parent > at for parent in parents):
            yield "is dated before what it belongs to"
        if row.votes is not None or row.tier is not None:
            yield "has votes or a tier of the day of collection"

    for topic in community.topics:
        yield from ((TOPICS, topic.id, fault) for fault in row_faults(topic, topic.posted_at))
        if topic.title is not None:
            yield TOPICS, topic.id, "has a title of the day of collection"
    for message in community.messages:
        parents = (topics.get(message.topic_id), messages.get(message.parent_id or ""))
        yield from ((MESSAGES, message.id, fault) for fault in row_faults(message, message.posted_at, *parents))
    for kernel in community.kernels:
        parent = first_versions.get(kernel.parent_ref or "")
        yield from ((KERNELS, kernel.id, fault) for fault in row_faults(kernel, kernel.created_at, parent))
        if kernel.public_score is not None:
            yield KERNELS, kernel.id, "has a score of the day of collection"
    yield from _reading_faults(manifest, community, {"topic": topics, "message": messages, "kernel": kernels})


def _reading_faults(
    manifest: Manifest, community: Community, times: dict[str, dict[str, datetime | None]]
) -> Iterator[tuple[str, str, str]]:
    """Check readings: their sources have dates without a time of day, so that they count from midnight, or with their post."""
    votes: dict[tuple[str, str], int] = {}
    for row in sorted(community.observations, key=lambda row: row.at):
        item, posted_at = f"{row.target} {row.id} at {iso(row.at)}", times[row.target].get(row.id)
        if posted_at is not None and row.at < posted_at:
            yield OBSERVATIONS, item, "is dated before its post"
        elif row.at.time() != time() and row.at != posted_at:
            yield OBSERVATIONS, item, "is dated neither at midnight nor with its post"
        if row.at > manifest.collected_at:
            yield OBSERVATIONS, item, "is dated after the day of collection"
        if row.votes is not None and row.votes < votes.get((row.target, row.id), 0):
            yield OBSERVATIONS, item, "has fewer votes than an earlier reading"
        if row.votes is not None:
            votes[row.target, row.id] = max(row.votes, votes.get((row.target, row.id), 0))
    best: dict[str, float] = {}
    sign = 1 if manifest.metric.direction == "maximize" else -1
    for score in community.public_leaderboard:
        item = f"team {score.team} at {iso(score.at)}"
        if score.at.time() != time() and score.at != manifest.enabled_at:
            yield PUBLIC_LEADERBOARD, item, "is not dated at midnight"
        if not manifest.enabled_at <= score.at <= manifest.collected_at:
            yield PUBLIC_LEADERBOARD, item, "is dated before the competition's start, or after the day of collection"
        if score.team in best and sign * score.score <= sign * best[score.team]:
            yield PUBLIC_LEADERBOARD, item, "is no better than an earlier score of its team"
        best[score.team] = score.score

"""The checks of a snapshot: all faults are reported together, with file and line."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, time
from pathlib import Path

from scrapers.snapshots.answers import ANSWERS, SAMPLE, check_answers
from scrapers.snapshots.archives import check_archive, is_archive
from scrapers.snapshots.card import Direction
from scrapers.snapshots.community import (
    COMMUNITY,
    KERNELS,
    MESSAGES,
    OBSERVATIONS,
    PUBLIC_LEADERBOARD,
    TOPICS,
    Community,
    KernelRow,
    MessageRow,
    TopicRow,
    read_community,
)
from scrapers.snapshots.files import DATA, GRADER, check_links, escapes, resolve_inside, walk
from scrapers.snapshots.leaderboard import LEADERBOARD, read_leaderboard
from scrapers.snapshots.leaks import check_leaks
from scrapers.snapshots.manifest import DESCRIPTION, MANIFEST, Manifest, read_manifest
from scrapers.snapshots.problems import Problems
from scrapers.snapshots.tables import ends_within_row, is_table
from state.errors import Problem
from state.files import sha256_of
from state.words import did_you_mean, iso, plural


def _date_faults(manifest: Manifest, community: Community) -> Iterator[tuple[str, str, str]]:
    """Yield file, item and what is wrong with it, for all that a run could see before its time."""
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
            yield "is dated before the competition's start or after the day of collection"
        elif any(parent is not None and parent > at for parent in parents):
            yield "is dated before its parent"
        if row.votes is not None or row.tier is not None:
            yield "has votes or a tier as of the day of collection"

    for topic in community.topics:
        yield from ((TOPICS, topic.id, fault) for fault in row_faults(topic, topic.posted_at))
        if topic.title is not None:
            yield TOPICS, topic.id, "has a title as of the day of collection"
    for message in community.messages:
        parents = (topics.get(message.topic_id), messages.get(message.parent_id or ""))
        yield from ((MESSAGES, message.id, fault) for fault in row_faults(message, message.posted_at, *parents))
    for kernel in community.kernels:
        parent = first_versions.get(kernel.parent_ref or "")
        yield from ((KERNELS, kernel.id, fault) for fault in row_faults(kernel, kernel.created_at, parent))
        if kernel.public_score is not None:
            yield KERNELS, kernel.id, "has a score as of the day of collection"
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
            yield OBSERVATIONS, item, "has a date that is neither midnight nor the time of its post"
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
            yield PUBLIC_LEADERBOARD, item, "is dated before the competition's start or after the day of collection"
        if score.team in best and sign * score.score <= sign * best[score.team]:
            yield PUBLIC_LEADERBOARD, item, "is not better than an earlier score of the same team"
        best[score.team] = score.score


_MAX_NAMES = 5
"""Most snapshots named where a folder holds several."""
_REQUIRED = (DESCRIPTION, SAMPLE, ANSWERS, LEADERBOARD)


@dataclass(frozen=True)
class Checked:
    """The content of a snapshot as far as it can be read, and all its faults."""

    manifest: Manifest | None
    leaderboard: list[float]
    community: Community
    problems: tuple[Problem, ...]


def has_task(path: Path) -> bool:
    """Whether a snapshot has data or answers, or should have them; otherwise it is a community to read."""
    return (path / DATA).exists() or (path / ANSWERS).parent.exists() or not (path / COMMUNITY).exists()


def check(
    path: Path, metrics: Mapping[str, Direction], *, own_data: bool = False, community_only: bool = False
) -> Checked:
    """Check a snapshot against format 1, data and community included.

    Every file of `data/` is read once or twice, in pieces: about a second for 20 MB in 14,000 archive members. A
    fault of the snapshot never raises. One's own data has no leaderboard and need have no answers. With `community_only`
    it need have no task.
    """
    problems = Problems()
    if missed := _misplaced(path):
        problems.add(MANIFEST, missed)
        return Checked(None, [], Community(), problems.problems)
    check_links(path, problems)
    manifest = read_manifest(path, problems)
    hashes = manifest.sha256 if manifest else {}
    if not community_only and not has_task(path):
        problems.add(MANIFEST, "has community data but no task: it can be read but not replayed")
        return Checked(manifest, [], Community(), problems.problems)
    for name in _REQUIRED[:1] if community_only else _REQUIRED[:2] if own_data else _REQUIRED:
        if name not in hashes and resolve_inside(path, name) is None:
            problems.add(name, "is missing or outside the folder")
    _check_hashes(path, hashes, problems)
    if manifest and not community_only:
        if not manifest.id_column:
            problems.add(MANIFEST, "fields `id_column` and `prediction_columns` are missing")
        _check_metric(path, manifest, metrics, problems)
    board = read_leaderboard(path, manifest.metric.direction if manifest else None, problems)
    community = read_community(path, problems)
    damaged = _check_data(path, hashes, problems)
    if manifest and manifest.exact_dates:
        for file, item, message in _date_faults(manifest, community):
            problems.add(file, f"{item}: {message}", kind=f"dates: {message}")
    if manifest and not community_only:
        answers = check_answers(path, manifest, problems, own_grader=manifest.metric.name not in metrics)
        if answers is not None:
            check_leaks(path, answers, problems, damaged)
    return Checked(manifest, board, community, problems.problems)


def _misplaced(path: Path) -> str | None:
    """Return what to do where a path leads beside a snapshot: into one, above some, or nowhere."""
    if not path.is_dir():
        siblings = [sibling.name for sibling in _snapshots_in(path.parent)]
        suggestion = f"; {did_you_mean(path.name, siblings)}" if siblings else ""
        return f"no such folder: {path}{suggestion}"
    if (path / MANIFEST).exists():
        return None
    if within := _snapshots_in(path):
        names = ", ".join(str(snapshot) for snapshot in within[:_MAX_NAMES]) + (
            ", ..." if len(within) > _MAX_NAMES else ""
        )
        return f"{path} is not a snapshot, but it contains {plural(len(within), 'snapshot')}: {names}"
    parent = next((folder for folder in path.absolute().parents if (folder / MANIFEST).is_file()), None)
    return None if parent is None else f"{path} is inside the snapshot {parent}: use that folder instead"


def _snapshots_in(folder: Path) -> list[Path]:
    try:
        return sorted(manifest.parent for manifest in folder.glob(f"*/{MANIFEST}"))
    except OSError:
        return []


def _check_data(root: Path, hashes: Mapping[str, str], problems: Problems) -> frozenset[str]:
    """Check every archive of `data/`, and that tables end with a row; return the names of archives that cannot be read.

    A download that broke off ends in the middle of a row. A hash has checked its file.
    """
    damaged: set[str] = set()
    if not (root / DATA).is_dir():
        return frozenset()
    with problems.reading(DATA):
        for path in walk(root / DATA):
            name = path.relative_to(root).as_posix()
            if not path.is_file():
                continue
            if is_archive(path) and not check_archive(path, name, problems):
                damaged.add(name)
            elif name not in hashes and is_table(path.name) and ends_within_row(path):
                problems.add(name, "ends in the middle of a row", kind="truncated")
    return frozenset(damaged)


def _check_metric(root: Path, manifest: Manifest, metrics: Mapping[str, Direction], problems: Problems) -> None:
    metric = manifest.metric
    expected = metrics.get(metric.name)
    if expected is None and resolve_inside(root, GRADER) is None:
        suggestion = did_you_mean(metric.name, metrics)
        problems.add(MANIFEST, f"unknown metric {metric.name!r}, and the snapshot has no {GRADER}; {suggestion}")
    elif expected is not None and expected != metric.direction:
        problems.add(MANIFEST, f"the metric {metric.name!r} requires `direction` {expected}, not {metric.direction}")


def _check_hashes(root: Path, hashes: Mapping[str, str], problems: Problems) -> None:
    """Check that every file with a hash in the manifest exists inside the folder, and is unchanged."""
    for name, expected in sorted(hashes.items()):
        if escapes(name):
            problems.add(MANIFEST, f"`sha256` names {name!r}, which is outside the folder")
            continue
        path = resolve_inside(root, name)
        if path is None:
            hint = ": a snapshot without answers can be read but not replayed" if name == ANSWERS else ""
            problems.add(name, f"not found in the folder, although {MANIFEST} has its hash{hint}")
            continue
        with problems.reading(name):
            actual = sha256_of(path)
            if actual != expected:
                problems.add(name, f"has the SHA-256 {actual}, but {MANIFEST} says {expected}")

"""Storing kernels as lists show them, and their versions."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlmodel import Session, col, func, or_, select

from scrapers.kaggle.kernels import Kernel, KernelBlob
from scrapers.kaggle.polling.authors import known_tiers
from scrapers.kaggle.polling.settings import PollingSettings
from scrapers.kaggle.polling.watch import PollContext
from scrapers.posts.cleaners import CleanText
from scrapers.posts.cleaning import clean
from scrapers.posts.duplicates import note_sketches, sketched
from state.clock import midnight
from state.community_rows import observe
from state.series import last_reading
from state.store import Transaction, put_blob
from state.tables import KernelVersion, PolledKernel


@dataclass(frozen=True)
class FullSource:
    """A version with its metadata, its source, and its cleaned text."""

    metadata: Kernel
    blob: KernelBlob
    number: int | None
    served_at: datetime | None
    text: CleanText


def kernel_id(kernel: Kernel) -> str:
    """Return a kernel's id, which stays the same when its address changes."""
    return str(kernel.id) if kernel.id else kernel.ref


def version_id(kernel: str, number: int | None, run_at: datetime | None) -> str:
    """Return the id of a version's row: by its number or, if that is unknown, by the time of its run."""
    if number is not None:
        return f"{kernel}/v{number}"
    return f"{kernel}@{run_at.isoformat()}" if run_at else kernel


def kernels_to_read(
    session: Session, competition: str, settings: PollingSettings, now: datetime
) -> Sequence[PolledKernel]:
    """Return the promising kernels whose current version's source has not been read, as many as the day allows.

    Promising are those with the most votes, the best scores and the latest runs. The first comes first whose place in one
    of the three orders is best; a kernel far back in all of them is never read.
    """
    today = (PolledKernel.competition == competition, col(PolledKernel.read_at) >= midnight(now))
    quota = (
        settings.max_kernels_per_day - session.exec(select(func.count()).select_from(PolledKernel).where(*today)).one()
    )
    if quota <= 0:
        return []
    places = _places(session, competition, settings)
    query = select(PolledKernel).where(PolledKernel.competition == competition, col(PolledKernel.id).in_(places))
    is_moved = or_(
        col(PolledKernel.read_at).is_(None),
        col(PolledKernel.last_run_at).is_distinct_from(col(PolledKernel.read_last_run_at)),
        col(PolledKernel.number).is_distinct_from(col(PolledKernel.read_number)),
    )
    rows = session.exec(query.where(is_moved).order_by(col(PolledKernel.last_run_at).desc())).all()
    return sorted(rows, key=lambda row: places[row.id])[:quota]


def _places(session: Session, competition: str, settings: PollingSettings) -> dict[str, int]:
    """Return the ids of promising kernels, each with its best place, from 0, in the three orders."""
    is_listed = (PolledKernel.competition == competition, col(PolledKernel.gone_at).is_(None))
    latest, score = col(PolledKernel.last_run_at).desc(), col(PolledKernel.score)
    orders: list[tuple[int, tuple[Any, ...], tuple[Any, ...]]] = [
        (settings.top_kernels, (), (col(PolledKernel.votes).desc(), latest)),
        (settings.newest_kernels, (), (latest,)),
    ]
    board = last_reading(session, competition, "board", "top")
    direction = None if board is None else board.data.get("direction")
    if direction is not None:
        best = score.asc() if direction == "minimize" else score.desc()
        orders.append((settings.top_kernels, (score.is_not(None),), (best, latest)))
    places: dict[str, int] = {}
    for limit, also, order in orders:
        ids = session.exec(select(PolledKernel.id).where(*is_listed, *also).order_by(*order).limit(limit))
        for place, id in enumerate(ids):
            places[id] = min(place, places.get(id, place))
    return places


def store_kernels(
    tx: Transaction, watch: PollContext, kernels: Sequence[Kernel], served_at: datetime | None, *, backfill: bool
) -> set[str]:
    """Store a page of kernels; return the ids of those that have changed. In a backfill they may be older than the watch."""
    slug, ids = watch.competition, [kernel_id(kernel) for kernel in kernels]
    rows = watch.rows(tx.session, PolledKernel, ids)
    currents = watch.rows(tx.session, KernelVersion, [row.current_id for row in rows.values() if row.current_id])
    changed: set[str] = set()
    for kernel in kernels:
        id = kernel_id(kernel)
        row = rows.get(id)
        if row is None:
            row = rows[id] = PolledKernel(competition=slug, id=id, ref=kernel.ref)
            row.first_number = kernel.current_version_number if backfill else 1
            tx.add(row)
            watch.news.add("kernel new", kernel.ref)
            changed.add(id)
        row.votes = kernel.total_votes
        if _moved(tx, row, kernel):
            watch.news.add("kernel moved", kernel.ref)
            changed.add(id)
        if row.gone_at is not None:
            row.gone_at = None
            watch.news.add("kernel back", kernel.ref)
            changed.add(id)
        current = currents.get(row.current_id or "")
        is_read = current is not None and row.read_last_run_at == row.last_run_at
        if current and is_read and observe(tx, current, served_at, votes=kernel.total_votes):
            watch.news.add("votes", f"kernel/{current.id}")
            changed.add(id)
    tx.session.flush()
    return changed


def store_version(
    tx: Transaction, watch: PollContext, kernel_row: PolledKernel, source: FullSource, *, current: bool
) -> str:
    """Store a version, the current or a missed one, with its source and what it repeats, once; return its id.

    The current version gets the time of its run. That of an earlier one is unknown: it gets our time, and the votes in
    its answer are the kernel's, not its own.
    """
    kernel = source.metadata
    id = version_id(kernel_row.id, source.number, kernel.last_run_time)
    row = tx.session.get(KernelVersion, (watch.competition, id))
    if row is None:
        row = KernelVersion(competition=watch.competition, id=id, ref=kernel_row.ref, first_seen_at=tx.now())
        # As listed, unless there is a newer version than the list shows.
        is_listed = kernel_row.number is not None and kernel_row.number == source.number
        run_at = kernel_row.last_run_at if is_listed else kernel.last_run_time
        row.created_at = (run_at if current else None) or tx.now()
        watch.news.add("version new", id)
        tx.add(row)
    kind, language = kind_of(kernel, source.blob)
    row.version, row.url, row.text = source.number, _url(row.ref), source.text.text
    row.title, row.author = clean(kernel.title), clean(kernel.author) or None
    row.kind, row.language = kind or None, language or None
    row.datasets, row.raw_sha = list(kernel.dataset_data_sources), put_blob(tx, source.blob.source)
    if current:
        author = row.author or ""
        tier = known_tiers(tx.session, {author}).get(author) if row.tier is None else None
        observe(tx, row, source.served_at, votes=kernel.total_votes, tier=tier)
    note_sketches(tx, watch.competition, [sketched(row, source.text.sketch)])
    return id


def kind_of(kernel: Kernel, blob: KernelBlob) -> tuple[str, str]:
    """Return a version's kind and language, empty if unknown."""
    return clean(blob.kernel_type or kernel.kernel_type).lower(), clean(blob.language or kernel.language).lower()


def _moved(tx: Transaction, row: PolledKernel, kernel: Kernel) -> bool:
    """Take over the fields that show a new version; return whether they differ."""
    if kernel.ref and kernel.ref != row.ref:
        query = select(KernelVersion).where(KernelVersion.competition == row.competition, KernelVersion.ref == row.ref)
        for version in tx.session.exec(query):  # they are found by the address
            version.ref, version.url = kernel.ref, _url(kernel.ref)
        row.ref = kernel.ref
    number = kernel.current_version_number
    if number is None and kernel.last_run_time == row.last_run_at:
        number = row.number  # missing this time, and the same version as before
    key = (kernel.last_run_time, number)
    if key == (row.last_run_at, row.number):
        return False
    row.last_run_at, row.number = key
    return True


def _url(ref: str) -> str:
    return f"https://www.kaggle.com/code/{ref}"

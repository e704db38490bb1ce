"""Kernels as lists show them, and their versions, taken into the store."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session, col, select

from scrapers.kaggle.kernels import Kernel, KernelBlob
from scrapers.kaggle.polling.authors import known_tiers
from scrapers.kaggle.polling.watch import Watch
from scrapers.posts.cleaners import Cleaned, Source
from scrapers.posts.cleaning import clean
from scrapers.posts.duplicates import note_sketches, sketched
from state.community_rows import observe
from state.store import Transaction, put_blob
from state.tables import KernelVersion, PolledKernel


@dataclass(frozen=True)
class FullSource:
    """A version with its source, all of it told, and what it says."""

    metadata: Kernel
    blob: KernelBlob
    number: int | None
    served_at: datetime | None
    text: Cleaned


async def full_source(
    watch: Watch, metadata: Kernel, blob: KernelBlob, number: int | None, served_at: datetime | None
) -> FullSource:
    """Have a version's source cleaned."""
    kind, language = _kind(metadata, blob)
    (text,) = await watch.cleaners.clean([Source("kernel", blob.source, language, kind)])
    return FullSource(metadata, blob, number, served_at, text)


def kernel_id(kernel: Kernel) -> str:
    """Return what a kernel is known by, also when its address changes."""
    return str(kernel.id) if kernel.id else kernel.ref


def version_id(kernel: str, number: int | None, run_at: datetime | None) -> str:
    """Return the id of a version's row: by its number or, where none is told, by when it was run."""
    if number is not None:
        return f"{kernel}/v{number}"
    return f"{kernel}@{run_at.isoformat()}" if run_at else kernel


def moved_kernels(session: Session, competition: str) -> Sequence[PolledKernel]:
    """Return the kernels whose current version's source is not read, those that were run last first."""
    moved = (
        col(PolledKernel.read_at).is_(None)
        | col(PolledKernel.last_run_at).is_distinct_from(col(PolledKernel.read_last_run_at))
        | col(PolledKernel.number).is_distinct_from(col(PolledKernel.read_number))
    )
    query = select(PolledKernel).where(
        PolledKernel.competition == competition, col(PolledKernel.gone_at).is_(None), moved
    )
    return session.exec(query.order_by(col(PolledKernel.last_run_at).desc())).all()


def store_kernels(
    tx: Transaction, watch: Watch, kernels: Sequence[Kernel], served_at: datetime | None, *, backfill: bool
) -> set[str]:
    """Store what a page says of kernels; return the ids of those that are not as they were.

    Args:
        tx: the transaction.
        watch: the competition's.
        kernels: the page.
        served_at: the site's time.
        backfill: whether they may have been there long before anybody watched.
    """
    here, ids = watch.competition, [kernel_id(kernel) for kernel in kernels]
    query = select(PolledKernel).where(PolledKernel.competition == here, col(PolledKernel.id).in_(ids))
    known = {row.id: row for row in tx.session.exec(query)}
    currents = _versions(tx, here, [row.current_id for row in known.values() if row.current_id])
    changed: set[str] = set()
    for kernel in kernels:
        id = kernel_id(kernel)
        row = known.get(id)
        if row is None:
            row = known[id] = PolledKernel(competition=here, id=id, ref=kernel.ref)
            row.first_number = kernel.current_version_number if backfill else 1
            tx.add(row)
            watch.news.add("kernel new", kernel.ref)
            changed.add(id)
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


def _versions(tx: Transaction, competition: str, ids: Sequence[str]) -> dict[str, KernelVersion]:
    query = select(KernelVersion).where(KernelVersion.competition == competition, col(KernelVersion.id).in_(ids))
    return {row.id: row for row in tx.session.exec(query)}


def store_version(tx: Transaction, watch: Watch, polled: PolledKernel, source: FullSource, *, current: bool) -> str:
    """Store a version, the current or a missed one, with its source and what it repeats, once; return its id.

    The current one is dated with when it was run. When an earlier one was, nobody tells: it is dated with our time, and
    what is told with it of votes is the kernel's, not its own.
    """
    told = source.metadata
    id = version_id(polled.id, source.number, told.last_run_time)
    row = tx.session.get(KernelVersion, (watch.competition, id))
    if row is None:
        row = KernelVersion(competition=watch.competition, id=id, ref=polled.ref, first_seen_at=tx.now())
        row.created_at = (_run_at(polled, source) if current else None) or tx.now()
        watch.news.add("version new", id)
        tx.add(row)
    _describe(tx, row, source)
    if current:
        author = row.author or ""
        tier = known_tiers(tx.session, {author}).get(author) if row.tier is None else None
        observe(tx, row, source.served_at, votes=told.total_votes, tier=tier)
    note_sketches(tx, watch.competition, [sketched(row, source.text.sketch)])
    return id


def _run_at(polled: PolledKernel, source: FullSource) -> datetime | None:
    """Return when the current version was run: as listed, unless another one has come since the list."""
    as_listed = polled.number is not None and polled.number == source.number
    return polled.last_run_at if as_listed else source.metadata.last_run_time


def _describe(tx: Transaction, row: KernelVersion, source: FullSource) -> None:
    told, blob = source.metadata, source.blob
    kind, language = _kind(told, blob)
    values = {
        "version": source.number,
        "title": clean(told.title),
        "author": clean(told.author) or None,
        "language": language or None,
        "kind": kind or None,
        "datasets": list(told.dataset_data_sources),
        "url": _url(row.ref),
        "text": source.text.text,
        "raw_sha": put_blob(tx, blob.source),
    }
    for name, value in values.items():
        if getattr(row, name) != value:
            setattr(row, name, value)


def _kind(told: Kernel, blob: KernelBlob) -> tuple[str, str]:
    """Return a version's kind and language, empty where they are not told."""
    return clean(blob.kernel_type or told.kernel_type).lower(), clean(blob.language or told.language).lower()


def _moved(tx: Transaction, row: PolledKernel, kernel: Kernel) -> bool:
    """Take over what tells of a new version; return whether it differs."""
    if kernel.ref and kernel.ref != row.ref:
        _rename(tx, row, kernel.ref)
    number = kernel.current_version_number
    if number is None and kernel.last_run_time == row.last_run_at:
        number = row.number  # not told this time, and the same version as before
    key = (kernel.last_run_time, number)
    if key == (row.last_run_at, row.number):
        return False
    row.last_run_at, row.number = key
    return True


def _rename(tx: Transaction, row: PolledKernel, ref: str) -> None:
    """Give a kernel its new address, and its versions, which are found by it."""
    query = select(KernelVersion).where(KernelVersion.competition == row.competition, KernelVersion.ref == row.ref)
    for version in tx.session.exec(query):
        version.ref, version.url = ref, _url(ref)
    row.ref = ref


def _url(ref: str) -> str:
    return f"https://www.kaggle.com/code/{ref}"

"""Polling of sources: of kernels with a new version, and of versions that came and went between two readings."""

from collections.abc import Iterator

from sqlmodel import col, select

from scrapers.kaggle.kernels import Kernels
from scrapers.kaggle.polling.kernel_rows import FullSource, kernels_to_read, kind_of, store_version, version_id
from scrapers.kaggle.polling.schedule import ready, record_failure
from scrapers.kaggle.polling.watch import PollContext
from scrapers.posts.cleaners import RawPost
from state.errors import Forbidden, KaggleError, NotAuthenticated, NotFound, UnknownAnswer
from state.store import Transaction
from state.tables import KernelVersion, PolledKernel


async def poll_sources(watch: PollContext) -> None:
    """Read the source of promising kernels that were run since it was last read; see `kernels_to_read`.

    A kernel that cannot be read does not stop the others. Errors of the whole site as of `KaggleClient`.
    """
    with watch.store.read() as session:
        kernels = kernels_to_read(session, watch.competition, watch.settings, watch.now())
    due = ready(kernels, watch.now(), watch.settings)
    for kernel in due if watch.all_since else due[: watch.settings.kernels_at_once]:
        try:
            await _read_kernel(watch, kernel)
        except NotAuthenticated:
            raise
        except KaggleError:
            # Perhaps withdrawn by its author: then the sweep will notice.
            with watch.write() as tx:
                record_failure(tx.session.get_one(PolledKernel, (kernel.competition, kernel.id)), tx.now())
    with watch.write() as tx:
        watch.move(tx, "sources", None, None)


async def _read_kernel(watch: PollContext, kernel: PolledKernel) -> None:
    """Read the versions that were missed, then the current one, each in a transaction of its own."""
    current = None if kernel.number is not None else await _source(watch, kernel, None)
    for number in _missed(watch, kernel, current.number if current else kernel.number):
        try:
            source = await _source(watch, kernel, number)
        except (NotFound, Forbidden):
            continue  # never public, or withdrawn
        with watch.write() as tx:
            store_version(tx, watch, kernel, source, current=False)
    current = current or await _current(watch, kernel)
    with watch.write() as tx:
        _was_read(tx, kernel, store_version(tx, watch, kernel, current, current=True))


async def _current(watch: PollContext, kernel: PolledKernel) -> FullSource:
    """Return the current version's source, by the listed number or, if the site lacks that, without a number."""
    try:
        return await _source(watch, kernel, kernel.number)
    except NotFound:
        return await _source(watch, kernel, None)


async def _source(watch: PollContext, kernel: PolledKernel, number: int | None) -> FullSource:
    """Return a version's source; without a number, the current one's, whose number the answer may hold."""
    answer = await Kernels(watch.client).source(kernel.ref, number)
    if answer.metadata is None or answer.blob is None:
        raise UnknownAnswer(f"Kaggle's answer to GetKernel for {kernel.ref} holds no source")
    number = number if number is not None else answer.metadata.current_version_number
    kind, language = kind_of(answer.metadata, answer.blob)
    (text,) = await watch.cleaners.clean([RawPost("kernel", answer.blob.source, language, kind)])
    return FullSource(answer.metadata, answer.blob, number, answer.served_at, text)


def _missed(watch: PollContext, kernel: PolledKernel, current: int | None) -> Iterator[int]:
    """Yield the numbers of versions between the last one read and the current one that are not stored."""
    slug = watch.competition
    with watch.store.read() as session:
        before = session.get(KernelVersion, (slug, kernel.current_id)) if kernel.current_id else None
        first = kernel.first_number or current
        if before is not None:
            first = before.version + 1 if before.version is not None else current
        if current is None or first is None:
            return
        numbers = range(max(first, current - watch.settings.missed_versions), current)
        ids = {version_id(kernel.id, number, None): number for number in numbers}
        query = select(KernelVersion.id).where(KernelVersion.competition == slug, col(KernelVersion.id).in_(ids))
        known_ids = set(session.exec(query))
    yield from (number for id, number in ids.items() if id not in known_ids)


def _was_read(tx: Transaction, kernel: PolledKernel, current_id: str) -> None:
    """Record that the source is read for the state that lists showed before the request."""
    row = tx.session.get_one(PolledKernel, (kernel.competition, kernel.id))
    row.read_last_run_at, row.read_number = kernel.last_run_at, kernel.number
    row.current_id, row.read_at, row.tried_at, row.failures = current_id, tx.now(), None, 0

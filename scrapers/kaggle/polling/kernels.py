"""Polling of kernels and their sources: the latest runs first, back to those seen by an earlier poll; and slow sweeps."""

from collections.abc import Iterator

from sqlmodel import col, select

from scrapers.kaggle.kernels import Kernel, KernelPage, Kernels
from scrapers.kaggle.polling.kernel_rows import (
    FullSource,
    kernel_id,
    kernels_to_read,
    kind_of,
    store_kernels,
    store_version,
    version_id,
)
from scrapers.kaggle.polling.passes import ListMark, Pass, ScanLimits, ScannedItem, is_descending, next_pass
from scrapers.kaggle.polling.schedule import ready, record_failure
from scrapers.kaggle.polling.watch import Part, PollContext
from scrapers.posts.cleaners import RawPost
from state.errors import Forbidden, KaggleError, NotAuthenticated, NotFound, UnknownAnswer
from state.tables import KernelVersion, PolledKernel


async def poll_sources(watch: PollContext) -> None:
    """Read the source of promising kernels that were run since it was last read; see `kernels_to_read`.

    A kernel that cannot be read does not stop the others. Errors of the whole site as of `KaggleClient`.
    """
    with watch.store.read() as session:
        kernels = kernels_to_read(session, watch.competition, watch.settings, watch.now())
    due = ready(kernels, watch.now(), watch.settings)
    for kernel in due if watch.all_since else due[: watch.settings.max_kernels_per_cycle]:
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
        current_id = store_version(tx, watch, kernel, current, current=True)
        # Read up to the state that lists showed before the request.
        row = tx.session.get_one(PolledKernel, (kernel.competition, kernel.id))
        row.read_last_run_at, row.read_number = kernel.last_run_at, kernel.number
        row.current_id, row.read_at, row.tried_at, row.failures = current_id, tx.now(), None, 0


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
        raise UnknownAnswer(f"Kaggle's answer to GetKernel for {kernel.ref} contains no source")
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
        numbers = range(max(first, current - watch.settings.max_missed_versions), current)
        ids = {version_id(kernel.id, number, None): number for number in numbers}
        query = select(KernelVersion.id).where(KernelVersion.competition == slug, col(KernelVersion.id).in_(ids))
        known_ids = set(session.exec(query))
    yield from (number for id, number in ids.items() if id not in known_ids)


async def poll_kernels(watch: PollContext) -> None:
    """Read kernels until one was run before the watermark; the first time, read all.

    Errors as of `KaggleClient`; what was read before one stays, and the next poll continues there.
    """
    mark = watch.mark("kernels", ListMark)
    first = mark.high is None
    is_over = False
    while not is_over:
        current = (mark.current or Pass()).resumed(watch.now())
        answer = await _page(watch, "kernels", current)
        with watch.write() as tx:
            changed = store_kernels(tx, watch, _public(answer), answer.served_at, backfill=first)
            items = _scanned_items(answer, changed)
            # If the times are not descending, a low one proves nothing, and all pages are read.
            limits = ScanLimits(
                mark.high if is_descending(items) else None, watch.settings.overlap, watch.settings.max_pages
            )
            current = next_pass(current, items, limits, watch.now(), token=answer.next_page_token)
            is_over = current.listed
            high = (current.high or mark.high or answer.served_at) if is_over else mark.high
            mark = ListMark(high=high, current=None if is_over else current)
            watch.move(tx, "kernels", mark, answer.served_at, ended=is_over)
            if is_over and first:
                watch.move(tx, "kernel_sweep", None, answer.served_at)


async def sweep_kernels(watch: PollContext) -> None:
    """Read all kernels for their votes, and check whether known ones that were not listed are gone.

    Errors as of `KaggleClient`; after one the next poll continues there.
    """
    part: Part = "kernel_sweep"
    mark = watch.mark(part, ListMark)
    while mark.current is None or not mark.current.listed:
        current = (mark.current or Pass()).resumed(watch.now())
        answer = await _page(watch, part, current)
        with watch.write() as tx:
            store_kernels(tx, watch, _public(answer), answer.served_at, backfill=False)
            limits = ScanLimits(None, 0.0, watch.settings.max_pages)
            current = next_pass(
                current, _scanned_items(answer, set()), limits, watch.now(), token=answer.next_page_token
            )
            mark = ListMark(current=current)
            watch.move(tx, part, mark, answer.served_at, ended=False)
    await _ask_for_missed(watch, mark.current)


async def _page(watch: PollContext, part: Part, current: Pass) -> KernelPage:
    try:
        return await Kernels(watch.client).list_page(watch.competition, current.page, current.token)
    except KaggleError as error:
        if not current.token or isinstance(error, NotAuthenticated | Forbidden):
            raise
        # A token kept over an interruption may have expired: the next poll begins at the first page.
        high = watch.mark(part, ListMark).high
        with watch.write() as tx:
            watch.move(tx, part, ListMark(high=high), None, ended=False)
        raise UnknownAnswer(f"Kaggle's notebook list was interrupted: {error}") from error


def _public(answer: KernelPage) -> list[Kernel]:
    return [kernel for kernel in answer.kernels if not kernel.is_private and kernel.ref]


def _scanned_items(answer: KernelPage, changed: set[str]) -> list[ScannedItem]:
    return [
        ScannedItem(kernel_id(kernel), kernel.last_run_time, changed=kernel_id(kernel) in changed)
        for kernel in answer.kernels
        if kernel.ref
    ]


async def _ask_for_missed(watch: PollContext, current: Pass) -> None:
    """Request each kernel that the sweep should have seen: it may have changed its place while the list was read."""
    conditions = (PolledKernel.competition == watch.competition, col(PolledKernel.gone_at).is_(None))
    query = select(PolledKernel.id, PolledKernel.ref).where(*conditions).order_by(PolledKernel.id)
    with watch.store.read() as session:
        missed = [(id, ref) for id, ref in session.exec(query) if id not in set(current.seen)]
    for id, ref in missed[: watch.settings.max_lookups_per_cycle]:
        is_public = await _is_public(watch, ref)
        current = current.model_copy(update={"seen": (*current.seen, id)})
        with watch.write() as tx:
            if not is_public:
                tx.session.get_one(PolledKernel, (watch.competition, id)).gone_at = tx.now()
                watch.news.add("kernel gone", ref)
            watch.move(tx, "kernel_sweep", ListMark(current=current), None, ended=False)
    with watch.write() as tx:
        watch.move(tx, "kernel_sweep", None, None)


async def _is_public(watch: PollContext, ref: str) -> bool:
    try:
        source = await Kernels(watch.client).source(ref)
    except (NotFound, Forbidden):
        return False
    return source.metadata is None or not source.metadata.is_private

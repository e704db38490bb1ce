"""Polling of kernels: the latest runs first, back to those that an earlier poll has seen; and slow sweeps of all."""

from sqlmodel import col, select

from scrapers.kaggle.kernels import Kernel, KernelPage, Kernels
from scrapers.kaggle.polling.kernel_rows import kernel_id, store_kernels
from scrapers.kaggle.polling.passes import ListMark, Pass, ScanLimits, ScannedItem, is_descending, next_pass
from scrapers.kaggle.polling.watch import Part, PollContext
from state.errors import Forbidden, KaggleError, NotAuthenticated, NotFound, UnknownAnswer
from state.tables import PolledKernel


async def poll_kernels(watch: PollContext) -> None:
    """Read kernels until one was run before the watermark; the first time, read all.

    Errors as of `KaggleClient`; what was read before one stays, and the next poll continues there.
    """
    mark = watch.mark("kernels", ListMark)
    first = mark.high is None
    is_over = False
    while not is_over:
        current = (mark.under_way or Pass()).resumed(watch.now())
        answer = await _page(watch, "kernels", current)
        with watch.write() as tx:
            changed = store_kernels(tx, watch, _public(answer), answer.served_at, backfill=first)
            items = _listed(answer, changed)
            # If the times are not descending, a low one proves nothing, and all pages are read.
            limits = ScanLimits(
                mark.high if is_descending(items) else None, watch.settings.overlap, watch.settings.most_pages
            )
            current = next_pass(current, items, limits, watch.now(), token=answer.next_page_token)
            is_over = current.listed
            high = (current.high or mark.high or answer.served_at) if is_over else mark.high
            mark = ListMark(high=high, under_way=None if is_over else current)
            watch.move(tx, "kernels", mark, answer.served_at, ended=is_over)
            if is_over and first:
                watch.move(tx, "kernel_sweep", None, answer.served_at)


async def sweep_kernels(watch: PollContext) -> None:
    """Read all kernels for their votes, and check whether known ones that were not listed are gone.

    Errors as of `KaggleClient`; after one the next poll continues there.
    """
    part: Part = "kernel_sweep"
    mark = watch.mark(part, ListMark)
    while mark.under_way is None or not mark.under_way.listed:
        current = (mark.under_way or Pass()).resumed(watch.now())
        answer = await _page(watch, part, current)
        with watch.write() as tx:
            store_kernels(tx, watch, _public(answer), answer.served_at, backfill=False)
            limits = ScanLimits(None, 0.0, watch.settings.most_pages)
            current = next_pass(current, _listed(answer, set()), limits, watch.now(), token=answer.next_page_token)
            mark = ListMark(under_way=current)
            watch.move(tx, part, mark, answer.served_at, ended=False)
    await _ask_for_missed(watch, mark.under_way)


async def _page(watch: PollContext, part: Part, current: Pass) -> KernelPage:
    try:
        return await Kernels(watch.client).of(watch.competition, current.page, current.token)
    except KaggleError as error:
        if not current.token or isinstance(error, NotAuthenticated | Forbidden):
            raise
        # A token kept over an interruption may have expired: the next poll begins at the first page.
        high = watch.mark(part, ListMark).high
        with watch.write() as tx:
            watch.move(tx, part, ListMark(high=high), None, ended=False)
        raise UnknownAnswer(f"Kaggle's list of kernels broke off: {error}") from error


def _public(answer: KernelPage) -> list[Kernel]:
    return [kernel for kernel in answer.kernels if not kernel.is_private and kernel.ref]


def _listed(answer: KernelPage, changed: set[str]) -> list[ScannedItem]:
    return [
        ScannedItem(kernel_id(kernel), kernel.last_run_time, changed=kernel_id(kernel) in changed)
        for kernel in answer.kernels
        if kernel.ref
    ]


async def _ask_for_missed(watch: PollContext, current: Pass) -> None:
    """Request each kernel that the sweep should have seen: it may have changed its place while the list was read."""
    query = (
        select(PolledKernel.id, PolledKernel.ref)
        .where(PolledKernel.competition == watch.competition, col(PolledKernel.gone_at).is_(None))
        .order_by(PolledKernel.id)
    )
    with watch.store.read() as session:
        missed = [(id, ref) for id, ref in session.exec(query) if id not in set(current.seen)]
    for id, ref in missed[: watch.settings.verified_at_once]:
        is_public = await _is_public(watch, ref)
        current = current.model_copy(update={"seen": (*current.seen, id)})
        with watch.write() as tx:
            if not is_public:
                tx.session.get_one(PolledKernel, (watch.competition, id)).gone_at = tx.now()
                watch.news.add("kernel gone", ref)
            watch.move(tx, "kernel_sweep", ListMark(under_way=current), None, ended=False)
    with watch.write() as tx:
        watch.move(tx, "kernel_sweep", None, None)


async def _is_public(watch: PollContext, ref: str) -> bool:
    try:
        source = await Kernels(watch.client).source(ref)
    except (NotFound, Forbidden):
        return False
    return source.metadata is None or not source.metadata.is_private

"""Polling of scores and tiers of known posts, which only the search shows."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from datetime import datetime
from typing import Literal, TypeVar

from sqlmodel import col, select

from scrapers.kaggle.competitions import Competitions
from scrapers.kaggle.polling.authors import known_tiers, store_authors
from scrapers.kaggle.polling.watch import PollContext
from scrapers.kaggle.search import Search, SearchResult
from state.community_rows import observe
from state.series import last_reading
from state.store import Transaction
from state.tables import KernelVersion, PolledKernel, PostedMessage, Topic

PostT = TypeVar("PostT", Topic, PostedMessage)


async def poll_scores(watch: PollContext) -> None:
    """Read kernels' best public scores and their authors' tiers, as far as the first pages of a search hold them.

    A score is the kernel's best, and stored as a reading of its current version, if that was read. The index lags, and knows no
    competitions: results are matched with known kernels, and others ignored. Errors as of `KaggleClient`.
    """
    served_at = None
    async for documents, served_at in _pages(watch, "KERNEL", await _title(watch)):
        with watch.write() as tx:
            _store(tx, watch, _versions(tx, watch, documents), served_at)
    with watch.write() as tx:
        watch.move(tx, "scores", None, served_at)


async def poll_tiers(watch: PollContext) -> None:
    """Read the tiers of authors of topics and comments, as far as the first pages of a search hold them.

    Tiers rarely change: an author's last known tier is used for posts that the search does not show. Errors as of
    `KaggleClient`.
    """
    served_at = None
    for kind in ("TOPIC", "COMMENT"):
        async for documents, served_at in _pages(watch, kind, await _title(watch)):
            with watch.write() as tx:
                _store(tx, watch, _posts(tx, watch, kind, documents), served_at)
    with watch.write() as tx:
        watch.move(tx, "tiers", None, served_at)


async def _title(watch: PollContext) -> str:
    with watch.store.read() as session:
        reading = last_reading(session, watch.competition, "competition")
    if reading is not None and reading.data.get("title"):
        return str(reading.data["title"])
    return (await Competitions(watch.client).get(watch.competition)).title


async def _pages(
    watch: PollContext, kind: Literal["KERNEL", "TOPIC", "COMMENT"], title: str
) -> AsyncIterator[tuple[Sequence[SearchResult], datetime | None]]:
    token = ""
    for _ in range(watch.settings.search_pages):
        page = await Search(watch.client).find(kind, title, token)
        # Unknown kinds appear among the others.
        yield [document for document in page.documents if document.document_type.upper().endswith(kind)], page.served_at
        token = page.next_page_token
        if not token or not page.documents:
            return


def _versions(
    tx: Transaction, watch: PollContext, documents: Sequence[SearchResult]
) -> list[tuple[SearchResult, KernelVersion]]:
    """Note the scores of known kernels, and return the results for those that were read, each with its current version."""
    refs = [f"{document.owner_user.user_name}/{document.slug}" if document.owner_user else "" for document in documents]
    ids = [str(document.id) for document in documents]
    kernels = tx.session.exec(
        select(PolledKernel).where(
            PolledKernel.competition == watch.competition,
            col(PolledKernel.id).in_(ids) | col(PolledKernel.ref).in_(refs),
        )
    ).all()
    rows = watch.rows(tx.session, KernelVersion, [kernel.current_id for kernel in kernels if kernel.current_id])
    by_name = {name: kernel for kernel in kernels for name in (kernel.id, kernel.ref)}
    pairs = [
        (document, by_name.get(id) or by_name.get(ref)) for document, id, ref in zip(documents, ids, refs, strict=True)
    ]
    for document, kernel in pairs:
        if kernel is not None:
            kernel.score = document.public_score
    return [(document, rows[kernel.current_id]) for document, kernel in pairs if kernel and kernel.current_id in rows]


def _posts(
    tx: Transaction, watch: PollContext, kind: Literal["TOPIC", "COMMENT"], documents: Sequence[SearchResult]
) -> list[tuple[SearchResult, Topic | PostedMessage]]:
    ids = [str(document.id) for document in documents]
    rows: Mapping[str, Topic | PostedMessage]
    rows = watch.rows(tx.session, Topic, ids) if kind == "TOPIC" else watch.rows(tx.session, PostedMessage, ids)
    return [(document, rows[str(document.id)]) for document in documents if str(document.id) in rows]


def _store(
    tx: Transaction,
    watch: PollContext,
    pairs: Sequence[tuple[SearchResult, KernelVersion | Topic | PostedMessage]],
    served_at: datetime | None,
) -> None:
    """Store the results, and give their authors' tiers to those of their posts that have none."""
    for document, row in pairs:
        item = f"{'kernel' if isinstance(row, KernelVersion) else 'post'}/{row.id}"
        score = document.public_score if isinstance(row, KernelVersion) else None
        if observe(tx, row, served_at, public_score=score):
            watch.news.add("score", item)
        if observe(tx, row, served_at, tier=document.owner_user.tier_name if document.owner_user else None):
            watch.news.add("tier", item)
    news = store_authors(tx, [document.owner_user for document, _ in pairs if document.owner_user])
    tiers = known_tiers(tx.session, news)
    posts: list[Topic | PostedMessage] = [
        *_without_tier(tx, watch, Topic, tiers),
        *_without_tier(tx, watch, PostedMessage, tiers),
    ]
    for row in posts:
        if observe(tx, row, served_at, tier=tiers[row.author or ""]):
            watch.news.add("tier", f"post/{row.id}")


def _without_tier(tx: Transaction, watch: PollContext, table: type[PostT], authors: Collection[str]) -> Sequence[PostT]:
    is_here = table.competition == watch.competition
    query = select(table).where(is_here, col(table.tier).is_(None), col(table.author).in_(authors))
    return tx.session.exec(query).all()

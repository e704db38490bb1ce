"""Polling of scores and tiers of known posts, which only the search shows."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from datetime import datetime
from typing import Literal, TypeVar

from sqlmodel import col, select

from scrapers.kaggle.competitions import Competitions
from scrapers.kaggle.polling.authors import known_tiers, store_authors
from scrapers.kaggle.polling.watch import Watch
from scrapers.kaggle.search import Author, Found, Search
from state.community_rows import observe
from state.series import last_reading
from state.store import Transaction
from state.tables import KernelVersion, Message, PolledKernel, Topic

PostT = TypeVar("PostT", Topic, Message)


async def poll_scores(watch: Watch) -> None:
    """Read kernels' best public scores and their authors' tiers, as far as the first pages of a search hold them.

    A score is the kernel's best, and stored as a reading of its current version, if that was read. The index lags, and knows no
    competitions: results are matched with known kernels, and others ignored. Errors as of `KaggleClient`.
    """
    served_at = None
    async for found, served_at in _pages(watch, "KERNEL", await _title(watch)):
        with watch.write() as tx:
            _take(tx, watch, _versions(tx, watch, found), served_at)
    with watch.write() as tx:
        watch.move(tx, "scores", None, served_at)


async def poll_tiers(watch: Watch) -> None:
    """Read the tiers of authors of topics and comments, as far as the first pages of a search hold them.

    Tiers rarely change: an author's last known tier is used for posts that the search does not show. Errors as of
    `KaggleClient`.
    """
    served_at = None
    for kind in ("TOPIC", "COMMENT"):
        async for found, served_at in _pages(watch, kind, await _title(watch)):
            with watch.write() as tx:
                _take(tx, watch, _posts(tx, watch, kind, found), served_at)
    with watch.write() as tx:
        watch.move(tx, "tiers", None, served_at)


async def _title(watch: Watch) -> str:
    """Return the competition's title, by which it is searched for."""
    with watch.store.read() as session:
        known = last_reading(session, watch.competition, "competition")
    if known is not None and known.data.get("title"):
        return str(known.data["title"])
    return (await Competitions(watch.client).get(watch.competition)).title


async def _pages(
    watch: Watch, kind: Literal["KERNEL", "TOPIC", "COMMENT"], title: str
) -> AsyncIterator[tuple[Sequence[Found], datetime | None]]:
    token = ""
    for _ in range(watch.settings.search_pages):
        page = await Search(watch.client).find(kind, title, token)
        # Unknown kinds appear among the others.
        yield [one for one in page.documents if one.document_type.upper().endswith(kind)], page.served_at
        token = page.next_page_token
        if not token or not page.documents:
            return


def _versions(tx: Transaction, watch: Watch, found: Sequence[Found]) -> list[tuple[Found, KernelVersion]]:
    """Note the scores of known kernels, and return the results for those that were read, each with its current version."""
    here = watch.competition
    refs = [f"{one.owner_user.user_name}/{one.slug}" if one.owner_user else "" for one in found]
    ids = [str(one.id) for one in found]
    kernels = tx.session.exec(
        select(PolledKernel).where(
            PolledKernel.competition == here, col(PolledKernel.id).in_(ids) | col(PolledKernel.ref).in_(refs)
        )
    ).all()
    versions = tx.session.exec(
        select(KernelVersion).where(
            KernelVersion.competition == here,
            col(KernelVersion.id).in_([kernel.current_id for kernel in kernels if kernel.current_id]),
        )
    )
    rows = {row.id: row for row in versions}
    by_name = {name: kernel for kernel in kernels for name in (kernel.id, kernel.ref)}
    known = [(one, by_name.get(id) or by_name.get(ref)) for one, id, ref in zip(found, ids, refs, strict=True)]
    for one, kernel in known:
        if kernel is not None:
            kernel.score = one.public_score
    return [(one, rows[kernel.current_id]) for one, kernel in known if kernel and kernel.current_id in rows]


def _posts(
    tx: Transaction, watch: Watch, kind: Literal["TOPIC", "COMMENT"], found: Sequence[Found]
) -> list[tuple[Found, Topic | Message]]:
    """Return the results for known posts, each with its row."""
    ids = [str(one.id) for one in found]
    rows: Mapping[str, Topic | Message]
    rows = _by_id(tx, watch, Topic, ids) if kind == "TOPIC" else _by_id(tx, watch, Message, ids)
    return [(one, rows[str(one.id)]) for one in found if str(one.id) in rows]


def _by_id(tx: Transaction, watch: Watch, table: type[PostT], ids: Sequence[str]) -> dict[str, PostT]:
    query = select(table).where(table.competition == watch.competition, col(table.id).in_(ids))
    return {row.id: row for row in tx.session.exec(query)}


def _take(
    tx: Transaction,
    watch: Watch,
    found: Sequence[tuple[Found, KernelVersion | Topic | Message]],
    served_at: datetime | None,
) -> None:
    """Store the results for posts, and then their authors."""
    for one, row in found:
        item = f"{'kernel' if isinstance(row, KernelVersion) else 'post'}/{row.id}"
        score = one.public_score if isinstance(row, KernelVersion) else None
        if observe(tx, row, served_at, public_score=score):
            watch.news.add("score", item)
        if observe(tx, row, served_at, tier=one.owner_user.tier_name if one.owner_user else None):
            watch.news.add("tier", item)
    _store_authors(tx, watch, [one for one, _ in found], served_at)


def _store_authors(tx: Transaction, watch: Watch, found: Sequence[Found], served_at: datetime | None) -> None:
    """Store the authors of the results, and give their tiers to those of their posts that have none."""
    authors: list[Author] = [one.owner_user for one in found if one.owner_user]
    news = store_authors(tx, authors)
    tiers = known_tiers(tx.session, news)
    posts: list[Topic | Message] = [*_without_tier(tx, watch, Topic, tiers), *_without_tier(tx, watch, Message, tiers)]
    for row in posts:
        if observe(tx, row, served_at, tier=tiers[row.author or ""]):
            watch.news.add("tier", f"post/{row.id}")


def _without_tier(tx: Transaction, watch: Watch, table: type[PostT], authors: Collection[str]) -> Sequence[PostT]:
    here = table.competition == watch.competition
    query = select(table).where(here, col(table.tier).is_(None), col(table.author).in_(authors))
    return tx.session.exec(query).all()

"""Authors and their last known tiers, for posts whose own tier is not known yet."""

from collections.abc import Collection, Iterable, Mapping

from sqlmodel import Session, col, select

from scrapers.kaggle.search import SearchAuthor as FoundAuthor
from scrapers.posts.cleaning import clean
from state.store import Transaction
from state.tables import Author


def known_tiers(session: Session, names: Collection[str]) -> Mapping[str, str]:
    """Return the tiers of the authors with these display names, except names that several authors share."""
    if not names:
        return {}
    rows = session.exec(select(Author).where(col(Author.display_name).in_(names))).all()
    tiers: dict[str, list[str | None]] = {}
    for row in rows:
        tiers.setdefault(row.display_name, []).append(row.tier)
    return {name: tier_set[0] for name, tier_set in tiers.items() if len(tier_set) == 1 and tier_set[0] is not None}


def store_authors(tx: Transaction, authors: Iterable[FoundAuthor]) -> set[str]:
    """Store the authors in a search's results with their tiers; return the display names of new or changed ones."""
    tiers = {str(author.id): author for author in authors if author.id and author.tier_name}
    rows = {row.user_id: row for row in tx.session.exec(select(Author).where(col(Author.user_id).in_(tiers)))}
    news: set[str] = set()
    for id, author in tiers.items():
        row = rows.get(id) or Author(user_id=id, at=tx.now())
        values = clean(author.user_name), clean(author.display_name), author.tier_name
        if (row.user_name, row.display_name, row.tier) != values:
            row.user_name, row.display_name, row.tier, row.at = *values, tx.now()
            tx.add(row)
            news.add(row.display_name)
    tx.session.flush()
    return news

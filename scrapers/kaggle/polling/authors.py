"""Authors and the tiers that were last seen of them, for posts whose own tier nobody has told yet."""

from collections.abc import Collection, Iterable, Mapping

from sqlmodel import Session, col, select

from scrapers.kaggle.search import Author as FoundAuthor
from scrapers.posts.cleaning import clean
from state.store import Transaction
from state.tables import Author


def known_tiers(session: Session, names: Collection[str]) -> Mapping[str, str]:
    """Return the tiers of the authors of these display names, but for names that several have."""
    if not names:
        return {}
    rows = session.exec(select(Author).where(col(Author.display_name).in_(names))).all()
    tiers: dict[str, list[str | None]] = {}
    for row in rows:
        tiers.setdefault(row.display_name, []).append(row.tier)
    return {name: found[0] for name, found in tiers.items() if len(found) == 1 and found[0] is not None}


def store_authors(tx: Transaction, found: Iterable[FoundAuthor]) -> set[str]:
    """Keep whom a search told of and which tier; return the display names of those that are news."""
    told = {str(author.id): author for author in found if author.id and author.tier_name}
    known = {row.user_id: row for row in tx.session.exec(select(Author).where(col(Author.user_id).in_(told)))}
    news: set[str] = set()
    for id, author in told.items():
        row = known.get(id) or Author(user_id=id, at=tx.now())
        values = clean(author.user_name), clean(author.display_name), author.tier_name
        if (row.user_name, row.display_name, row.tier) != values:
            row.user_name, row.display_name, row.tier, row.at = *values, tx.now()
            tx.add(row)
            news.add(row.display_name)
    tx.session.flush()
    return news

"""Kaggle's search by free text: the only source of a kernel's score and an author's tier."""

from dataclasses import dataclass
from math import isfinite
from typing import Annotated, Literal

from scrapers.kaggle.client import KaggleClient, Method
from scrapers.kaggle.wire import Answer, Int, Items, Mixed, Text, Wire
from scrapers.snapshots.community import TIERS

Kind = Literal["KERNEL", "TOPIC", "COMMENT"]
_MOST = 100


class Author(Wire):
    """An author."""

    id: Int = 0
    user_name: Text = ""
    display_name: Text = ""
    tier: Mixed = ""

    @property
    def tier_name(self) -> str | None:
        """The tier, such as `GRANDMASTER`, whether it came as a name or a number; None if unknown."""
        name = TIERS.get(self.tier) or self.tier.upper().rsplit("TIER_", 1)[-1]
        return name if name in TIERS.values() else None


class KernelFacts(Wire):
    """The search's facts on a kernel; without a linked submission the score is meaningless."""

    best_public_score: float | None = None
    has_linked_submission: bool = False


class Found(Wire):
    """One result; its kind decides which field is filled."""

    id: Int = 0
    document_type: Mixed = ""
    title: Text = ""
    slug: Text = ""
    votes: Int | None = None
    owner_user: Author | None = None
    kernel_document: KernelFacts | None = None

    @property
    def public_score(self) -> float | None:
        """A kernel's best public score, None if it has no numeric one."""
        facts = self.kernel_document
        score = facts.best_public_score if facts and facts.has_linked_submission else None
        return score if score is not None and isfinite(score) else None


class SearchPage(Answer):
    """Up to a hundred results."""

    documents: Annotated[tuple[Found, ...], Items] = ()
    next_page_token: Text = ""


@dataclass(frozen=True)
class Search:
    """Searches; it matches a competition's title, not its slug, and lags. Errors as of `KaggleClient`."""

    client: KaggleClient

    async def find(self, kind: Kind, query: str, token: str = "") -> SearchPage:
        """Return a page of results, latest change first."""
        body = {
            "filters": {"query": query, "documentTypes": [kind]},
            "canonicalOrderBy": "LIST_SEARCH_CONTENT_ORDER_BY_DATE_UPDATED",
            "pageSize": _MOST,
            "pageToken": token or None,
        }
        method = Method("search.SearchApiService", "ListEntities", "search")
        return await self.client.call(method, body, SearchPage, subject=query)

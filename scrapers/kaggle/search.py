"""Kaggle's search: the only place that tells a kernel's score and an author's tier, by free text."""

from dataclasses import dataclass
from math import isfinite
from typing import Annotated, Literal

from scrapers.kaggle.client import KaggleClient, Method
from scrapers.kaggle.wire import Answer, Int, Items, Mixed, Text, Wire

Kind = Literal["KERNEL", "TOPIC", "COMMENT", "USER"]
_MOST = 100
_TIERS = {
    0: "novice",
    1: "contributor",
    2: "expert",
    3: "master",
    4: "grandmaster",
    5: "staff",
    11: "organization",
}
_UNKNOWN = "unknown"


def tier_name(value: str) -> str | None:
    """Return a tier in lower case, such as `grandmaster`, whether it came by name or number; None where it is unknown."""
    if value.lstrip("-").isdecimal():
        return _TIERS.get(int(value))
    name = value.lower().rsplit("tier_", 1)[-1]
    return name if name in _TIERS.values() else None


class Author(Wire):
    """Who wrote something."""

    id: Int = 0
    user_name: Text = ""
    display_name: Text = ""
    tier: Mixed = ""

    @property
    def tier_word(self) -> str | None:
        """The tier in lower case, None where it is not known."""
        return tier_name(self.tier)


class KernelFacts(Wire):
    """What search knows of a kernel; without a linked submission the score means nothing."""

    best_public_score: float | None = None
    has_linked_submission: bool = False


class Found(Wire):
    """One thing found; which field is filled goes by its kind."""

    id: Int = 0
    document_type: Mixed = ""
    title: Text = ""
    slug: Text = ""
    votes: Int | None = None
    owner_user: Author | None = None
    kernel_document: KernelFacts | None = None

    @property
    def public_score(self) -> float | None:
        """A kernel's best public score, None where it has none that is a number."""
        facts = self.kernel_document
        score = facts.best_public_score if facts and facts.has_linked_submission else None
        return score if score is not None and isfinite(score) else None


class SearchPage(Answer):
    """Up to a hundred things."""

    documents: Annotated[tuple[Found, ...], Items] = ()
    next_page_token: Text = ""


@dataclass(frozen=True)
class Search:
    """Searches; it matches a competition's title, not its slug, and lags. Errors as of `KaggleClient`."""

    client: KaggleClient

    async def find(self, kind: Kind, query: str, token: str = "") -> SearchPage:
        """Return a page of what is found, latest change first."""
        body = {
            "filters": {"query": query, "documentTypes": [kind]},
            "canonicalOrderBy": "LIST_SEARCH_CONTENT_ORDER_BY_DATE_UPDATED",
            "pageSize": _MOST,
            "pageToken": token or None,
        }
        method = Method("search.SearchApiService", "ListEntities", "search")
        return await self.client.call(method, body, SearchPage, subject=query)

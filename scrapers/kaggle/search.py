"""Kaggle's search by free text: the only source of a kernel's score, an author's tier, and some facts on a competition."""

from dataclasses import dataclass
from math import isfinite
from typing import Annotated, Any, Literal

from scrapers.kaggle.client import KaggleClient, Method
from scrapers.kaggle.wire import Int, Items, Mixed, PageOfItems, Text, Wire
from scrapers.snapshots.community import TIERS

Kind = Literal["KERNEL", "TOPIC", "COMMENT", "COMPETITION"]
_PAGE_SIZE = 100
METHOD = Method("search.SearchApiService", "ListEntities", "search")


class SearchAuthor(Wire):
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

    session_id: Int | None = None
    """Of its run, by which alone that can be cancelled."""
    best_public_score: float | None = None
    has_linked_submission: bool = False


class CompetitionFacts(Wire):
    """The search's facts on a competition that no other method gives."""

    is_environment_evaluation: bool = False
    """Whether what is submitted is run against an environment, as the agents of a simulation are."""
    only_allow_kernel_submissions: bool = False


class SearchResult(Wire):
    """One result; its kind decides which field is filled."""

    id: Int = 0
    document_type: Mixed = ""
    title: Text = ""
    slug: Text = ""
    votes: Int | None = None
    owner_user: SearchAuthor | None = None
    kernel_document: KernelFacts | None = None
    competition_document: CompetitionFacts | None = None

    @property
    def public_score(self) -> float | None:
        """A kernel's best public score, None if it has no numeric one."""
        facts = self.kernel_document
        score = facts.best_public_score if facts and facts.has_linked_submission else None
        return score if score is not None and isfinite(score) else None


class SearchPage(PageOfItems):
    """Up to a hundred results."""

    documents: Annotated[tuple[SearchResult, ...], Items] = ()


@dataclass(frozen=True)
class Search:
    """Searches; it matches a competition's title, not its slug, and lags. Errors as of `KaggleClient`."""

    client: KaggleClient

    async def find(self, kind: Kind, query: str, token: str = "") -> SearchPage:
        """Return a page of results, latest change first."""
        return await self.client.call(METHOD, request_of(kind, query, token), SearchPage, subject=query)

    async def competition(self, slug: str, title: str) -> CompetitionFacts | None:
        """Return the facts on a competition; None if it is not among the first results for its title."""
        return facts_on(await self.find("COMPETITION", title), slug)


def request_of(kind: Kind, query: str, token: str = "") -> dict[str, Any]:
    """Return the request for a page of results."""
    return {
        "filters": {"query": query, "documentTypes": [kind]},
        "canonicalOrderBy": "LIST_SEARCH_CONTENT_ORDER_BY_DATE_UPDATED",
        "pageSize": _PAGE_SIZE,
        "pageToken": token or None,
    }


def facts_on(page: SearchPage, slug: str) -> CompetitionFacts | None:
    """Return the facts that results hold on a competition, None if it is not among them."""
    return next((document.competition_document for document in page.documents if document.slug == slug), None)

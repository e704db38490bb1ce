"""A competition that is running on Kaggle, and all that is known of its task."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from scrapers.kaggle.card.board import read_order
from scrapers.kaggle.card.evidence import Evidence
from scrapers.kaggle.card.pages import in_markdown
from scrapers.kaggle.card.tables import read_tables
from scrapers.kaggle.competitions import Competitions
from scrapers.posts.cleaners import Cleaners
from state.errors import NotFound


@dataclass(frozen=True)
class KaggleTask:
    """The task of one competition; errors as of `KaggleClient`, besides those that are named."""

    competitions: Competitions
    """Asks Kaggle."""
    slug: str
    """The competition, by the last part of its address."""
    fetch: Callable[[], Awaitable[Path]] | None
    """Brings the data, once; see `CompetitionData.fetch`, whose errors it may raise. None: the data is left out."""

    async def evidence(self) -> Evidence:
        """Ask Kaggle for all that tells of the task."""
        fields = await self.competitions.get(self.slug)
        async with Cleaners(1) as cleaners:
            pages = await in_markdown(await self.competitions.pages(self.slug), cleaners)
        scores = await self._scores()
        tables = None if self.fetch is None else await asyncio.to_thread(read_tables, await self.fetch())
        return Evidence(self.slug, fields, pages, tables, scores)

    async def _scores(self) -> tuple[str, ...]:
        """Return the board's scores, its top's if that shows an order already."""
        try:
            top = tuple(entry.score for entry in (await self.competitions.top(self.slug)).submissions)
            if read_order(top).direction or not top:
                return top
            rows, _ = await self.competitions.board(self.slug)
            return tuple(str(row.score) for row in rows if row.score is not None)
        except NotFound:  # none is shown
            return ()

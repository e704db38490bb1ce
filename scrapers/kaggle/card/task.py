"""A competition that is running on Kaggle, and its task: the card, derived or open."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from scrapers.kaggle.card.board import read_order
from scrapers.kaggle.card.derive import derive
from scrapers.kaggle.card.evidence import Evidence
from scrapers.kaggle.card.findings import Derived
from scrapers.kaggle.card.overrides import CardOverrides
from scrapers.kaggle.card.pages import in_markdown
from scrapers.kaggle.card.tables import read_tables
from scrapers.kaggle.competitions import Competitions
from scrapers.posts.cleaners import Cleaners
from scrapers.snapshots.card import Direction
from state.errors import NotFound

_OF_DATA = frozenset({"id_column", "prediction_columns", "sample_submission"})
"""Fields that the data settles."""


@dataclass(frozen=True)
class KaggleTask:
    """The task of one competition; errors as of `KaggleClient`, besides those that are named."""

    competitions: Competitions
    """Asks Kaggle."""
    slug: str
    """The competition, by the last part of its address."""
    fetch: Callable[[], Awaitable[Path]]
    """Brings the data, once; see `CompetitionData.fetch`."""
    metrics: Mapping[str, Direction]
    """The metrics that can be computed, by name, and the direction of each."""
    overrides: CardOverrides = field(default_factory=CardOverrides)
    """What the owner says of it."""

    async def files(self) -> Path:
        """Return the folder with the competition's data files, read-only; errors as of `CompetitionData.fetch`."""
        return await self.fetch()

    async def derived(self) -> Derived:
        """Ask Kaggle for all that tells of the task, and derive its card; data is fetched only if it can help."""
        evidence = await self._evidence()
        derived = derive(evidence, self.metrics, self.overrides)
        hopeless = tuple(one for one in derived.missing if one.field not in _OF_DATA)
        if hopeless:
            return Derived(None, derived.findings, hopeless)
        tables = await asyncio.to_thread(read_tables, await self.files())
        with_data = Evidence(evidence.slug, evidence.fields, evidence.pages, tables, evidence.board)
        return derive(with_data, self.metrics, self.overrides)

    async def _evidence(self) -> Evidence:
        fields = await self.competitions.get(self.slug)
        async with Cleaners(1) as cleaners:
            pages = await in_markdown(await self.competitions.pages(self.slug), cleaners)
        return Evidence(self.slug, fields, pages, None, await self._scores())

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

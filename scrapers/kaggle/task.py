"""A competition that is running on Kaggle, and its task: the card, derived or open."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
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


class KaggleTask:
    """The task of one competition; errors as of `KaggleClient`, besides those that are named."""

    def __init__(
        self,
        competitions: Competitions,
        slug: str,
        fetch: Callable[[], Awaitable[Path]],
        metrics: Mapping[str, Direction],
        overrides: CardOverrides | None = None,
    ) -> None:
        """Set it up; nothing is asked yet.

        Args:
            competitions: asks Kaggle.
            slug: the competition, by the last part of its address.
            fetch: brings the data, once; see `CompetitionData.fetch`.
            metrics: the metrics that can be computed, by name, and the direction of each.
            overrides: what the owner says of it.
        """
        self._competitions = competitions
        self._slug = slug
        self._fetch = fetch
        self._metrics = metrics
        self._overrides = overrides or CardOverrides()

    async def files(self) -> Path:
        """Return the folder with the competition's data files, read-only; errors as of `CompetitionData.fetch`."""
        return await self._fetch()

    async def derived(self) -> Derived:
        """Ask Kaggle for all that tells of the task, and derive its card; data is fetched only if it can help."""
        evidence = await self._evidence()
        derived = derive(evidence, self._metrics, self._overrides)
        hopeless = tuple(one for one in derived.missing if one.field not in _OF_DATA)
        if hopeless:
            return Derived(None, derived.findings, hopeless)
        tables = await asyncio.to_thread(read_tables, await self.files())
        with_data = Evidence(evidence.slug, evidence.fields, evidence.pages, tables, evidence.board)
        return derive(with_data, self._metrics, self._overrides)

    async def _evidence(self) -> Evidence:
        fields = await self._competitions.get(self._slug)
        async with Cleaners(1) as cleaners:
            pages = await in_markdown(await self._competitions.pages(self._slug), cleaners)
        return Evidence(self._slug, fields, pages, None, await self._scores())

    async def _scores(self) -> tuple[str, ...]:
        """Return the board's scores, its top's if that shows an order already."""
        try:
            top = tuple(entry.score for entry in (await self._competitions.top(self._slug)).submissions)
            if read_order(top).direction or not top:
                return top
            rows, _ = await self._competitions.board(self._slug)
            return tuple(str(row.score) for row in rows if row.score is not None)
        except NotFound:  # none is shown
            return ()

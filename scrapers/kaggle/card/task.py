"""All that is known of the task of a competition that is running on Kaggle."""

import asyncio
from dataclasses import replace
from pathlib import Path

from scrapers.kaggle.card.board import read_order
from scrapers.kaggle.card.evidence import Evidence
from scrapers.kaggle.card.pages import in_markdown
from scrapers.kaggle.card.tables import read_tables
from scrapers.kaggle.competitions import Competitions
from scrapers.posts.cleaners import Cleaners
from state.errors import NotFound


async def read_evidence(competitions: Competitions, slug: str) -> Evidence:
    """Ask Kaggle for all that tells of a task but the data; errors as of `KaggleClient`."""
    fields = await competitions.get(slug)
    async with Cleaners(1) as cleaners:
        pages = await in_markdown(await competitions.pages(slug), cleaners)
    return Evidence(slug, fields, pages, None, await _scores(competitions, slug))


async def with_data(evidence: Evidence, folder: Path) -> Evidence:
    """Return it with what the competition's data in a folder says."""
    return replace(evidence, tables=await asyncio.to_thread(read_tables, folder))


async def _scores(competitions: Competitions, slug: str) -> tuple[str, ...]:
    """Return the board's scores, its top's if that shows an order already."""
    try:
        top = tuple(entry.score for entry in (await competitions.top(slug)).submissions)
        if read_order(top).direction or not top:
            return top
        rows, _ = await competitions.board(slug)
        return tuple(str(row.score) for row in rows if row.score is not None)
    except NotFound:  # none is shown
        return ()

"""Papers, each summarised into AutoMind's fields."""

import asyncio
import hashlib
import re
from collections.abc import Callable, Sequence

from bot.curation.bibliography import Paper
from bot.curation.prompts import PaperSummary, SummarizePaper
from bot.knowledge.entry import Entry, Source
from bot.models.ask import Asker
from state.errors import ModelRefused

_ADDRESS = re.compile(r"kaggle\.com/(?:c|competitions)/([a-z0-9][a-z0-9-]*[a-z0-9])")
_SLUG = re.compile(r"[a-z0-9][a-z0-9-]*$")


async def summaries_of(papers: Sequence[Paper], asker: Asker, say: Callable[[str], None]) -> list[Entry]:
    """Return an entry for each paper that the model summarises; raises as `Asker.ask`."""
    say(f"reading {len(papers)} papers")
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_entry(paper, asker, say)) for paper in papers]
    return [entry for task in tasks if (entry := task.result()) is not None]


async def _entry(paper: Paper, asker: Asker, say: Callable[[str], None]) -> Entry | None:
    digest = hashlib.sha256(paper.text.encode(errors="surrogatepass")).hexdigest()[:16]
    prompt = SummarizePaper(paper.key, paper.title, paper.text)
    try:
        summary = await asker.ask(prompt, role="analyst", name=f"paper {paper.key} {digest}")
    except ModelRefused as error:
        say(f"{paper.key} was not read: {error}")
        return None
    return _made(paper, summary)


def _made(paper: Paper, summary: PaperSummary) -> Entry:
    place = None if paper.file is None else paper.file.name
    source = Source(
        title=paper.title[:300].ljust(3, "."),
        url=paper.url,
        path=None if paper.url is not None else place or f"{paper.key} in its bibliography",
        licence=paper.licence[:100],
    )
    return Entry(
        id=re.sub(r"[^a-z0-9]+", "-", f"paper-{paper.key}".lower()).strip("-")[:80],
        kind="paper",
        title=paper.title[:160],
        labels=summary.labels,
        known_at=paper.known_at,
        competitions=_competitions(paper, summary),
        sources=(source,),
        support=summary.support,
        evidence=summary.evidence,
        paper=summary.paper,
        claim=summary.claim,
    )


def _competitions(paper: Paper, summary: PaperSummary) -> tuple[str, ...]:
    """Return the competitions that the paper links to, and those that the model names: on these it is never shown."""
    named = {name.lower() for name in summary.competitions if _SLUG.match(name.lower())}
    return tuple(sorted(named | set(_ADDRESS.findall(paper.text.lower()))))

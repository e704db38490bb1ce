"""Tricks from past competitions: of each one's most telling write-ups and kernels, what others can use."""

import asyncio
import re
from collections.abc import Callable, Iterator
from itertools import islice

from bot.community.reading.documents import Document, documents, excerpt, most_telling
from bot.community.reading.suspicion import steering
from bot.knowledge.entry import Entry, EntrySource
from bot.models.ask import Asker
from bot.research.curation.communities import PastCompetition
from bot.research.curation.prompts import ExtractTricks, Trick
from state.errors import ModelRefused

_CHARACTERS = 24_000
"""Of one document, that the model is shown."""
_WRITE_UP = re.compile(
    r"\b(solutions?|\d+(st|nd|rd|th) place|write-?up|winn(er|ing)|our approach|what worked|lessons)\b", re.IGNORECASE
)
_LICENCES = {
    "topic": "posted publicly on Kaggle; facts only",
    "kernel": "Apache-2.0, Kaggle's licence for public notebooks; facts only",
}


async def tricks_of(competition: PastCompetition, asker: Asker, limit: int, say: Callable[[str], None]) -> list[Entry]:
    """Return the tricks of a competition.

    A model is asked once a document, of at most so many write-ups and as many kernels.

    Raises:
        BudgetExceeded, ModelUnavailable, ModelMisconfigured: as `Asker.ask`.
    """
    documents_to_read = list(_choose_documents(competition, limit))
    say(f"{competition.slug}: reading {len(documents_to_read)} documents")
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_entries(competition, document, asker, say)) for document in documents_to_read]
    return [entry for task in tasks for entry in task.result()]


def _choose_documents(competition: PastCompetition, limit: int) -> Iterator[Document]:
    """Yield the write-ups, then the kernels, each the most telling first, without those that try to steer their readers."""
    all_documents = documents(competition.posts)
    kernels = [d for d in all_documents if d.posts[0].kind == "kernel"]
    topics = [d for d in all_documents if d.posts[0].kind != "kernel"]
    # Where hardly any title says so, the topics with the most to say stand in for write-ups.
    write_ups = [t for t in topics if _WRITE_UP.search(t.title)]
    if len(write_ups) < limit:
        write_ups = topics
    for group in (write_ups, kernels):
        ranking = most_telling(group, set(), lower_is_better=competition.lower_is_better)
        yield from islice((d for d in ranking if not any(steering(p.title, p.text) for p in d.posts)), limit)


async def _entries(
    competition: PastCompetition, document: Document, asker: Asker, say: Callable[[str], None]
) -> list[Entry]:
    excerpt_text = excerpt(document, _CHARACTERS)
    prompt = ExtractTricks(competition.title, competition.metric, competition.description, excerpt_text)
    name = f"tricks of {competition.slug} {document.item} {document.digest}"
    try:
        answer = await asker.ask(prompt, role="analyst", name=name)
    except ModelRefused as error:
        say(f"skipped {document.item}: {error}")
        return []
    return [_entry(competition, excerpt_text, trick, number) for number, trick in enumerate(answer.tricks, 1)]


def _entry(competition: PastCompetition, document: Document, trick: Trick, number: int) -> Entry:
    kind, _, id = document.item.partition("/")
    name = f"{competition.slug}-{kind}-{id}-{number}"
    url = document.posts[0].url
    public = url is not None and re.match(r"https?://\S+$", url) is not None
    source = EntrySource(
        title=(document.title.strip() or document.item)[:300].ljust(3, "."),
        url=url if public else None,
        path=None if public else f"{competition.origin}: {document.item}",
        licence=_LICENCES[kind],
    )
    return Entry(
        id=re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[-80:].strip("-"),
        kind="trick",
        title=trick.title,
        labels=trick.labels,
        # What is posted while a competition goes on is no knowledge of a past one before its end.
        known_at=max(document.time, competition.end),
        competitions=(competition.slug.lower(),),
        sources=(source,),
        support=trick.support,
        evidence=trick.evidence,
        claim=trick.claim,
    )

"""A model for runs in which nothing is executed: it reads posts, makes an idea of each, and plans drafts of all ideas."""

import asyncio
import json
from dataclasses import dataclass
from typing import Any

from bot.community.drafts.prompts import PlanDrafts
from bot.community.drafts.reporting import WriteReport
from bot.community.ideas.prompts import ProposeIdeas
from bot.community.reading.documents import Document
from bot.community.reading.prompts import ReadPosts
from bot.engine.search import SolutionSearch
from bot.models import AnswerT, CallLimits, Completion, Prompt, Usage
from tests.bot.replay.stream_parts import MIDDLE_WORDS


@dataclass
class Reader:
    """A model that makes an idea of each post; before the call of a number it has the search stopped, and never answers."""

    stops_at: int | None = None
    calls: int = 0
    search: SolutionSearch | None = None

    async def complete(self, prompt: Prompt[AnswerT], *, role: str, limits: CallLimits) -> Completion[AnswerT]:
        self.calls += 1
        if self.calls == self.stops_at and self.search is not None:
            self.search.interrupt()
            await asyncio.Event().wait()
        text = json.dumps(_answer(prompt))
        return Completion(prompt.parse(text), text, Usage(10, 10), "reader", 0.0)


def _found(document: Document) -> dict[str, Any]:
    scores = dict.fromkeys(("novelty", "feasibility", "efficiency"), 6)
    strong = 9 if any(MIDDLE_WORDS in post.text for post in document.posts) else 5
    return {"id": document.item, "summary": "a way", "suggestions": ["do it"], "effectiveness": strong, **scores}


def _answer(prompt: Prompt[Any]) -> dict[str, Any]:
    match prompt:
        case ReadPosts():
            return {"documents": [_found(document) for document in prompt.documents]}
        case ProposeIdeas():
            return {"add": [{"text": f"what {a.item.id} says", "sources": [a.item.id]} for a in prompt.analyses]}
        case PlanDrafts():
            numbers = [idea.number for idea in prompt.ideas]
            base = prompt.reports[0].node if prompt.reports else None
            first = len(prompt.open_drafts)
            plans = [
                {"title": f"Draft {place}", "codebase": None if place else base, "ideas": [] if place else numbers}
                for place in range(first, first + prompt.room.max_drafts)
            ]
            return {"drafts": [plan | {"description": "all that we know"} for plan in plans]}
        case WriteReport():
            return {"method": "as planned"}
    raise AssertionError(f"nobody asks for {prompt.name}")

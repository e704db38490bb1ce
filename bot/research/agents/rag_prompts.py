"""AIDE+RAG's prompts: pick documents by their titles, and summarise one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from pydantic import BaseModel, ConfigDict

from bot.community.reading.documents import Document
from bot.engine.strategy import ActionKind
from bot.execution.task import TaskText
from bot.models import Item
from bot.models.parsing import json_answer
from bot.models.template import TemplatePrompt
from state.errors import Unparsable

MAX_PICKED = 3
"""Documents that are read for one node."""
_SUMMARY_CHARACTERS = 3_000


@dataclass(frozen=True)
class DocumentTitle:
    """A document as its title shows it."""

    item: Item
    title: str
    votes: int | None
    public_score: float | None
    messages: int
    """Of a thread; 1 for a kernel."""

    @classmethod
    def from_document(cls, document: Document) -> Self:
        """Return what a title shows of a document."""
        item = Item(document.item, document.created_at)
        return cls(item, document.title, document.votes, document.public_score, len(document.posts))


class SelectedDocuments(BaseModel):
    """The documents to read."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    pick: tuple[str, ...]


@dataclass(frozen=True)
class PickPosts(TemplatePrompt[SelectedDocuments]):
    """Ask which documents to read before a script is written."""

    template: ClassVar[str] = "pick_posts.j2"

    task: TaskText
    shown: tuple[DocumentTitle, ...]
    action: ActionKind
    sought: str
    """The script to repair or improve; empty for a draft."""

    def parse(self, text: str) -> SelectedDocuments:
        """Read the JSON answer; raises Unparsable if it names an item that was not shown."""
        answer = json_answer(text, SelectedDocuments)
        unknown = set(answer.pick) - {title.item.id for title in self.shown}
        if unknown:
            raise Unparsable(f"pick: unknown ids {', '.join(sorted(unknown))}; copy ids from the list")
        return answer

    def items(self) -> Sequence[Item]:
        """Return the documents whose titles are shown, and the owner's notes."""
        return (*(title.item for title in self.shown), *self.task.items())


@dataclass(frozen=True)
class SummarisePost(TemplatePrompt[str]):
    """Ask for a summary of one thread or kernel."""

    template: ClassVar[str] = "summarise_post.j2"

    task: TaskText
    document: Document

    def parse(self, text: str) -> str:
        """Return the prose; raises Unparsable if there is none."""
        summary = text.strip()
        if not summary:
            raise Unparsable("no summary found: answer in prose")
        return summary[:_SUMMARY_CHARACTERS]

    def items(self) -> Sequence[Item]:
        """Return the posts that are shown, and the owner's notes."""
        return [*(Item(post.item, post.time) for post in self.document.posts), *self.task.items()]

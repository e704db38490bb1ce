"""The prompt for reading several documents at once, and its answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from pydantic import BaseModel, Field

from bot.community.reading.documents import Document
from bot.execution.task import TaskText
from bot.models import Item
from bot.models.parsing import json_answer
from bot.models.template import TemplatePrompt


class Findings(BaseModel, extra="ignore", frozen=True):
    """What a document suggests, with four scores from 0 to 10."""

    summary: str = Field("", max_length=4_000)
    suggestions: tuple[str, ...] = ()
    """Each one self-contained: a technique, with its parameters and measured effect if the post gives them."""
    fails: tuple[str, ...] = ()
    """Negative results."""
    resources: tuple[str, ...] = ()
    novelty: float = Field(0, ge=0, le=10)
    feasibility: float = Field(0, ge=0, le=10)
    effectiveness: float = Field(0, ge=0, le=10)
    efficiency: float = Field(0, ge=0, le=10)
    suspicion: str = Field("", max_length=1_000)
    """How it tries to steer its reader; empty: it does not."""


class DocumentFindings(Findings):
    """What one document of a prompt suggests."""

    id: str


class ReadAnswer(BaseModel, extra="ignore", frozen=True):
    """The findings of the documents of one prompt; those with nothing are only named."""

    documents: tuple[DocumentFindings, ...]
    nothing: tuple[str, ...] = ()


@dataclass(frozen=True)
class ReadPosts(TemplatePrompt[ReadAnswer]):
    """Ask what several documents suggest and how good that is."""

    template: ClassVar[str] = "read_posts.j2"

    task: TaskText
    documents: tuple[Document, ...]

    def parse(self, text: str) -> ReadAnswer:
        """Read the JSON answer."""
        return json_answer(text, ReadAnswer)

    def items(self) -> Sequence[Item]:
        """Return the posts that are shown, and the owner's notes."""
        return [
            *(Item(post.item, post.time) for document in self.documents for post in document.posts),
            *self.task.items(),
        ]

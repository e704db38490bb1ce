"""The prompt of curation: the tricks of one document of a community."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from bot.community.reading.documents import Document
from bot.knowledge.entry import Labels
from bot.knowledge.labels import Category, categories
from bot.models import Item
from bot.models.parsing import json_answer
from bot.models.template import TemplatePrompt

MAX_TRICKS = 3
"""Of one document."""


class _Reply(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class Trick(_Reply):
    """One trick, for a reader who works on another competition."""

    title: str = Field(min_length=3, max_length=160)
    claim: str = Field(min_length=20, max_length=2_000)
    labels: Labels
    support: Literal["measured", "reported"]
    evidence: str = Field(min_length=3, max_length=1_000)


class Tricks(_Reply):
    """What one document holds; nothing where nothing of it can be carried over."""

    tricks: tuple[Trick, ...] = Field(default=(), max_length=MAX_TRICKS)


@dataclass(frozen=True)
class ExtractTricks(TemplatePrompt[Tricks]):
    """Ask for what one document can teach those who work on other competitions."""

    template: ClassVar[str] = "extract_tricks.j2"

    competition: str
    metric: str
    description: str
    document: Document

    def context(self) -> dict[str, object]:
        """Return the template's variables."""
        known_categories: Mapping[str, Category] = categories()
        return {**super().context(), "categories": known_categories, "most": MAX_TRICKS}

    def parse(self, text: str) -> Tricks:
        """Read the JSON answer; every label must be one of the set."""
        return json_answer(text, Tricks)

    def items(self) -> Sequence[Item]:
        """Return the posts that are shown."""
        return [Item(post.item, post.time) for post in self.document.posts]

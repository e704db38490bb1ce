"""The prompt by which a model reads a competition's rules."""

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, get_args

from pydantic import BaseModel, ConfigDict

from bot.live.reading.quotes import ReadPage, not_found
from bot.models import Item
from bot.models.parsing import json_answer
from bot.models.template import TemplatePrompt
from bot.submission.rules import RuleLine, Topic
from state.errors import Unparsable

_LONGEST = 60_000
"""Characters of the page."""


class RulesReading(BaseModel):
    """What a page of rules says."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    lines: tuple[RuleLine, ...]


@dataclass(frozen=True)
class ReadRules(TemplatePrompt[RulesReading]):
    """Asks what the rules say of the topics that concern the bot."""

    template: ClassVar[str] = "read_rules.j2"

    title: str
    page: ReadPage
    read_at: datetime
    known_topics: tuple[str, ...] = get_args(Topic)
    longest: int = _LONGEST

    def items(self) -> tuple[Item, ...]:
        """Return the page, known since it was read."""
        return (Item(f"page/{self.page.name}", self.read_at),)

    def parse(self, text: str) -> RulesReading:
        """Read the reply; raises Unparsable, too, where a quote does not stand on the page, or a topic comes twice."""
        found = json_answer(text, RulesReading)
        if missing := not_found([line.quote for line in found.lines], [self.page]):
            raise Unparsable(f"this does not stand on the page word for word: {missing[0]!r}")
        topics = [line.topic for line in found.lines]
        if twice := [topic for topic in topics if topics.count(topic) > 1]:
            raise Unparsable(f"there are several lines for {twice[0]!r}: write one")
        return found

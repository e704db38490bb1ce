"""The prompt for ideas, and its answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from bot.community.reading import AnalysisText
from bot.community.shown import IdeaText, Reply, ReportText
from bot.execution.machine import Machine
from bot.execution.task import TaskText
from bot.models import Item
from bot.models.parsing import json_answer
from bot.models.template import TemplatePrompt
from state.errors import Unparsable


class ProposedIdea(Reply):
    """One new atomic idea, and the items that it comes from (`message/1`, `report/3`); none if it is the model's own."""

    text: str = Field(min_length=3, max_length=1_500)
    sources: tuple[str, ...] = ()


class IdeasAnswer(Reply):
    """New ideas for the pool."""

    ideas: tuple[ProposedIdea, ...]


@dataclass(frozen=True)
class ProposeIdeas(TemplatePrompt[IdeasAnswer]):
    """Ask for atomic ideas that the pool does not have."""

    template: ClassVar[str] = "propose_ideas.j2"
    volatile: ClassVar[Mapping[str, object]] = {"left": (), "execution_seconds": 0.0}

    task: TaskText
    machine: Machine
    analyses: tuple[AnalysisText, ...]
    ideas: tuple[IdeaText, ...]
    reports: tuple[ReportText, ...]
    left: tuple[str, ...]
    """What is left of time and money, a line each."""
    execution_seconds: float
    """Time limit of one script."""

    def parse(self, text: str) -> IdeasAnswer:
        """Read the JSON answer; every source must be an item of this prompt."""
        answer = json_answer(text, IdeasAnswer)
        known = {item.id for item in self.items()}
        for idea in answer.ideas:
            unknown = [source for source in idea.sources if source not in known]
            if unknown:
                raise Unparsable(f"unknown source {unknown[0]!r}: name only ids that the text above shows")
        return answer

    def items(self) -> Sequence[Item]:
        """Return analysed posts, ideas and reports, and the owner's notes."""
        pools = (*(a.item for a in self.analyses), *(i.item for i in self.ideas), *(r.item for r in self.reports))
        return [*pools, *self.task.items()]

"""The prompt for ideas, and its answer: operations on the pool."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self, TypeVar

from pydantic import Field

from bot.community.prompt_views import IdeaText, JsonAnswer, ReportText
from bot.community.reading.batches import AnalysisText
from bot.execution.machine import Machine
from bot.execution.task import TaskText
from bot.models import Item
from bot.models.parsing import json_answer
from bot.models.quoting import line
from bot.models.template import TemplatePrompt
from state.errors import Unparsable

MOST_ADDED = 12
_SUGGESTIONS, _SUGGESTION = 6, 300
"""Suggestions of one analysis that are shown, and characters of each."""


class Path(JsonAnswer):
    """A way to solve the task, split into its smallest ideas, in a few words each."""

    name: str = Field(min_length=2, max_length=200)
    ideas: tuple[str, ...] = ()


class DroppedIdea(JsonAnswer):
    """An idea that was brainstormed and not kept."""

    idea: str
    why: str


class ProposedIdea(JsonAnswer):
    """One new atomic idea, and the items that it comes from (`message/1`, `report/3`); none if it is the model's own."""

    text: str = Field(min_length=3, max_length=1_500)
    sources: tuple[str, ...] = ()
    path: str = Field(default="", max_length=200)


class Credit(JsonAnswer):
    """Further items that speak for an idea of the pool."""

    idea: int
    sources: tuple[str, ...] = Field(min_length=1)


class Merge(JsonAnswer):
    """Ideas of the pool that are the same, and one text for them."""

    ideas: tuple[int, ...] = Field(min_length=2)
    text: str = Field(min_length=3, max_length=1_500)
    why: str = ""


class Split(JsonAnswer):
    """An idea of the pool that contains several."""

    idea: int
    texts: tuple[str, ...] = Field(min_length=2, max_length=4)
    sources: tuple[str, ...] = ()
    """New posts that have them."""
    why: str = ""


class Retire(JsonAnswer):
    """An idea of the pool that is not worth offering any more."""

    idea: int
    why: str = Field(min_length=3)


_Sourced = TypeVar("_Sourced", ProposedIdea, Credit, Split)


class IdeasAnswer(JsonAnswer):
    """The brainstormed and dropped ideas, and the changes of the pool."""

    paths: tuple[Path, ...] = ()
    dropped: tuple[DroppedIdea, ...] = ()
    add: tuple[ProposedIdea, ...] = ()
    credit: tuple[Credit, ...] = ()
    merge: tuple[Merge, ...] = ()
    split: tuple[Split, ...] = ()
    retire: tuple[Retire, ...] = ()

    def with_sources(self, known_sources: Collection[str]) -> Self:
        """Return the answer without unknown sources, and without credits that have no known source."""

        def with_known_sources(change: _Sourced) -> _Sourced:
            return change.model_copy(update={"sources": tuple(s for s in change.sources if s in known_sources)})

        add, split = tuple(map(with_known_sources, self.add)), tuple(map(with_known_sources, self.split))
        credit = tuple(credit for credit in map(with_known_sources, self.credit) if credit.sources)
        return self.model_copy(update={"add": add, "credit": credit, "split": split})

    def idea_numbers(self) -> Iterator[int]:
        """Yield the numbers of the ideas that it names."""
        for merge in self.merge:
            yield from merge.ideas
        yield from (credit.idea for credit in self.credit)
        yield from (split.idea for split in self.split)
        yield from (retire.idea for retire in self.retire)


@dataclass(frozen=True)
class Failure:
    """A negative result: something that was measured to gain nothing."""

    item: Item
    """Its report or post."""
    text: str


@dataclass(frozen=True)
class ProposeIdeas(TemplatePrompt[IdeasAnswer]):
    """Ask for different ways to solve the task, and for the resulting changes of the pool."""

    template: ClassVar[str] = "propose_ideas.j2"
    volatile: ClassVar[Mapping[str, object]] = {"remaining": (), "execution_seconds": 0.0}

    task: TaskText
    machine: Machine
    analyses: tuple[AnalysisText, ...]
    """Those that no earlier prompt showed."""
    ideas: tuple[IdeaText, ...]
    reports: tuple[ReportText, ...]
    remaining: tuple[str, ...]
    """Remaining time and money, a line each."""
    execution_seconds: float
    """Time limit of one script."""
    failed_here: tuple[Failure, ...] = ()
    """Measured in this run."""
    failed_elsewhere: tuple[Failure, ...] = ()
    """As posts report it."""
    active_work: tuple[str, ...] = ()
    """What open labs have measured, a line each."""

    def context(self) -> dict[str, object]:
        """Return the template's variables."""
        return {**super().context(), "most_added": MOST_ADDED, "suggestions": [*map(shown_suggestions, self.analyses)]}

    def parse(self, text: str) -> IdeasAnswer:
        """Read the JSON answer without sources that are not in this prompt; raises Unparsable if an idea is not in it."""
        answer = json_answer(text, IdeasAnswer).with_sources({item.id for item in self.items()})
        if unknown := {*answer.idea_numbers()} - {idea.number for idea in self.ideas}:
            raise Unparsable(f"unknown idea {min(unknown)}: name only ideas shown above")
        return answer

    def items(self) -> Sequence[Item]:
        """Return analysed posts, ideas, reports and failures, and the owner's notes."""
        pools = (*(a.item for a in self.analyses), *(i.item for i in self.ideas), *(r.item for r in self.reports))
        failed = {failure.item.id: failure.item for failure in (*self.failed_here, *self.failed_elsewhere)}
        shown_ids = {item.id for item in pools}
        return [*pools, *(item for id, item in failed.items() if id not in shown_ids), *self.task.items()]


def shown_suggestions(analysis: AnalysisText) -> str:
    """Return an analysis as the prompt shows it."""
    facts = [f"effect {analysis.effectiveness:.0f}", f"feasible {analysis.feasibility:.0f}"]
    facts += [f"{analysis.votes} votes"] if analysis.votes is not None else []
    facts += [f"public score {analysis.public_score}"] if analysis.public_score is not None else []
    lines = [f"`{line(analysis.item.id)}` {line(analysis.title, 80)} ({', '.join(facts)})"]
    lines += [f"  - {line(text, _SUGGESTION)}" for text in analysis.suggestions[:_SUGGESTIONS]]
    return "\n".join(lines)

"""The retriever's prompt: which labels a task has."""

from dataclasses import dataclass
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field, field_validator

from bot.knowledge.labels import MOST_LABELS, categories, checked
from bot.models.parsing import json_answer
from bot.models.template import TemplatePrompt


class TaskLabels(BaseModel):
    """A task's labels, the most important first."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    labels: tuple[str, ...] = Field(min_length=1, max_length=MOST_LABELS)

    @field_validator("labels")
    @classmethod
    def _are_known(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(map(checked, names)))


@dataclass(frozen=True)
class LabelTask(TemplatePrompt[TaskLabels]):
    """Ask for the labels of a task: top categories first, then labels below them."""

    template: ClassVar[str] = "label_task.j2"

    title: str
    description: str
    metric: str
    preview: str

    def context(self) -> dict[str, object]:
        """Return the template's variables."""
        return {**super().context(), "categories": categories(), "most": MOST_LABELS}

    def parse(self, text: str) -> TaskLabels:
        """Read the JSON answer; every label must be one of the set."""
        return json_answer(text, TaskLabels)

"""The retriever's rules: a task's labels by the words of its text."""

import json

from bot.knowledge.labels import labels_in
from bot.knowledge.prompts import LabelTask

_PLAIN = "tabular/classification"
"""Where no word shows what kind of task it is."""


def label(prompt: LabelTask) -> str:
    """Answer `label_task`."""
    text = "\n".join((prompt.title, prompt.metric, prompt.description, prompt.preview))
    return json.dumps({"labels": labels_in(text) or [_PLAIN]})

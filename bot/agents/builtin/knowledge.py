"""The rules for the knowledge base: a task's labels, a document's tricks, both by the words of their texts."""

import json

from bot.agents.builtin.posts import suggestions
from bot.agents.builtin.techniques import how
from bot.curation.prompts import MOST_TRICKS, ExtractTricks
from bot.knowledge.labels import labels_in
from bot.knowledge.prompts import LabelTask

_PLAIN = "tabular/classification"
"""Where no word shows what kind of task it is."""
_MOST_LABELS = 3


def label(prompt: LabelTask) -> str:
    """Answer `label_task`."""
    text = "\n".join((prompt.title, prompt.metric, prompt.description, prompt.preview))
    return json.dumps({"labels": labels_in(text) or [_PLAIN]})


def tricks(prompt: ExtractTricks) -> str:
    """Answer `extract_tricks` with the techniques that the document suggests, each with its sentence."""
    found = {title: said for post in prompt.document.posts for title, said in suggestions(post).items()}
    kinds = labels_in(f"{prompt.competition}\n{prompt.metric}\n{prompt.description}")[:_MOST_LABELS] or [_PLAIN]
    made = [
        {
            "title": f"{title[:1].upper()}{title[1:]}",
            "claim": f"{how(title)} Try it on tasks of this kind, and measure it with and without.",
            "labels": kinds,
            "support": "reported",
            "evidence": f'The post says: "{said}"'[:1_000],
        }
        for title, said in list(found.items())[:MOST_TRICKS]
    ]
    return json.dumps({"tricks": made}, ensure_ascii=False)

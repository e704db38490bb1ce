"""The rules for the knowledge base: a task's labels, a document's tricks, a paper's fields, all by the words of their texts."""

import json
import re

from bot.agents.builtin.posts import suggestions
from bot.agents.builtin.techniques import how
from bot.curation.prompts import MOST_TRICKS, ExtractTricks, SummarizePaper
from bot.knowledge.labels import labels, labels_in
from bot.knowledge.prompts import LabelTask

_PLAIN = "tabular/classification"
"""Where no word shows what kind of task it is."""
_MOST_LABELS = 3
_PROPOSES = re.compile(
    r"\b(we|this paper|this work)\b.{0,60}\b(propos|present|introduc|show|find|demonstrat|stud)", re.I
)


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


def summary(prompt: SummarizePaper) -> str:
    """Answer `summarize_paper` with sentences of the paper itself."""
    text = " ".join(prompt.text.split())
    sentences = [one for one in re.split(r"(?<=[.!?])\s+(?=[A-Z])", text) if 20 <= len(one) <= 600]
    said = [one for one in sentences if _PROPOSES.search(one)] or sentences or [text[:600]]
    kinds = labels_in(f"{prompt.title}\n{text}")[:_MOST_LABELS] or [_PLAIN]
    fields = {
        "data_type": labels()[kinds[0]].about,
        "data_domain": kinds[0].partition("/")[0].replace("-", " "),
        "task": labels()[kinds[0]].about,
        "technique": prompt.title,
        "contribution": said[0],
    }
    claim = f"{prompt.title}. {' '.join(said[:3])}"[:2_000]
    evidence = f"The paper says: {said[-1]}"[:1_000]
    return json.dumps(
        {"paper": fields, "claim": claim, "labels": kinds, "support": "reported", "evidence": evidence},
        ensure_ascii=False,
    )

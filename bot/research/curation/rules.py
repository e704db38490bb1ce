"""The rule-based model's answer to the prompt of curation, declared in pyproject.toml in the group `bot.rules`."""

import json

from bot.agents.builtin.posts import DEFAULT_LABEL, suggestions
from bot.agents.builtin.techniques import method_text
from bot.knowledge.labels import labels_in
from bot.research.curation.prompts import MAX_TRICKS, ExtractTricks

_MAX_LABELS = 3


def extract_tricks(prompt: ExtractTricks, seed: int) -> str:
    """Answer `extract_tricks` with the techniques that the document suggests, each with its sentence."""
    sentences = {title: text for post in prompt.document.posts for title, text in suggestions(post).items()}
    kinds = labels_in(f"{prompt.competition}\n{prompt.metric}\n{prompt.description}")[:_MAX_LABELS] or [DEFAULT_LABEL]
    entries = [
        {
            "title": f"{title[:1].upper()}{title[1:]}",
            "claim": f"{method_text(title)} Try it on tasks of this kind, and compare scores with and without it.",
            "labels": kinds,
            "support": "reported",
            "evidence": f'The post says: "{text}"'[:1_000],
        }
        for title, text in list(sentences.items())[:MAX_TRICKS]
    ]
    return json.dumps({"tricks": entries}, ensure_ascii=False)

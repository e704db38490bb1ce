"""AIDE+RAG's rules: which titles promise most, and what a document recommends."""

import json

from bot.agents.builtin.posts import failures, is_hostile, suggestions
from bot.agents.builtin.techniques import how, named_in
from bot.agents.tree.rag_prompts import PickPosts, SummarisePost
from bot.community.reading.suspicion import steering

_PICKED = 2


def pick(prompt: PickPosts) -> str:
    """Answer `pick_posts`: titles that name a technique go first, those read before last; of equals the earlier ones."""
    sound = [one for one in prompt.shown if steering(one.title, "") is None]
    ranked = sorted(sound, key=lambda one: (one.read, not named_in(one.title)))
    return json.dumps({"pick": [one.item.id for one in ranked[:_PICKED]]})


def summarise(prompt: SummarisePost) -> str:
    """Answer `summarise_post` with the techniques that its sound posts suggest, without their words."""
    sound = [post for post in prompt.document.posts if not is_hostile(post)]
    found = list(dict.fromkeys(title for post in sound for title in suggestions(post)))
    failed = [f'No gain, it says: "{sentence}"' for post in sound for sentence in failures(post)][:2]
    left_out = (
        ["It holds orders to its readers, of which nothing is taken."]
        if len(sound) < len(prompt.document.posts)
        else []
    )
    lines = [f"Recommends: {how(title)}" for title in found] or ["It recommends nothing that could be tried."]
    return "\n".join((*lines, *failed, *left_out))

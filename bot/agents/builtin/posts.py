"""Rules on posts and tasks: which sentences suggest a technique and how credible they are; labels by their words."""

import json
import math
import re

from bot.agents.builtin.techniques import method_text, named_in, vocabulary
from bot.community.reading.documents import Document
from bot.community.reading.prompts import ReadPosts
from bot.community.reading.suspicion import steering
from bot.knowledge.labels import labels_in
from bot.knowledge.prompts import LabelTask
from state.community import Post

DEFAULT_LABEL = "tabular/classification"
"""For a task whose kind no word shows."""
_DOUBTFUL = re.compile(
    r"\b(no gain|worse|useless|waste|harm\w*|(does|did)(n'?t| not) help|don'?t|do not|never|nothing|noise)\b|\?\s*$",
    re.IGNORECASE,
)
_GAINLESS = re.compile(
    r"\b(no (gain|change|better|effect)|worse|useless|harm\w*|(does|did)(n'?t| not) help)\b", re.IGNORECASE
)
_UNSOUND = re.compile(
    r"guarantee|always|trust me|upvote|everybody knows|tun\w+ .{0,10}\b(lb|leaderboard)\b", re.IGNORECASE
)
_FIGURE = re.compile(r"\d\.\d{2,}")
_TIERS = {"NOVICE": -1.0, "EXPERT": 0.7, "MASTER": 1.0, "GRANDMASTER": 1.5}
_QUOTE = 240
_MOST_FAILS = 5


def read(prompt: ReadPosts) -> str:
    """Answer `read_posts`."""
    findings_by_item = {document.item: _findings(document) for document in prompt.documents}
    return json.dumps(
        {
            "documents": [{"id": item, **findings} for item, findings in findings_by_item.items() if findings],
            "nothing": [item for item, findings in findings_by_item.items() if not findings],
        },
        ensure_ascii=False,
    )


def _findings(document: Document) -> dict[str, object]:
    """Return what a document suggests, without its posts that give orders; empty if nothing."""
    sound = [post for post in document.posts if not is_hostile(post)]
    sentences = {title: (post, sentence) for post in reversed(sound) for title, sentence in suggestions(post).items()}
    failed = list(dict.fromkeys(sentence for post in sound for sentence in failures(post)))[:_MOST_FAILS]
    hostile = {"suspicion": "gives instructions to its readers"} if len(sound) < len(document.posts) else {}
    if not sentences and not failed:
        return {"summary": "Gives instructions to its readers; not used.", **hostile} if hostile else {}
    uncommon = sum(title not in vocabulary() or not vocabulary()[title].common for title in sentences)
    return {
        "summary": f"{document.title}: discusses {', '.join(sentences) or 'what did not help'}."[:4_000],
        "suggestions": [f'{method_text(title)} The post: "{sentence}"' for title, (_, sentence) in sentences.items()],
        "fails": failed,
        "novelty": min(10, 2 + uncommon),
        "feasibility": 8 if sentences else 2,
        "effectiveness": max((_effectiveness(post) for post, _ in sentences.values()), default=1.0),
        "efficiency": 7 if sentences else 1,
        **hostile,
    }


def is_hostile(post: Post) -> bool:
    """Return whether a post looks as if it gave orders to its readers."""
    return steering(post.title, post.text) is not None


def suggestions(post: Post) -> dict[str, str]:
    """Return the techniques that a post suggests, each with its sentence with the most figures."""
    best: dict[str, str] = {}
    for sentence in _sentences(f"{post.title}.\n{post.text}"):
        if not _DOUBTFUL.search(sentence) and not re.match(r"(from|import) \w", sentence):
            for title in named_in(sentence):
                best[title] = max(best.get(title, sentence), sentence, key=lambda s: len(_FIGURE.findall(s)))
    return best


def failures(post: Post) -> list[str]:
    """Return the sentences that name a technique with a figure, and say that it gained nothing."""
    return [
        sentence
        for sentence in _sentences(post.text)
        if _GAINLESS.search(sentence) and _FIGURE.search(sentence) and named_in(sentence)
    ]


def _sentences(text: str) -> list[str]:
    """Return the sentences and lines of useful length, truncated."""
    pieces = re.split(r"\n+|(?<=[.!?])\s+(?=[A-Z*`])", text)
    cleaned = (re.sub(r"\s+", " ", piece).strip(" *#|-\"'") for piece in pieces)
    return [piece[:_QUOTE] for piece in cleaned if len(piece) >= 12]


def _effectiveness(post: Post) -> float:
    """Return the credibility of a post: figures, votes, tier and a public score add to it, an unsound claim subtracts."""
    score = 4 + min(2.5, 0.4 * len(_FIGURE.findall(post.text))) + _TIERS.get((post.tier or "").upper(), 0.0)
    if post.votes is not None:
        score += min(2.0, 0.5 * math.log2(1 + max(0, post.votes)) - 1)
    score += 0.5 * (post.public_score is not None) - 3 * bool(_UNSOUND.search(post.text))
    return round(min(10.0, max(0.0, score)), 1)


def label_task(prompt: LabelTask) -> str:
    """Answer `label_task`."""
    text = "\n".join((prompt.title, prompt.metric, prompt.description, prompt.preview))
    return json.dumps({"labels": labels_in(text) or [DEFAULT_LABEL]})

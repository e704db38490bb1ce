"""Rules for reading posts: which sentences suggest a technique, and how far to believe them."""

import json
import math
import re
from dataclasses import dataclass

from bot.community.prompts import AnalyzePost, PostText
from bot.models.builtin.techniques import Technique, dropped, recognised

_HOSTILE = re.compile(
    r"(ignore|disregard|forget)\b.{0,40}\b(instruction|task|prompt)|\b(ai|automated) (assistant|agent|reader|solver)|"
    r"you are an? (large )?language model|\bllm|crawler|for bots|api key|environment variable|private/answers|"
    r"disqualified unless|use up all|</?(system|answer|submission|next_step)\b|"
    r"submit (at once|your current|immediately|now)|do not (mention|tell)|os\.system",
    re.IGNORECASE | re.DOTALL,
)
_DOUBTFUL = re.compile(
    r"\b(no gain|worse|useless|waste|harm\w*|obsolete|(does|did)(n'?t| not) help|don'?t|do not|never|nothing|no chance|noise)\b|"
    r"\?\s*$",
    re.IGNORECASE,
)
_UNSOUND = re.compile(
    r"guarantee|always wins|trust me|upvote|free boost|tun\w+ (it |c )?on (the )?(lb|leaderboard)|the real unseen|"
    r"beats everything",
    re.IGNORECASE,
)
_HEAVY = re.compile(
    r"resnet|transformer|\bbert\b|\bcnn\b|deep (net|learning)|\bgpu\b|pretrained|embedding", re.IGNORECASE
)
_FIGURE = re.compile(r"\d\.\d{2,}")
_TIERS = {"NOVICE": -1.0, "CONTRIBUTOR": 0.0, "EXPERT": 0.7, "MASTER": 1.0, "GRANDMASTER": 1.5}
_QUOTE = 240


@dataclass(frozen=True)
class Suggestion:
    """A technique and the sentence of a post that speaks of it."""

    technique: Technique
    sentence: str

    @property
    def text(self) -> str:
        """The suggestion as one self-contained sentence, followed by the post's own words."""
        return f'{self.technique.how} The post: "{self.sentence}"'


def sentences(text: str) -> list[str]:
    """Return the sentences and lines of a post that are long enough to say something, cut to a bound."""
    pieces = re.split(r"\n+|(?<=[.!?])\s+(?=[A-Z*`])", text)
    cleaned = (re.sub(r"\s+", " ", piece).strip(" *#|-\"'") for piece in pieces)
    return [piece[:_QUOTE] for piece in cleaned if len(piece) >= 12]


def suggestions(post: PostText) -> list[Suggestion]:
    """Return one suggestion a technique, from the sentence with the most figures; none from a hostile post."""
    if is_hostile(post):
        return []
    best: dict[str, Suggestion] = {}
    for sentence in sentences(f"{post.title}.\n{post.body}"):
        if _DOUBTFUL.search(sentence) or re.match(r"(from|import) \w+", sentence):
            continue
        found = [*recognised(sentence), *(leave_out(name) for name in dropped(sentence))]
        for technique in found:
            known = best.get(technique.title)
            if known is None or _figures(sentence) > _figures(known.sentence):
                best[technique.title] = Suggestion(technique, sentence)
    return list(best.values())


def leave_out(column: str) -> Technique:
    """Return the technique of leaving a column or a calendar part out; the sentence alone carries it into a script."""
    how = f"Leave out the calendar feature `{column}`."
    return Technique(f"Without {column}", how, rf"leave out the calendar feature `{re.escape(column)}`")


def is_hostile(post: PostText) -> bool:
    """Return whether a post gives orders to its readers instead of saying something about the task."""
    return _HOSTILE.search(f"{post.title}\n{post.body}") is not None


def analysis(prompt: AnalyzePost) -> str:
    """Answer `analyze_post`."""
    post, found = prompt.post, suggestions(prompt.post)
    titles = ", ".join(s.technique.title for s in found) or "no technique that is known here"
    summary = f"{post.title}: speaks of {titles}."
    if is_hostile(post):
        summary = "Holds orders to its readers rather than a technique; nothing of it is used."
    code = [s for s in sentences(post.body) if re.match(r"(from|import|def) \w+", s)]
    text = f"{post.title} {post.body}"
    answer = {
        "summary": summary,
        "suggestions": [s.text for s in found],
        "code_abstract": f"{post.language or 'code'}: {titles}" if post.kind == "kernel" and code else "",
        "resources": sorted(set(re.findall(r"(?:import|from) (\w+)", post.body)))[:10],
        "novelty": _bounded(2 + sum(not s.technique.common for s in found)),
        "feasibility": _bounded((3 if _HEAVY.search(text) else 8) if found else 2),
        "effectiveness": _effectiveness(post, found),
        "efficiency": _bounded((4 if _HEAVY.search(text) else 7) if found else 1),
    }
    return json.dumps(answer, ensure_ascii=False)


def _effectiveness(post: PostText, found: list[Suggestion]) -> float:
    """Figures, votes, tier and a public score speak for a post; an unsound claim against it. Unknown signals say nothing."""
    if is_hostile(post):
        return 0.0
    if not found:
        return 1.0
    score = 4 + min(2.5, 0.4 * _figures(post.body)) + _TIERS.get((post.tier or "").upper(), 0.0)
    if post.votes is not None:
        score += min(2.0, 0.5 * math.log2(1 + max(0, post.votes)) - 1.0)
    if post.public_score is not None:
        score += 0.5
    return _bounded(score - (3.0 if _UNSOUND.search(post.body) else 0.0))


def _figures(text: str) -> int:
    return len(_FIGURE.findall(text))


def _bounded(score: float) -> float:
    return round(min(10.0, max(0.0, float(score))), 1)

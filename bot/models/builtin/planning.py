"""Rules of the coordinator: atomic ideas out of analyses and reports, and drafts out of ideas."""

import json
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

from bot.coder import TaskText
from bot.community.prompts import IdeaText, PlanDrafts, ProposeIdeas, ReportText
from bot.models.builtin.config import predicts_classes
from bot.models.builtin.posts import leave_out
from bot.models.builtin.techniques import (
    APPROACHES,
    TECHNIQUES,
    Technique,
    dropped,
    kind_of,
    recognised,
    suits,
    unquoted,
)

_MOST_IDEAS = 12
_IDEAS_A_DRAFT = 4
_BELIEVED = 3.5
"""Least effectiveness of an analysis whose suggestions are taken up."""


@dataclass
class _Found:
    technique: Technique
    support: float
    text: str
    sources: list[str]


def ideas(prompt: ProposeIdeas) -> str:
    """Answer `propose_ideas`: one idea a technique that the pool lacks, the best supported first."""
    pool = {t.title for idea in prompt.ideas for t in named_in(idea.text)[:1]}
    found: dict[str, _Found] = {}
    hints = [
        (a.effectiveness, s, a.item.id) for a in prompt.analyses if a.effectiveness >= _BELIEVED for s in a.suggestions
    ]
    hints += [(5.0, step, r.item.id) for r in prompt.reports for step in r.next_steps.split("\n")]
    for support, text, source in sorted(hints, key=lambda h: -h[0]):
        for technique in named_in(text)[:1]:
            if technique.title in pool or not _can_matter(text, prompt.task):
                continue
            known = found.setdefault(technique.title, _Found(technique, support, text, []))
            if source not in known.sources and len(known.sources) < 4:
                known.sources.append(source)
    best = sorted(found.values(), key=lambda f: (-f.support, -len(f.sources)))[:_MOST_IDEAS]
    return json.dumps({"ideas": [{"text": f.text[:1_400], "sources": f.sources} for f in best]}, ensure_ascii=False)


def named_in(text: str) -> tuple[Technique, ...]:
    """Return the techniques of a text, the one that its first sentence is about before the others."""
    head = unquoted(text)
    outs = tuple(leave_out(name) for name in dropped(text))
    return (*(outs if dropped(head) else ()), *recognised(head), *recognised(text), *outs)


def drafts(prompt: PlanDrafts, rng: random.Random) -> str:
    """Answer `plan_drafts`: the first extends the best report, the others start anew from what reports have not used."""
    ranked = _ranked(prompt)
    best = _best_report(prompt.reports, prompt.task.direction)
    # Alone, a draft is by turns an extension and something new.
    extends = best is not None and (prompt.count > 1 or len(prompt.reports) % 2 == 1)
    plans, left = [], list(ranked)
    for turn in range(prompt.count):
        if extends and turn == 0 and best is not None:
            known = set(_titles(best.method))
            chosen = [i for i in left if not known & set(_titles(i.text)[:1])][:_IDEAS_A_DRAFT]
            plans.append(_plan("Extended", chosen, best.number, rng, turn))
        else:
            fresh = [i for i in left if i.times_used == 0] or left
            chosen = fresh[:_IDEAS_A_DRAFT] or rng.sample(ranked, min(len(ranked), _IDEAS_A_DRAFT))
            plans.append(_plan("", chosen, None, rng, turn))
        left = [i for i in left if i not in chosen]
    return json.dumps({"drafts": plans}, ensure_ascii=False)


def _plan(
    lead: str, chosen: Sequence[IdeaText], codebase: int | None, rng: random.Random, turn: int
) -> dict[str, object]:
    """One draft; a coder sees only its text, so it quotes its ideas."""
    if chosen:
        names = ", ".join(dict.fromkeys(t for i in chosen for t in _titles(i.text)[:1])) or "ideas of the pool"
        body = "\n".join(f"- {i.text[:1_200]}" for i in chosen)
    else:
        order = rng.sample(APPROACHES, len(APPROACHES)) if turn >= len(APPROACHES) else APPROACHES
        names, titles = order[turn % len(order)]
        body = "\n".join(f"- {t.how}" for t in TECHNIQUES if t.title in titles)
    start = (
        "Keep what the given script does, and add:" if codebase is not None else "Start from a plain solution, and use:"
    )
    end = "Cross-validate each on the labels that can be seen, print one table, and hand in the best."
    title = re.sub(r"\s+", " ", f"{lead}: {names}" if lead else names)
    return {
        "title": title[:60],
        "description": f"{start}\n{body}\n{end}"[:6_000],
        "ideas": [i.number for i in chosen],
        "codebase": codebase,
    }


def _ranked(prompt: PlanDrafts) -> list[IdeaText]:
    """Ideas by support; evidence moves one up where its reports beat the middle report, and down where they do not."""
    sign = -1.0 if prompt.task.direction == "minimize" else 1.0
    scores = sorted(r.score for r in prompt.reports if r.score is not None)
    middle = scores[len(scores) // 2] if scores else None

    def value(idea: IdeaText) -> float:
        evidence = 0.0
        if idea.best_score is not None and middle is not None:
            evidence = 1.0 if sign * (idea.best_score - middle) > 0 else -1.0
        suited = any(t.common for t in named_in(idea.text)[:1])
        return idea.support + evidence - 0.3 * idea.times_used - (0.5 if suited else 0.0)

    usable = [i for i in prompt.ideas if _can_matter(i.text, prompt.task)]
    return sorted(usable, key=lambda i: (-value(i), i.number))


def _can_matter(text: str, task: TaskText) -> bool:
    return all(suits(t, kind_of(task.description), predicts_classes(task.metric)) for t in named_in(text)[:1])


def _titles(text: str) -> list[str]:
    return [t.title for t in named_in(text)]


def _best_report(reports: Sequence[ReportText], direction: str) -> ReportText | None:
    scored = [(r.score, r) for r in reports if r.score is not None]
    if not scored:
        return reports[0] if reports else None
    pick = min if direction == "minimize" else max
    return pick(scored, key=lambda pair: pair[0])[1]

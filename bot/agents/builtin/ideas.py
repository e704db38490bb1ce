"""The coordinator's rules: atomic ideas from analyses and reports, drafts from ideas."""

import json
import textwrap
from collections.abc import Sequence

from bot.agents.builtin.reports import best
from bot.agents.builtin.techniques import how, kinds_in, named_in, suitable, suits
from bot.community.idea_prompts import ProposeIdeas
from bot.community.plan_prompts import PlanDrafts
from bot.community.shown import IdeaText, ReportText
from bot.execution.task import TaskText

_MOST_IDEAS = 12
_IDEAS_A_DRAFT = 4
_BELIEVED = 3.5
"""Least effectiveness of an analysis whose suggestions become ideas."""


def propose(prompt: ProposeIdeas) -> str:
    """Answer `propose_ideas`: an idea for each technique that the pool lacks, the best supported first."""
    hints = [(a.effectiveness, s, a.item.id) for a in prompt.analyses for s in a.suggestions]
    hints += [(5.0, step, r.item.id) for r in prompt.reports for step in r.next_steps.split("\n")]
    pool = {title for idea in prompt.ideas for title in named_in(idea.text)[:1]}
    texts: dict[str, str] = {}
    sources: dict[str, list[str]] = {}
    for support, text, source in sorted(hints, key=lambda hint: -hint[0]):
        for title in named_in(text)[:1]:
            if support >= _BELIEVED and title not in pool and suits(title, _kinds(prompt.task), prompt.task.metric):
                texts.setdefault(title, text[:1_400])
                sources.setdefault(title, []).append(source)
    new = [{"text": text, "sources": list(dict.fromkeys(sources[title]))[:4]} for title, text in texts.items()]
    return json.dumps({"ideas": new[:_MOST_IDEAS]}, ensure_ascii=False)


def plan(prompt: PlanDrafts) -> str:
    """Answer `plan_drafts`: of a round's drafts the first extends the best report, the others start anew from other ideas."""
    top = best(prompt.reports, prompt.task) or next(iter(prompt.reports), None)
    extended = any(draft.codebase is not None for draft in prompt.beside)
    taken = {number for draft in prompt.beside for number in draft.ideas}
    drafts, left = [], [i for i in _ranked(prompt) if i.number not in taken]
    for turn in range(prompt.room.most):
        base = top if turn == 0 and not extended else None
        known = {*named_in(base.method)} if base else set()
        fresh_first = left if base else sorted(left, key=lambda i: i.times_used > 0)
        chosen = [i for i in fresh_first if not known & {*named_in(i.text)[:1]}][:_IDEAS_A_DRAFT]
        drafts.append(_draft(prompt, chosen, base, turn))
        left = [i for i in left if i not in chosen]
    return json.dumps({"drafts": drafts}, ensure_ascii=False)


def _draft(prompt: PlanDrafts, chosen: Sequence[IdeaText], base: ReportText | None, turn: int) -> dict[str, object]:
    """Return a draft, whose text quotes its ideas, or names two kinds of models where there are none."""
    families = [t.title for t in suitable(_kinds(prompt.task), prompt.task.metric) if t.family]
    turn += len(prompt.beside)
    pair = [families[(2 * len(prompt.reports) + 2 * turn + i) % len(families)] for i in range(2)]
    titles = [title for i in chosen for title in named_in(i.text)[:1]] or pair
    start = "Keep what the given script does, and add:" if base else "Start from a plain solution, and use:"
    lines = [f"- {text[:1_200]}" for text in [i.text for i in chosen] or map(how, pair)]
    end = "Cross-validate each on the labels that can be seen, print one table, and hand in the best."
    return {
        "title": textwrap.shorten(f"{'Extended: ' if base else ''}{', '.join(titles)}", 80, placeholder=" …"),
        "aim": f"A gain on node {base.node}." if base else ", ".join(titles) if chosen else "",
        "description": "\n".join([start, *lines, end])[:6_000],
        "ideas": [i.number for i in chosen],
        "codebase": base.node if base else None,
    }


def _ranked(prompt: PlanDrafts) -> list[IdeaText]:
    """Return the ideas that suit the task, by support, less so those used often."""

    def value(idea: IdeaText) -> float:
        return idea.support - 0.3 * idea.times_used

    named = [(i, named_in(i.text)[:1]) for i in prompt.ideas]
    usable = [i for i, t in named if all(suits(title, _kinds(prompt.task), prompt.task.metric) for title in t)]
    return sorted(usable, key=lambda i: (-value(i), i.number))


def _kinds(task: TaskText) -> frozenset[str]:
    """Return the kinds of data that a description may mean; a table always is one."""
    return kinds_in(task.description) | {"table"}

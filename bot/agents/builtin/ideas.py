"""The coordinator's rules: atomic ideas from analyses and reports, drafts from ideas."""

import json
import textwrap
from collections.abc import Mapping, Sequence, Set

from bot.agents.builtin.reports import best
from bot.agents.builtin.techniques import kinds_in, method_text, named_in, suitable, suits, vocabulary
from bot.community.drafts.prompts import PlanDrafts
from bot.community.ideas.prompts import MOST_ADDED, ProposeIdeas
from bot.community.prompt_views import IdeaText, ReportText
from bot.execution.task import TaskText

_IDEAS_A_DRAFT = 4
_BELIEVED = 3.5
"""Minimum effectiveness of an analysis whose suggestions become ideas."""


def propose(prompt: ProposeIdeas) -> str:
    """Answer `propose_ideas`: an idea for each technique that the pool lacks, best supported first."""
    hints = [(a.effectiveness, s, a.item.id) for a in prompt.analyses for s in a.suggestions]
    hints += [(5.0, step, r.item.id) for r in prompt.reports for step in r.next_steps.split("\n")]
    pool: dict[str, list[IdeaText]] = {}
    for idea in prompt.ideas:
        pool.setdefault((*named_in(idea.text), "")[0], []).append(idea)
    useless_titles = {title for failure in prompt.failed_here for title in named_in(failure.text)[:1]}
    texts: dict[str, str] = {}
    sources: dict[str, list[str]] = {}
    rejections: dict[str, str] = {}
    credit: dict[int, list[str]] = {}
    for support, text, source in sorted(hints, key=lambda hint: -hint[0]):
        for title in named_in(text)[:1]:
            if title in pool and support >= _BELIEVED and not source.startswith("report/"):
                credit.setdefault(pool[title][0].number, []).append(source)
            elif reason := _why_not(prompt, title, support, pool, useless_titles):
                rejections.setdefault(title, reason)
            else:
                # Without the post's words: two techniques of one sentence would count as one.
                texts.setdefault(title, method_text(title))
                sources.setdefault(title, []).append(source)
    new = [
        {"text": text, "sources": list(dict.fromkeys(sources[title]))[:4], "path": _path(title)}
        for title, text in texts.items()
    ]
    duplicates = [ideas for title, ideas in pool.items() if title and len(ideas) > 1]
    # Each family of models, and all that goes with any of them.
    paths: dict[str, list[str]] = {}
    for technique in suitable(_kinds(prompt.task), prompt.task.metric):
        paths.setdefault(_path(technique.title), []).append(technique.title)
    answer = {
        "paths": [{"name": name, "ideas": ideas} for name, ideas in paths.items()],
        "dropped": [{"idea": title, "why": reason} for title, reason in rejections.items() if title not in texts],
        "add": new[:MOST_ADDED],
        "credit": [{"idea": n, "sources": list(dict.fromkeys(items))[:4]} for n, items in credit.items()],
        "merge": [
            {"ideas": [idea.number for idea in ideas], "text": ideas[0].text, "why": "one technique"}
            for ideas in duplicates
        ],
        "retire": [{"idea": i.number, "why": "measured without a gain"} for i in prompt.ideas if i.has_no_gain],
    }
    return json.dumps(answer, ensure_ascii=False)


def _why_not(
    prompt: ProposeIdeas, title: str, support: float, pool: Mapping[str, Sequence[IdeaText]], useless_titles: Set[str]
) -> str:
    """Return why a technique is not proposed; empty if it is."""
    if title in pool:
        return "in the pool"
    if title in useless_titles:
        return "measured without a gain"
    if not suits(title, _kinds(prompt.task), prompt.task.metric):
        return "no effect on this kind of data or metric"
    return "" if support >= _BELIEVED else "an implausible post"


def _path(title: str) -> str:
    technique = vocabulary().get(title)
    return title if technique is not None and technique.family else "views and outputs"


def plan(prompt: PlanDrafts) -> str:
    """Answer `plan_drafts`: the first draft of a round extends the best report, the others start fresh from other ideas."""
    top = best(((report, report.score) for report in prompt.reports), prompt.task) or next(iter(prompt.reports), None)
    extended = not prompt.parents and any(draft.codebase is not None for draft in prompt.open_drafts)
    starts_fresh = bool(prompt.start) and not prompt.parents
    open_draft_ideas = {number for draft in prompt.open_drafts for number in draft.ideas}
    remaining_ideas = [
        idea
        for idea in prompt.ideas
        if not idea.has_no_gain
        and idea.number not in open_draft_ideas
        and all(suits(title, _kinds(prompt.task), prompt.task.metric) for title in named_in(idea.text)[:1])
    ]
    # By support, less for those used often.
    remaining_ideas.sort(key=lambda idea: (0.3 * idea.times_used - idea.support, idea.number))
    drafts = []
    for turn in range(prompt.room.max_drafts):
        base = top if turn == 0 and not extended and not starts_fresh else None
        base_titles = {*named_in(base.method)} if base else set()
        fresh_first = remaining_ideas if base else sorted(remaining_ideas, key=lambda i: i.times_used > 0)
        fresh_first = sorted(fresh_first, key=lambda i: turn + 1 not in i.proposed)
        draft_ideas = [i for i in fresh_first if not base_titles & {*named_in(i.text)[:1]}][:_IDEAS_A_DRAFT]
        drafts.append(_draft(prompt, draft_ideas, base, turn))
        remaining_ideas = [i for i in remaining_ideas if i not in draft_ideas]
    return json.dumps({"drafts": drafts}, ensure_ascii=False)


def _draft(
    prompt: PlanDrafts, draft_ideas: Sequence[IdeaText], base: ReportText | None, turn: int
) -> dict[str, object]:
    """Return a draft, whose text quotes its ideas, or names two kinds of models if there are none."""
    families = [t.title for t in suitable(_kinds(prompt.task), prompt.task.metric) if t.family]
    turn += len(prompt.open_drafts)
    pair = [families[(2 * len(prompt.reports) + 2 * turn + i) % len(families)] for i in range(2)]
    if not draft_ideas:
        hints = [t for t in named_in(prompt.knowledge) if suits(t, _kinds(prompt.task), prompt.task.metric)]
        pair = list(dict.fromkeys((*hints[:1], *pair)))[:2]
    titles = [title for i in draft_ideas for title in named_in(i.text)[:1]] or pair
    start = "Keep what the given script does, and add:" if base else "Start from a plain solution, and use:"
    lines = [f"- {text[:1_200]}" for text in [i.text for i in draft_ideas] or map(method_text, pair)]
    end = "Cross-validate each on the visible labels, print one table, and submit the best."
    return {
        "title": textwrap.shorten(f"{'Extended: ' if base else ''}{', '.join(titles)}", 80, placeholder=" …"),
        "aim": f"A gain on node {base.node}." if base else ", ".join(titles) if draft_ideas else "",
        "description": "\n".join([start, *lines, end])[:6_000],
        "ideas": [i.number for i in draft_ideas],
        "codebase": base.node if base else None,
    }


def _kinds(task: TaskText) -> frozenset[str]:
    """Return the kinds of data that a description may mean, a table always among them."""
    return kinds_in(task.description) | {"table"}

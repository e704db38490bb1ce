"""The reviewer's and reporter's rules; without times, which differ between equal runs."""

import json
import re
from collections.abc import Iterable
from typing import TypeVar

from bot.agents.builtin.config import config_in
from bot.agents.builtin.techniques import kinds_in, method_text, suitable
from bot.coder.prompts import ReviewRun
from bot.community.drafts.reporting import WriteReport
from bot.engine.attempts import NodeFeedback
from bot.execution.task import TaskText

_ROW = re.compile(r"^(\S.* on .*?\S) +(\d+\.\d+) +\d+\.\d+$", re.MULTILINE)
_BLEND = re.compile(r"^blend: \d+\.\d+ of (.+)$", re.MULTILINE)
ScoredT = TypeVar("ScoredT")


def best(candidates: Iterable[tuple[ScoredT, float | None]], task: TaskText) -> ScoredT | None:
    """Return the first candidate with the best score; None without any score."""
    sign = 1.0 if task.direction == "minimize" else -1.0
    pairs = ((candidate, sign * score) for candidate, score in candidates if score is not None)
    return min(pairs, key=lambda pair: pair[1], default=(None, 0.0))[0]


def best_attempt(attempts: Iterable[NodeFeedback], task: TaskText) -> NodeFeedback | None:
    """Return the first attempt with the best score; None without any score."""
    return best(((attempt, attempt.score.value if attempt.score else None) for attempt in attempts), task)


def chosen_models(output: str) -> tuple[str, ...]:
    """Return the experiments in the blends of a script of this model, as it printed them."""
    return tuple(name for m in _BLEND.finditer(output) for name in m[1].split(" + "))


def review(prompt: ReviewRun) -> str:
    """Answer `review_run` in a sentence or two."""
    attempt = prompt.attempt
    if attempt.score is None:
        lines = [line for line in attempt.output.splitlines() if line.strip()] or ["none"]
        summary = f"No score: {attempt.error or 'the run ended without one'}. Last line: {lines[-1][:300]}"
    else:
        summary = f"Scored {attempt.score.value:.6g}. Chosen: {' + '.join(chosen_models(attempt.output)) or 'unknown'}."
    return json.dumps({"summary": summary[:2_000]}, ensure_ascii=False)


def report(prompt: WriteReport) -> str:
    """Answer `write_report` with figures from the attempts."""
    top = best_attempt(prompt.attempts, prompt.task)
    output, config = top.output if top else "", config_in(top.code if top else "")
    models = chosen_models(output)
    titles = config.use if config else ()
    method = " ".join(map(method_text, titles)) or (top.plan if top else "no script in this draft has a score.")
    unused = [
        t.method for t in suitable(kinds_in(prompt.task.description), prompt.task.metric) if t.title not in titles
    ]
    failed = [f"node {a.node} had no score ({a.error or 'unknown'})" for a in prompt.attempts if a.score is None]
    answer = {
        "method": f"{prompt.title}: {method}",
        "components": [
            {"name": m[1], "analysis": f"{m[2]} in cross-validation ({'' if m[1] in models else 'not '}chosen)"}
            for m in list(_ROW.finditer(output))[:20]
        ],
        "limitations": "; ".join(failed) or "Tested on only one hold-out set and one set of folds.",
        "next_steps": "\n".join(unused[:6]) or "Tune the sizes.",
    }
    return json.dumps(answer, ensure_ascii=False)

"""Rules that say what came of runs: the review of one, the report on a draft."""

import json

from bot.coder import Attempt
from bot.coder.prompts import ReviewRun
from bot.community.prompts import WriteReport
from bot.models.builtin.config import RecipeConfig, config_in, predicts_classes
from bot.models.builtin.tables import printed
from bot.models.builtin.techniques import TECHNIQUES, Technique, suits


def review(prompt: ReviewRun) -> str:
    """Answer `review_run` in two or three sentences."""
    attempt, shown = prompt.attempt, printed(prompt.attempt.output)
    if attempt.score is None:
        lines = [line for line in attempt.output.splitlines() if line.strip()]
        summary = f"No score: {attempt.error or 'the run ended without one'}. Last line: {lines[-1][:300] if lines else 'none'}"
    else:
        summary = f"Scored {attempt.score:.6g} in {attempt.seconds:.0f} s. {_blends(attempt)}"
        if shown.skipped:
            summary += f" {len(shown.skipped)} experiments found no time."
    return json.dumps({"summary": summary[:2_000]}, ensure_ascii=False)


def report(prompt: WriteReport) -> str:
    """Answer `write_report`; every figure stands in the attempts."""
    best = _best(prompt)
    if best is None:
        why = "; ".join(f"node {a.node}: {a.error or 'no score'}" for a in prompt.attempts) or "nothing was run"
        method = f"{prompt.title}: no script of this draft got a score."
        steps = "Start from a plain model."
        return json.dumps(
            {"method": method, "numbers": "none", "limitations": why, "next_steps": steps}, ensure_ascii=False
        )
    shown, config = printed(best.output), config_in(best.code)
    fitting = [
        t for t in TECHNIQUES if suits(t, shown.kind or "text image table", predicts_classes(prompt.task.metric))
    ]
    used = [
        t
        for t in fitting
        if config and {*t.use} <= {*config.use} and {*t.models} <= {*config.models} and (t.use or t.models)
    ]
    next_steps = [t.how for t in fitting if t not in used][:6]
    figures = [
        f"node {a.node} ({a.action}): {a.score:.6g} in {a.seconds:.0f} s"
        for a in prompt.attempts
        if a.score is not None
    ]
    failed = [f"node {a.node} had no score ({a.error})" for a in prompt.attempts if a.score is None]
    skipped = [f"{name} found no time" for name in shown.skipped[:8]]
    answer = {
        "method": f"{prompt.title}: {' '.join(t.how for t in used) or best.plan}\n{_blends(best)}".strip(),
        "components": [
            {"name": name, "analysis": f"{score:g} by cross-validation in {seconds:g} s; {_place(name, shown.chosen)}"}
            for name, score, seconds in sorted(shown.rows, key=lambda row: row[1])[:20]
        ],
        "numbers": "; ".join(figures),
        "limitations": "; ".join([*failed, *skipped]) or "One hold-out part and one set of folds.",
        "next_steps": "\n".join(next_steps) or "Tune the sizes.",
    }
    return json.dumps(answer, ensure_ascii=False)


def _switched_on(technique: Technique, config: RecipeConfig) -> bool:
    on = {*technique.use} <= {*config.use} and {*technique.models} <= {*config.models}
    return on and bool(technique.use or technique.models)


def _best(prompt: WriteReport) -> Attempt | None:
    sign = 1.0 if prompt.task.direction == "minimize" else -1.0
    scored = [(sign * a.score, a.node, a) for a in prompt.attempts if a.score is not None]
    return min(scored, key=lambda s: s[:2])[2] if scored else None


def _blends(attempt: Attempt) -> str:
    shown = printed(attempt.output)
    return " ".join(f"Chosen: {names} ({score:g} by cross-validation)." for score, names in shown.blends)


def _place(name: str, chosen: str) -> str:
    return "chosen" if name in chosen.split(" + ") else "not chosen"

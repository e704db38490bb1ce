"""Rules that say what came of runs: what a script of ours printed, the review of it, the report on a draft."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from bot.coder import Attempt, TaskText
from bot.coder.prompts import ReviewRun
from bot.community.prompts import WriteReport
from bot.models.builtin.config import config_in
from bot.models.builtin.techniques import how, kinds_in, suitable

_ROW = re.compile(r"^(\S.* on .*?\S) +(\d+\.\d+) +\d+\.\d+$", re.MULTILINE)
_BLEND = re.compile(r"^blend: (\d+\.\d+) of (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Printed:
    """The table of experiments that a run printed, and the experiments that its blends chose; without times."""

    rows: tuple[tuple[str, float], ...]
    chosen: tuple[str, ...]


def printed(output: str) -> Printed:
    """Read the table; what is not there stays empty."""
    rows = tuple((m[1], float(m[2])) for m in _ROW.finditer(output))
    return Printed(rows, tuple(name for m in _BLEND.finditer(output) for name in m[2].split(" + ")))


def best_attempt(attempts: Sequence[Attempt], task: TaskText) -> Attempt | None:
    """Return the attempt with the best score, the last of equals."""
    sign = 1.0 if task.direction == "minimize" else -1.0
    scored = [(sign * a.score, -place, a) for place, a in enumerate(attempts) if a.score is not None]
    return min(scored)[2] if scored else None


def review(prompt: ReviewRun) -> str:
    """Answer `review_run` in a sentence or two, without times: what is said here shapes later scripts."""
    attempt, chosen = prompt.attempt, printed(prompt.attempt.output).chosen
    if attempt.score is None:
        lines = [line for line in attempt.output.splitlines() if line.strip()] or ["none"]
        summary = f"No score: {attempt.error or 'the run ended without one'}. Last line: {lines[-1][:300]}"
    else:
        summary = f"Scored {attempt.score:.6g}. Chosen: {' + '.join(chosen) or 'unknown'}."
    return json.dumps({"summary": summary[:2_000]}, ensure_ascii=False)


def report(prompt: WriteReport) -> str:
    """Answer `write_report`; every figure stands in the attempts."""
    best = best_attempt(prompt.attempts, prompt.task)
    shown, config = printed(best.output if best else ""), config_in(best.code if best else "")
    used = config.use if config else ()
    open_steps = [t.how for t in suitable(kinds_in(prompt.task.description), prompt.task.metric) if t.title not in used]
    failed = [
        f"node {a.node} had no score ({a.error or 'no reason given'})" for a in prompt.attempts if a.score is None
    ]
    scored = [f"node {a.node} ({a.action}): {a.score:.6g}" for a in prompt.attempts if a.score is not None]
    said = " ".join(map(how, used)) or (best.plan if best else "no script of this draft got a score.")
    answer = {
        "method": f"{prompt.title}: {said}",
        "components": [
            {"name": name, "analysis": f"{score:g} by cross-validation, {'' if name in shown.chosen else 'not '}chosen"}
            for name, score in shown.rows[:20]
        ],
        "numbers": "; ".join(scored) or "none",
        "limitations": "; ".join(failed) or "One hold-out part and one set of folds.",
        "next_steps": "\n".join(open_steps[:6]) or "Tune the sizes.",
    }
    return json.dumps(answer, ensure_ascii=False)

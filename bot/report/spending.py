"""What a run spent, by role of the model, with what came of it, and by view of the data."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bot.engine.run_record import VIEWS, RunRecord
from bot.engine.tree import BASELINE
from bot.report import words
from bot.report.credits import Credits, measure_credits
from bot.report.result import RoleFigures
from state.tables import Execution, LedgerEntry


@dataclass(frozen=True)
class ViewSpending:
    """Executions on one view; `seconds` are wall seconds, `peak_bytes` is the highest of any of them."""

    view: str
    executions: int
    seconds: float
    peak_bytes: int | None
    unfinished: int
    """Executions that did not end by themselves with status 0."""
    reasons: str
    """Why these ended, the most frequent first, such as `2 timed out, 1 killed by rule`."""


def by_role(run: RunRecord) -> tuple[RoleFigures, ...]:
    """Return what each role of the model spent and what came of its answers, in order of first use."""
    came_of = _came_of(run, measure_credits(run))
    roles = dict.fromkeys(entry.role for entry in run.charges if entry.role is not None)
    calls = {role: [entry for entry in run.charges if entry.role == role] for role in roles}
    return tuple(_figures(role, group, came_of.get(role, {})) for role, group in calls.items())


def _figures(role: str, calls: Sequence[LedgerEntry], came_of: Mapping[str, int]) -> RoleFigures:
    costs = [call.cost_usd for call in calls if call.cost_usd is not None]
    return RoleFigures(
        role=role,
        models=tuple(dict.fromkeys(call.model for call in calls if call.model)),
        calls=len(calls),
        prompt_tokens=sum(call.prompt_tokens for call in calls),
        cached_tokens=sum(call.cached_tokens for call in calls),
        completion_tokens=sum(call.completion_tokens for call in calls),
        cost_usd=sum(costs) if len(costs) == len(calls) else None,
        seconds=round(sum(call.seconds or 0.0 for call in calls), 3),
        came_of=came_of,
    )


def _came_of(run: RunRecord, credits: Credits) -> dict[str, dict[str, int]]:
    """Return for each role what came of its answers; after the first count, each is a part of one before it."""
    read = [credits.posts[row.id] for row in run.analyses if row.id in credits.posts]
    gaining_drafts = {draft for draft, gain in credits.draft_gains.items() if gain.beyond_noise}
    improved = {node for node, gain in credits.script_gains.items() if gain.beyond_noise}
    drafts_of = [{draft.id for draft in run.drafts if idea.id in draft.idea_ids} for idea in run.ideas]
    scripts = [script for script in run.scripts if script.id != BASELINE]
    scored_scripts = [script for script in scripts if script.status == "valid"]
    reports = [report for report in run.reports if report.draft_id is not None]
    parts = [part for report in reports for part in report.components]
    return {
        "analyst": {
            "documents": len(run.analyses),
            "with a suggestion": sum(bool(row.suggestions) for row in run.analyses),
            "used by an idea": sum(bool(post.ideas) for post in read),
            "used by a draft": sum(bool(post.drafts) for post in read),
            "used by a draft that improved the score": sum(not gaining_drafts.isdisjoint(post.drafts) for post in read),
        },
        "proposer": {
            "ideas": len(run.ideas),
            "no longer offered": sum(idea.state != "live" for idea in run.ideas),
            "used by a draft": sum(bool(drafts) for drafts in drafts_of),
            "used by a draft that improved the score": sum(
                not gaining_drafts.isdisjoint(drafts) for drafts in drafts_of
            ),
        },
        "coordinator": {
            "drafts": len(run.drafts),
            "with a score": len({script.draft_id for script in scored_scripts} & {script.id for script in run.drafts}),
            "gained beyond noise": len(gaining_drafts),
        },
        "coder": {
            "scripts": len(scripts),
            "with a score": len(scored_scripts),
            "gained beyond noise": sum(script.id in improved for script in scripts),
        },
        "reporter": {
            "reports": len(reports),
            "components": len(parts),
            "with a measured gain": sum(part.get("gain") is not None for part in parts),
        },
    }


def by_view(executions: Sequence[Execution]) -> Iterator[ViewSpending]:
    """Add up executions by view, in order of first use."""
    for view in dict.fromkeys(execution.view for execution in executions):
        group = [execution for execution in executions if execution.view == view]
        reasons = Counter(words.reason(execution.reason) for execution in group if execution.reason != "finished")
        seconds = sum(execution.seconds or 0.0 for execution in group)
        peak_bytes = max((e.peak_memory_bytes for e in group if e.peak_memory_bytes is not None), default=None)
        reasons_in_words = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
        yield ViewSpending(VIEWS[view], len(group), seconds, peak_bytes, reasons.total(), reasons_in_words)

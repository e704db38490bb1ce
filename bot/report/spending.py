"""What a run spent, by role of the model, with what came of it, and by view of the data."""

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from sqlalchemy import func
from sqlmodel import Session, col, select

from bot.community.dependencies.graph import Graph
from bot.engine.tree import BASELINE
from bot.report import words
from bot.report.result import RoleFigures
from sandbox import ExitReason
from state.tables import Analysis, Execution, LedgerEntry, Report, Step


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


def by_role(session: Session, run_id: str, graph: Graph) -> tuple[RoleFigures, ...]:
    """Return what each role of the model spent and what came of its answers, in order of first use."""
    came_of = _came_of(session, run_id, graph)
    query = select(LedgerEntry).where(LedgerEntry.run_id == run_id, col(LedgerEntry.role).is_not(None))
    groups: dict[str, list[LedgerEntry]] = {}
    for entry in session.exec(query.order_by(col(LedgerEntry.pk))):
        groups.setdefault(str(entry.role), []).append(entry)
    return tuple(_figures(role, group, came_of.get(role, {})) for role, group in groups.items())


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


def _came_of(session: Session, run_id: str, graph: Graph) -> dict[str, dict[str, int]]:
    """Return for each role what came of its answers; after the first count, each is a part of one before it."""
    drafts = graph.of_kind("draft")
    gained = {one.id for one in drafts if one.gain is not None and one.gain.beyond_noise}
    scripts = [one for one in graph.of_kind("script") if one.id != f"node/{BASELINE}"]
    scored = {one.id for one in scripts if one.state == "valid"}
    reports = session.exec(select(Report).where(Report.run_id == run_id, col(Report.draft_id).is_not(None))).all()
    parts = [part for report in reports for part in report.components]
    return {
        "analyst": _of_analyst(session, run_id, graph, gained),
        "proposer": _of_proposer(graph, gained),
        "coordinator": {
            "drafts": len(drafts),
            "with a score": sum(not scored.isdisjoint(graph.targets([one.id], "made")) for one in drafts),
            "gained beyond noise": len(gained),
        },
        "coder": {
            "scripts": len(scripts),
            "with a score": len(scored),
            "gained beyond noise": sum(one.gain is not None and one.gain.beyond_noise for one in scripts),
        },
        "monitor": _of_monitor(session, run_id),
        "reporter": {
            "reports": len(reports),
            "components": len(parts),
            "with a measured gain": sum(part.get("gain") is not None for part in parts),
        },
    }


def _of_analyst(session: Session, run_id: str, graph: Graph, gained: Set[str]) -> dict[str, int]:
    analyses = session.exec(select(Analysis).where(Analysis.run_id == run_id)).all()
    credits = [graph.credits[row.id] for row in analyses if row.id in graph.credits]
    return {
        "documents": len(analyses),
        "with a suggestion": sum(bool(row.suggestions) for row in analyses),
        "drawn on by an idea": sum(bool(one.ideas) for one in credits),
        "by a draft": sum(bool(one.drafts) for one in credits),
        "by a draft that gained": sum(not gained.isdisjoint(one.drafts) for one in credits),
    }


def _of_proposer(graph: Graph, gained: Set[str]) -> dict[str, int]:
    ideas = graph.of_kind("idea")
    drafts = [graph.targets([one.id], "used") for one in ideas]
    return {
        "ideas": len(ideas),
        "no longer offered": sum(one.state != "live" for one in ideas),
        "used by a draft": sum(bool(one) for one in drafts),
        "by a draft that gained": sum(not gained.isdisjoint(one) for one in drafts),
    }


def _of_monitor(session: Session, run_id: str) -> dict[str, int]:
    looks = select(func.count(col(Step.name).distinct())).where(Step.run_id == run_id, Step.status == "finished")
    stopped = select(func.count()).where(Execution.run_id == run_id, Execution.reason == ExitReason.KILLED_BY_MONITOR)
    return {
        "looks": session.exec(looks.where(col(Step.name).startswith("monitor:"))).one(),
        "scripts stopped": session.exec(stopped).one(),
    }


def by_view(executions: Sequence[Execution]) -> list[ViewSpending]:
    """Add up executions by view, in order of first use."""
    groups: dict[str, list[Execution]] = {}
    for execution in sorted(executions, key=lambda e: e.started_at):
        groups.setdefault(execution.view, []).append(execution)
    found = []
    for view, group in groups.items():
        reasons = Counter(words.reason(e.reason) for e in group if e.reason != "finished")
        found.append(
            ViewSpending(
                view=view,
                executions=len(group),
                seconds=sum(e.seconds or 0.0 for e in group),
                peak_bytes=max((e.peak_memory_bytes for e in group if e.peak_memory_bytes is not None), default=None),
                unfinished=reasons.total(),
                reasons=", ".join(f"{count} {reason}" for reason, count in reasons.most_common()),
            )
        )
    return found

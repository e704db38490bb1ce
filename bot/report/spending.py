"""What a run spent, by role of the model and by view of the data."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sqlmodel import Session, select

from bot.report import words
from state.tables import Execution, ModelCall


@dataclass(frozen=True)
class RoleSpending:
    """Calls of one role; `cost_usd` None if a price is unknown."""

    role: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None


@dataclass(frozen=True)
class ViewSpending:
    """Executions on one view; `seconds` are wall seconds, `peak_bytes` the highest of any of them."""

    view: str
    executions: int
    seconds: float
    peak_bytes: int | None
    unfinished: int
    """Those that did not end by themselves with status 0."""
    reasons: str
    """Why these ended, the commonest first, such as `2 timed out, 1 killed by rule`."""


def by_role(session: Session, run_id: str) -> list[RoleSpending]:
    """Add up model calls by role, in order of first use."""
    calls: dict[str, list[ModelCall]] = {}
    for call in session.exec(select(ModelCall).where(ModelCall.run_id == run_id)):
        calls.setdefault(call.role, []).append(call)
    return [_role(role, group) for role, group in calls.items()]


def _role(role: str, calls: Sequence[ModelCall]) -> RoleSpending:
    costs = [call.cost_usd for call in calls]
    known = [cost for cost in costs if cost is not None]
    return RoleSpending(
        role=role,
        calls=len(calls),
        prompt_tokens=sum(call.prompt_tokens for call in calls),
        completion_tokens=sum(call.completion_tokens for call in calls),
        cost_usd=sum(known) if len(known) == len(costs) else None,
    )


def by_view(executions: Sequence[Execution]) -> list[ViewSpending]:
    """Add up executions by view, in order of first use."""
    groups: dict[str, list[Execution]] = {}
    for execution in sorted(executions, key=lambda e: e.started_at):
        groups.setdefault(execution.view, []).append(execution)
    return [_view(view, group) for view, group in groups.items()]


def _view(view: str, group: Sequence[Execution]) -> ViewSpending:
    reasons = Counter(words.reason(e.reason) for e in group if e.reason != "finished")
    return ViewSpending(
        view=view,
        executions=len(group),
        seconds=sum(e.seconds or 0.0 for e in group),
        peak_bytes=max((e.peak_memory_bytes for e in group if e.peak_memory_bytes is not None), default=None),
        unfinished=reasons.total(),
        reasons=", ".join(f"{count} {reason}" for reason, count in reasons.most_common()),
    )

"""What a run spent, by role of the model and by view of the data."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import func
from sqlmodel import Session, col, select

from bot.report import words
from state.tables import Execution, ModelCall


@dataclass(frozen=True)
class RoleSpending:
    """Calls of one role; `cost_usd` None if a price is unknown."""

    role: str
    calls: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    cost_usd: float | None


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


def by_role(session: Session, run_id: str) -> list[RoleSpending]:
    """Add up model calls by role, in order of first use."""
    cost = col(ModelCall.cost_usd)
    tokens = ModelCall.prompt_tokens, ModelCall.cached_tokens, ModelCall.completion_tokens
    sums = *map(func.sum, tokens), func.sum(cost)
    query = select(ModelCall.role, func.count(), *sums, func.count(cost)).where(ModelCall.run_id == run_id)  # type: ignore[call-overload]
    found = session.exec(query.group_by(ModelCall.role).order_by(func.min(ModelCall.seq)))
    return [
        RoleSpending(role, calls, prompt, cached, completion, spent if known == calls else None)
        for role, calls, prompt, cached, completion, spent, known in found
    ]


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

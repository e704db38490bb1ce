"""Work: what a run has produced so far, what it is working on, its best result, and what speaks against it."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func
from sqlmodel import Session, col, select

from bot.engine.tree import APART
from bot.execution.guarding import FOUND
from state.live import live_runs
from state.tables import Analysis, Draft, Event, Execution, Idea, Node, Report, Run
from state.words import iso

_SELF_REPORTED = (
    "no labels could be withheld, so that its scores are self-reported: scripts print them, and nobody checks them"
)


@dataclass(frozen=True)
class Pool:
    """How much a run knows."""

    analyses: int = 0
    """Each of one post."""
    ideas: int = 0
    drafts: int = 0
    reports: int = 0


@dataclass(frozen=True)
class Nodes:
    """A run's scripts counted by status, and the best of what may be handed in, blends of them among it."""

    running: int = 0
    valid: int = 0
    buggy: int = 0
    """Their code failed."""
    failed: int = 0
    """The engine failed."""
    best: int | None = None
    """None: there is none, or the metric's direction is unknown."""
    best_score: float | None = None
    """By validation."""

    @property
    def all(self) -> int:
        """How many there are."""
        return self.running + self.valid + self.buggy + self.failed


@dataclass(frozen=True)
class Doing:
    """One node that is worked on; without an execution its script is being written, or scored."""

    node: int
    action: str
    since: str
    """ISO time in UTC: of the execution's start where there is one, else of the node's."""
    execution: str | None = None
    view: str | None = None


def latest_runs(session: Session) -> dict[str, Run]:
    """Return the latest live run of each competition that has one."""
    return {run.competition: run for run in live_runs(session)}


def pool_of(session: Session, run_id: str) -> Pool:
    """Return how much a run knows."""
    queries = [select(func.count()).where(table.run_id == run_id) for table in (Analysis, Idea, Draft, Report)]
    queries[1] = queries[1].where(Idea.state == "live")
    counts = [session.exec(query).one() for query in queries]
    return Pool(*counts)


def nodes_of(session: Session, run_id: str, *, lower: bool | None) -> Nodes:
    """Return a run's nodes; `lower`: whether a lower score is better, None if unknown."""
    scripts = select(Node.status, func.count()).where(Node.run_id == run_id, col(Node.action).not_in(APART))
    rows = session.exec(scripts.group_by(Node.status)).all()
    known: dict[str, int] = {status: count for status, count in rows if status in Nodes.__dataclass_fields__}
    best = None
    if lower is not None:
        order = col(Node.score).asc() if lower else col(Node.score).desc()
        query = select(Node.id, Node.score).where(Node.run_id == run_id, col(Node.score).is_not(None))
        query = query.where(Node.action != "reproduce")
        best = session.exec(query.order_by(order, col(Node.id)).limit(1)).first()
    return Nodes(**known, best=best[0] if best else None, best_score=best[1] if best else None)


def doing(session: Session, run_id: str) -> tuple[Doing, ...]:
    """Return the nodes being worked on, each with its running execution."""
    going_on = select(Execution).where(Execution.run_id == run_id, col(Execution.reason).is_(None))
    executions = {one.node: one for one in session.exec(going_on)}
    nodes = select(Node.id, Node.action, Node.created_at).where(Node.run_id == run_id)
    nodes = nodes.where((col(Node.status) == "running") | col(Node.id).in_(executions)).order_by(col(Node.id))
    return tuple(
        Doing(id, action, iso(one.started_at), one.id, one.view)
        if (one := executions.get(id)) is not None
        else Doing(id, action, iso(created_at))
        for id, action, created_at in session.exec(nodes)
    )


def best_over_time(
    session: Session, run_id: str, until: datetime, *, lower: bool | None
) -> list[tuple[datetime, float]]:
    """Return each new best validation score with its time, up to a time, earliest first."""
    query = (
        select(Node.ended_at, Node.score)
        .where(Node.run_id == run_id, Node.status == "valid", col(Node.score).is_not(None), col(Node.ended_at) <= until)
        .where(Node.action != "reproduce")
    )
    found: list[tuple[datetime, float]] = []
    for at, score in () if lower is None else session.exec(query.order_by(col(Node.ended_at), col(Node.id))):
        if at is None or score is None:
            continue
        if not found or (score < found[-1][1] if lower else score > found[-1][1]):
            found.append((at, score))
    return found


@dataclass(frozen=True)
class Doubt:
    """What guards have against one node's validation run, or against the data."""

    at: datetime
    node: int | None
    """None: the data."""
    sentence: str


def doubts(session: Session, run_id: str, most: int = 3) -> tuple[Doubt, ...]:
    """Return a run's latest doubts, latest first; if its scores are self-reported, that comes before them."""
    found = tuple(Doubt(row.at, row.node, str(row.data["sentence"])) for row in _latest(session, run_id, FOUND, most))
    ended = _latest(session, run_id, "node.ended", 1)
    unchecked = (Doubt(row.at, None, _SELF_REPORTED) for row in ended if row.data.get("self_reported"))
    return (*unchecked, *found)


def _latest(session: Session, run_id: str, kind: str, most: int) -> list[Event]:
    query = select(Event).where(Event.run_id == run_id, Event.type == kind).order_by(col(Event.seq).desc()).limit(most)
    return list(session.exec(query))

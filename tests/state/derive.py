"""Derive: how a run stands, once from its rows and once from its events alone; the two must agree."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, get_args

from sqlmodel import select

from state.spending import Spending, add_up, read_spending
from state.store import Store
from state.submissions import SubmissionStatus
from state.tables import Approval, Execution, Node, Run, Step, Submission


@dataclass(frozen=True)
class NodeState:
    """A node as its events show it."""

    action: str
    parents: tuple[int, ...]
    draft_id: str | None
    code_sha: str | None
    model: str | None
    status: str
    score: float | None = None
    seconds: float | None = None
    error: str | None = None


@dataclass(frozen=True)
class ExecutionState:
    """An execution as its events show it; `reason` None means that it runs."""

    node: int
    view: str
    reason: str | None = None
    exit_code: int | None = None
    seconds: float | None = None
    log_sha: str | None = None


@dataclass(frozen=True)
class SubmissionState:
    """A submission as its events show it."""

    node: int
    tag: str
    status: str
    prediction_source: str
    score: float | None = None
    ref: str | None = None
    file_sha: str | None = None
    message: str | None = None


StepKey = tuple[int, str, int]
"""Node (0 is none), name and attempt."""


@dataclass
class Standing:
    """How a run stands; `ledger` is by kind of spending, `steps` are `started` or `finished`."""

    status: str | None = None
    nodes: dict[int, NodeState] = field(default_factory=dict)
    executions: dict[str, ExecutionState] = field(default_factory=dict)
    submissions: dict[str, SubmissionState] = field(default_factory=dict)
    approvals: dict[str, str | None] = field(default_factory=dict)
    """By submission what was decided about those that were held; None: nothing yet."""
    ledger: dict[str, Spending] = field(default_factory=dict)
    steps: dict[StepKey, str] = field(default_factory=dict)


def from_events(events: Iterable[Mapping[str, Any]]) -> Standing:
    """Return how a run stands by its events, as exported, in order; events of other types are passed over."""
    standing = Standing()
    for event in events:
        apply = _APPLY.get(event["type"])
        if apply is not None:
            apply(standing, event)
    return standing


def from_rows(store: Store, run_id: str) -> Standing:
    """Return how a run stands by its rows, the truth."""
    with store.read() as session:
        run = session.get_one(Run, run_id)
        nodes = session.exec(select(Node).where(Node.run_id == run_id)).all()
        executions = session.exec(select(Execution).where(Execution.run_id == run_id)).all()
        submissions = session.exec(select(Submission).where(Submission.run_id == run_id)).all()
        approvals = session.exec(select(Approval).where(Approval.run_id == run_id)).all()
        steps = session.exec(select(Step.node, Step.name, Step.attempt, Step.status).where(Step.run_id == run_id)).all()
    return Standing(
        status=run.status,
        nodes={
            n.id: NodeState(
                n.action, tuple(n.parents), n.draft_id, n.code_sha, n.model, n.status, n.score, n.seconds, n.error
            )
            for n in nodes
        },
        executions={
            e.id: ExecutionState(e.node, e.view, e.reason, e.exit_code, e.seconds, e.log_sha) for e in executions
        },
        submissions={
            s.id: SubmissionState(s.node, s.tag, s.status, s.prediction_source, s.score, s.ref, s.file_sha, s.message)
            for s in submissions
        },
        approvals={approval.submission: approval.decision for approval in approvals},
        ledger=read_spending(store, run_id),
        steps={(node, name, attempt): status for node, name, attempt, status in steps},
    )


def _run_status(standing: Standing, event: Mapping[str, Any]) -> None:
    standing.status = event["status"]


def _node_created(standing: Standing, event: Mapping[str, Any]) -> None:
    standing.nodes[event["node"]] = NodeState(
        action=event["action"],
        parents=tuple(event["parents"]),
        draft_id=event["draft"],
        code_sha=event["code_sha"],
        model=event["model"],
        status=event["status"],
    )


def _node_updated(standing: Standing, event: Mapping[str, Any]) -> None:
    node = standing.nodes[event["node"]]
    standing.nodes[event["node"]] = replace(node, code_sha=event["code_sha"], model=event["model"])


def _node_ended(standing: Standing, event: Mapping[str, Any]) -> None:
    ended = {name: event[name] for name in ("status", "score", "seconds", "error")}
    standing.nodes[event["node"]] = replace(standing.nodes[event["node"]], **ended)


def _execution_started(standing: Standing, event: Mapping[str, Any]) -> None:
    standing.executions[event["execution"]] = ExecutionState(event["node"], event["view"])


def _execution_ended(standing: Standing, event: Mapping[str, Any]) -> None:
    ended = {name: event[name] for name in ("reason", "exit_code", "seconds", "log_sha")}
    standing.executions[event["execution"]] = replace(standing.executions[event["execution"]], **ended)


def _submission_added(standing: Standing, event: Mapping[str, Any]) -> None:
    standing.submissions[event["submission"]] = SubmissionState(
        event["node"],
        event["tag"],
        event["status"],
        event["prediction_source"],
        event["score"],
        file_sha=event["file_sha"],
    )


def _submission_changed(standing: Standing, event: Mapping[str, Any]) -> None:
    changed = {name: event[name] for name in ("status", "score", "ref", "message") if name in event}
    known = standing.submissions[event["submission"]]
    standing.submissions[event["submission"]] = replace(known, **changed)


def _approval_asked(standing: Standing, event: Mapping[str, Any]) -> None:
    standing.approvals[event["submission"]] = None


def _approval_decided(standing: Standing, event: Mapping[str, Any]) -> None:
    standing.approvals[event["submission"]] = event["decision"]


def _ledger_charged(standing: Standing, event: Mapping[str, Any]) -> None:
    standing.ledger[event["kind"]] = add_up(standing.ledger.get(event["kind"], Spending()), event)


def _step_started(standing: Standing, event: Mapping[str, Any]) -> None:
    standing.steps[event["node"] or 0, event["name"], event["attempt"]] = "started"


def _step_ended(standing: Standing, event: Mapping[str, Any]) -> None:
    standing.steps[event["node"] or 0, event["name"], event["attempt"]] = "finished"


_APPLY: Mapping[str, Callable[[Standing, Mapping[str, Any]], None]] = {
    "run.created": _run_status,
    "run.resumed": _run_status,
    "run.ended": _run_status,
    "node.created": _node_created,
    "node.updated": _node_updated,
    "node.ended": _node_ended,
    "execution.started": _execution_started,
    "execution.ended": _execution_ended,
    "submission.added": _submission_added,
    "submission.updated": _submission_changed,
    **{f"submission.{status}": _submission_changed for status in get_args(SubmissionStatus)},
    "approval.asked": _approval_asked,
    "approval.decided": _approval_decided,
    "ledger.charged": _ledger_charged,
    "step.started": _step_started,
    "step.ended": _step_ended,
}

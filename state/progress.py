"""Progress of a run: each function writes a row and its event, in the caller's transaction."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import func
from sqlmodel import select

from state.ledgers import worked_seconds
from state.store import Transaction, put_blob
from state.submissions import check_score
from state.tables import Evaluation, Event, Execution, Node, Run, Step
from state.words import iso

NodeStatus = Literal["valid", "buggy", "failed"]


def create_run(tx: Transaction, row: Run) -> Run:
    """Begin a run. Raises IntegrityError if it exists already."""
    tx.add(row)
    fields = row.model_dump(include={"competition", "agent", "model", "seed", "status"})
    tx.record("run.created", run_id=row.id, **fields)
    return row


def resume_run(tx: Transaction, run_id: str) -> Run:
    """Record that a stopped or killed run goes on, and the gap in which nobody worked on it, since its last event.

    Raises NoResultFound for an unknown run.
    """
    last = tx.session.exec(select(func.max(Event.seq)).where(Event.run_id == run_id)).one()
    before = tx.session.exec(select(Event.at).where(Event.run_id == run_id, Event.seq == last)).one()
    gap = max(0.0, (tx.now() - before).total_seconds())
    run = tx.session.get_one(Run, run_id)
    run.gaps = [*run.gaps, [iso(tx.now()), gap]]
    return _set_run_status(tx, run_id, "run.resumed", "running", gap_seconds=gap)


def end_run(tx: Transaction, run_id: str, status: str, *, error: str | None = None) -> Run:
    """End a run as `finished`, `stopped` or `failed`. Raises NoResultFound for an unknown run."""
    return _set_run_status(tx, run_id, "run.ended", status, error=error)


def _set_run_status(tx: Transaction, run_id: str, type: str, status: str, **fields: Any) -> Run:
    row = tx.session.get_one(Run, run_id)
    row.status = status
    tx.add(row)
    tx.record(type, run_id=run_id, status=status, **fields)
    return row


def create_node(
    tx: Transaction,
    run_id: str,
    *,
    action: str,
    parents: Sequence[int] = (),
    draft_id: str | None = None,
    plan: str = "",
    code: str | None = None,
    model: str | None = None,
    id: int | None = None,
) -> Node:
    """Begin a node; without `id` it takes the run's next number. If it exists already, it is returned unchanged."""
    if id is None:
        last = tx.session.exec(select(func.max(Node.id)).where(Node.run_id == run_id)).one()
        id = (last or 0) + 1
    elif (node := tx.session.get(Node, (run_id, id))) is not None:
        return node
    row = Node(
        run_id=run_id,
        id=id,
        action=action,
        parents=list(parents),
        draft_id=draft_id,
        plan=plan,
        code_sha=None if code is None else put_blob(tx, code),
        created_at=tx.now(),
        model=model,
    )
    tx.add(row)
    fields = {"action": action, "parents": row.parents, "draft": draft_id, "code_sha": row.code_sha, "model": model}
    tx.record("node.created", run_id=run_id, node=id, status=row.status, **fields)
    return row


def update_node(
    tx: Transaction,
    run_id: str,
    node: int,
    *,
    plan: str | None = None,
    code: str | None = None,
    infer: str | None = None,
    families: Sequence[str] | None = None,
) -> Node:
    """Set fields of a running node; None leaves a field as it is."""
    row = tx.session.get_one(Node, (run_id, node))
    row.plan = row.plan if plan is None else plan
    row.code_sha = row.code_sha if code is None else put_blob(tx, code)
    row.infer_sha = row.infer_sha if infer is None else put_blob(tx, infer)
    row.families = row.families if families is None else list(families)
    tx.add(row)
    tx.record("node.updated", run_id=run_id, node=node, code_sha=row.code_sha, infer_sha=row.infer_sha, model=row.model)
    return row


def restart_node(tx: Transaction, run_id: str, node: int) -> int:
    """Record that a node starts again because the bot ended while working on it.

    Return the number of restarts in a row without a step of the node finishing in between, this one included.
    """
    is_finished = (Step.run_id == run_id, Step.node == node, Step.status == "finished")
    step_count = tx.session.exec(select(func.count()).select_from(Step).where(*is_finished)).one()
    is_restart = (Event.run_id == run_id, Event.node == node, Event.type == "node.restarted")
    times: int = 1 + sum(
        event.data["steps"] == step_count for event in tx.session.exec(select(Event).where(*is_restart))
    )
    tx.record("node.restarted", run_id=run_id, node=node, steps=step_count, times=times)
    return times


def end_node(
    tx: Transaction,
    run_id: str,
    node: int,
    status: NodeStatus,
    *,
    score: float | None = None,
    error: str | None = None,
    seconds: float | None = None,
    self_reported: bool = False,
    since: datetime | None = None,
) -> Node:
    """End a node; only the event records whether the score is the one that its script printed.

    `seconds` are measured by the caller with a clock that never jumps; without them they are the seconds since the
    node began (`since`; None: since it was created) in which a process worked on the run. Raises ValueError if the score is
    not finite, or a node that is not valid has one.
    """
    _check_score(score, status == "valid")
    row = tx.session.get_one(Node, (run_id, node))
    row.status, row.score, row.error, row.ended_at = status, score, error, tx.now()
    if seconds is None:
        seconds = worked_seconds(tx.session.get_one(Run, run_id).gaps, since or row.created_at, row.ended_at)
    row.seconds = max(0.0, seconds)
    tx.add(row)
    fields = {"self_reported": True} if self_reported else {}
    tx.record(
        "node.ended", run_id=run_id, node=node, status=status, score=score, seconds=row.seconds, error=error, **fields
    )
    return row


def start_execution(tx: Transaction, run_id: str, id: str, *, node: int, view: str) -> Execution:
    """Begin an execution; one that began before and never ended starts again under its id."""
    row = tx.session.merge(Execution(run_id=run_id, id=id, node=node, view=view, started_at=tx.now()))
    tx.record("execution.started", run_id=run_id, node=node, execution=id, view=view)
    return row


def end_execution(
    tx: Transaction,
    run_id: str,
    id: str,
    *,
    reason: str,
    exit_code: int | None,
    seconds: float,
    cpu_seconds: float | None = None,
    peak_memory_bytes: int | None = None,
    log: bytes | str | None = None,
    detail: str | None = None,
    notes: Sequence[str] = (),
    peak_gpu_memory_bytes: int | None = None,
) -> Execution:
    """End an execution with an exit reason, the wall and processor seconds it took, and its log, stored as a blob.

    `detail` adds to the reason, such as why a rule ended it; `notes` name oddities, such as a child that ran out of
    memory though the script ended well. Only the event records these two and the GPUs' peak memory.
    """
    row = tx.session.get_one(Execution, (run_id, id))
    row.reason, row.exit_code, row.seconds, row.cpu_seconds = reason, exit_code, seconds, cpu_seconds
    row.peak_memory_bytes, row.ended_at = peak_memory_bytes, tx.now()
    row.log_sha = None if log is None else put_blob(tx, log)
    tx.add(row)
    fields = {"execution": id, "reason": reason, "exit_code": exit_code, "seconds": seconds, "log_sha": row.log_sha}
    optional = {"detail": detail, "notes": list(notes), "peak_gpu_memory_bytes": peak_gpu_memory_bytes}
    present = {key: value for key, value in optional.items() if value}
    tx.record("execution.ended", run_id=run_id, node=row.node, **fields, **present)
    return row


def add_evaluation(tx: Transaction, row: Evaluation) -> Evaluation:
    """Store the evaluator's verdict on an execution, instead of any before. Raises ValueError for a score that cannot be."""
    _check_score(row.score, row.valid)
    fields = {"view": row.view, "score": row.score, "valid": row.valid, "message": row.message}
    tx.record("evaluation.added", run_id=row.run_id, node=row.node, execution=row.execution_id, **fields)
    return tx.session.merge(row)


def _check_score(score: float | None, allowed: bool) -> None:
    check_score(score)
    if score is not None and not allowed:
        raise ValueError("only a valid node can have a score")

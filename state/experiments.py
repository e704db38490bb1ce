"""Experiments of a run: each function writes a row and the event that reports it, in the caller's transaction."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlmodel import Session, and_, col, select

from state.store import Transaction, put_blob
from state.tables import ExperimentRow, Node


def add_experiment(
    tx: Transaction,
    run_id: str,
    node: int,
    *,
    name: str,
    kind: str,
    result: Mapping[str, Any],
    lab: int | None = None,
    turn: int = 0,
    note: str = "",
    uses: Sequence[str] = (),
    sources: Mapping[str, str] | None = None,
    retrain: str = "",
    seconds: float | None = None,
) -> ExperimentRow:
    """Keep an experiment, whose node is in the same transaction; `sources` are texts by file name."""
    row = ExperimentRow(
        run_id=run_id,
        node=node,
        name=name,
        kind=kind,
        lab=lab,
        turn=turn,
        note=note,
        uses=list(uses),
        sources={file: put_blob(tx, text) for file, text in (sources or {}).items()},
        retrain=retrain,
        result=dict(result),
        seconds=seconds,
        logged_at=tx.now(),
    )
    tx.add(row)
    fields = {"lab": lab, "name": name, "kind": kind, "score": result.get("score"), "note": note, "uses": row.uses}
    tx.record("experiment.logged", run_id=run_id, node=node, **fields)
    return row


def replace_result(tx: Transaction, run_id: str, node: int, result: Mapping[str, Any]) -> None:
    """Keep an experiment's result with predictions that came later."""
    row = tx.session.get_one(ExperimentRow, (run_id, node))
    row.result = dict(result)
    tx.add(row)
    tx.record("experiment.completed", run_id=run_id, node=node, name=row.name)


def replace_command(tx: Transaction, run_id: str, node: int, retrain: str, sources: Mapping[str, str]) -> None:
    """Keep the command and the files (texts by name) by which an experiment is retrained in place of earlier ones."""
    row = tx.session.get_one(ExperimentRow, (run_id, node))
    row.retrain = retrain
    row.sources = {**row.sources, **{file: put_blob(tx, text) for file, text in sources.items()}}
    tx.add(row)


def record_trial(tx: Transaction, run_id: str, node: int, name: str, lab: int | None, reason: str) -> None:
    """Report that an experiment's retrain command was tried; `reason` says why it failed, and is empty if it worked."""
    tx.record("retrain.tried", run_id=run_id, node=node, name=name, lab=lab, reason=reason)


def withdraw_node(tx: Transaction, run_id: str, node: int, name: str, reason: str) -> None:
    """Take an experiment or a script out of the choice, for a coder's reason; a second time does nothing."""
    row = tx.session.get_one(Node, (run_id, node))
    if not row.withdrawn:
        row.withdrawn = True
        tx.add(row)
        tx.record("experiment.withdrawn", run_id=run_id, node=node, name=name, reason=reason)


def experiments(session: Session, run_id: str) -> list[tuple[ExperimentRow, bool]]:
    """Return a run's experiments and whether each is withdrawn, in the order of their nodes."""
    same_node = (Node.run_id == ExperimentRow.run_id, Node.id == ExperimentRow.node)
    query = select(ExperimentRow, Node.withdrawn).join(Node, and_(*same_node)).where(ExperimentRow.run_id == run_id)
    return list(session.exec(query.order_by(col(ExperimentRow.node))).all())

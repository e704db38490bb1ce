"""Experiments of a run: each function writes a row and the event that reports it, in the caller's transaction."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlmodel import Session, col, select

from state.store import Transaction, put_blob
from state.tables import ExperimentRow


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


def withdraw_experiment(tx: Transaction, run_id: str, node: int, reason: str) -> None:
    """Take an experiment out of the choice, for a coder's reason; a second time does nothing."""
    row = tx.session.get_one(ExperimentRow, (run_id, node))
    if not row.withdrawn:
        row.withdrawn = True
        tx.add(row)
        tx.record("experiment.withdrawn", run_id=run_id, node=node, name=row.name, why=reason)


def experiments(session: Session, run_id: str) -> list[ExperimentRow]:
    """Return a run's experiments, in the order of their nodes."""
    query = select(ExperimentRow).where(ExperimentRow.run_id == run_id).order_by(col(ExperimentRow.node))
    return list(session.exec(query).all())

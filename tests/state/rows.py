"""Rows that tests write in one line."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from state import knowledge, progress, spending
from state.store import Transaction, put_blob
from state.tables import Analysis, Draft, Evaluation, Execution, ModelCall, Report, Run, Submission
from state.words import iso


def create_run(tx: Transaction, run_id: str, **fields: Any) -> Run:
    return progress.create_run(tx, Run(id=run_id, created_at=tx.now(), **fields))


def add_evaluation(tx: Transaction, run_id: str, execution_id: str, **fields: Any) -> Evaluation:
    of = tx.session.get_one(Execution, (run_id, execution_id))
    about = {"run_id": run_id, "execution_id": execution_id, "node": of.node, "view": of.view}
    return progress.add_evaluation(tx, Evaluation(at=tx.now(), **about, **fields))


def log_model_call(
    tx: Transaction, run_id: str, *, items: Sequence[tuple[str, datetime]], messages: Any, answer: str, **fields: Any
) -> ModelCall:
    row = ModelCall(
        run_id=run_id,
        seq=0,
        items=[{"id": id, "time": iso(time)} for id, time in items],
        messages_sha=put_blob(tx, json.dumps(messages, ensure_ascii=False)),
        answer_sha=put_blob(tx, answer),
        at=tx.now(),
        **fields,
    )
    spending.log_model_call(tx, row)
    return row


def add_analysis(tx: Transaction, run_id: str, id: str, **fields: Any) -> None:
    knowledge.add_analysis(tx, Analysis(run_id=run_id, id=id, **fields))


def add_draft(tx: Transaction, run_id: str, id: str, *, idea_ids: Sequence[int] = (), **fields: Any) -> None:
    row = Draft(run_id=run_id, id=id, idea_ids=list(idea_ids), created_at=tx.now(), **fields)
    knowledge.add_draft(tx, row)


def add_report(tx: Transaction, run_id: str, id: str, **fields: Any) -> None:
    knowledge.add_report(tx, Report(run_id=run_id, id=id, created_at=tx.now(), **fields))


def add_submission(tx: Transaction, run_id: str, id: str, **fields: Any) -> Submission:
    """Store a submission in any status, as though it had come to it."""
    row = Submission(run_id=run_id, id=id, at=tx.now(), **fields)
    tx.add(row)
    told = {"tag": row.tag, "status": row.status, "prediction_source": row.prediction_source, "score": row.score}
    tx.record("submission.added", run_id=run_id, node=row.node, submission=id, file_sha=row.file_sha, **told)
    return row

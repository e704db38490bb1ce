"""All that a report shows, read from a run's folder."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlmodel import Session, col, select

from bot.evaluation.leaderboard import read_leaderboard
from bot.report.knowledge import Knowledge, read_knowledge
from bot.report.nodes import NodeRow, node_rows
from bot.report.read_back import Competition, RunResult, read_competition, read_config, read_result, snapshot_of
from bot.report.spending import RoleSpending, ViewSpending, by_role, by_view
from bot.report.words import shortened
from bot.runs.folder import RunFolder
from state.clock import SystemClock
from state.errors import SnapshotError, UsageError
from state.store import Store
from state.tables import Execution, Node, Run

LONGEST_CODE = 150_000
"""Characters of the submitted script that a page shows."""


@dataclass(frozen=True)
class ReportData:
    """One run, ready to be shown; nothing in it is escaped."""

    result: RunResult
    competition: Competition
    board: tuple[float, ...]
    """The real leaderboard, best first; empty where the snapshot is gone."""
    nodes: tuple[NodeRow, ...]
    knowledge: Knowledge
    roles: tuple[RoleSpending, ...]
    views: tuple[ViewSpending, ...]
    code: str | None
    config: Mapping[str, Any]

    @property
    def config_text(self) -> str:
        """The settings as indented JSON."""
        return json.dumps(self.config, indent=2, ensure_ascii=False)


def read_run(path: Path) -> ReportData:
    """Read a finished run's folder.

    Raises:
        UsageError: the folder lacks a file of a finished run, or one cannot be read.
    """
    folder = RunFolder(path)
    result, config = read_result(folder), read_config(folder)
    snapshot = snapshot_of(config)
    board = _board(snapshot)
    if not folder.database.is_file():
        raise UsageError(f"{folder.database} does not exist.")
    with Store.open(folder.database, SystemClock()) as store:
        with store.read() as session:
            executions = session.exec(select(Execution).where(Execution.run_id == result.run_id)).all()
            nodes = _nodes(session, result, board, executions)
            knowledge = read_knowledge(session, result, nodes)
            roles = by_role(session, result.run_id)
        code = _code(store, result)
    return ReportData(
        result=result,
        competition=read_competition(snapshot, result.competition_id),
        board=board,
        nodes=nodes,
        knowledge=knowledge,
        roles=tuple(roles),
        views=tuple(by_view(executions)),
        code=code,
        config=config,
    )


def _board(snapshot: Path | None) -> tuple[float, ...]:
    """Return the leaderboard; a page without it is better than none."""
    if snapshot is None:
        return ()
    try:
        return read_leaderboard(snapshot / "leaderboard.csv")
    except SnapshotError:
        return ()


def _nodes(
    session: Session, result: RunResult, board: Sequence[float], executions: Sequence[Execution]
) -> tuple[NodeRow, ...]:
    run = session.get(Run, result.run_id)
    if run is None:
        raise UsageError(f"state.db does not know the run {result.run_id}.")
    rows = session.exec(select(Node).where(Node.run_id == run.id).order_by(col(Node.id))).all()
    return node_rows(rows, executions, result, board, run)


def _code(store: Store, result: RunResult) -> str | None:
    if result.chosen_node is None:
        return None
    with store.read() as session:
        node = session.get(Node, (result.run_id, result.chosen_node))
    if node is None or node.code_sha is None:
        return None
    return shortened(store.blob(node.code_sha).decode("utf-8", "replace"), LONGEST_CODE)

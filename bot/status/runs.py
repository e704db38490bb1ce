"""How a run stands, read from its folder without writing to it: also while it goes on."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel

from bot.budgets.figures import Figure, figure, project, share
from bot.budgets.kinds import Kind
from bot.budgets.run_budget import used
from bot.budgets.settings import BudgetSettings
from bot.execution.folder import RunFolder, is_live
from bot.execution.running import is_running
from state.errors import InfrastructureFailure
from state.ledgers import Ledger, read_ledger, read_only
from state.words import iso

Status = Literal["not started", "running", "stopped", "finished", "failed", "live", "unreadable"]


@dataclass(frozen=True)
class Doing:
    """One node that is worked on; without an execution its script is being written, or scored."""

    node: int
    action: str
    since: str
    """ISO time in UTC: of the execution's start where there is one, else of the node's."""
    execution: str | None = None
    view: str | None = None


@dataclass(frozen=True)
class RunStanding:
    """How one run stands."""

    run: str
    """The run's folder."""
    run_id: str
    status: Status
    note: str | None = None
    """What else is to be said, in one sentence."""
    nodes: int = 0
    steps: int | None = None
    """Nodes that there may be, where they are bounded."""
    best_score: float | None = None
    budget: Mapping[str, Figure] = field(default_factory=dict)
    """By kind, of the run itself; projected only while it runs."""
    unpriced_calls: int = 0
    """Calls whose price is unknown, so that money is more than is said."""
    doing: Sequence[Doing] = ()


class _Settings(BaseModel):
    snapshot: Path
    steps: int | None = None
    seconds: float
    max_cost: float | None = None
    max_tokens: int | None = None
    budget: BudgetSettings = BudgetSettings()


class _Config(BaseModel):
    """What a status needs of config.json."""

    run_id: str
    settings: _Settings


def standing(folder: RunFolder, now: datetime) -> RunStanding:
    """Return how the run in a folder stands.

    Args:
        folder: the run's, with its config.json.
        now: aware; until when a run that goes on has taken time.
    """
    place, name = str(folder.path), folder.path.name
    try:
        record = json.loads(folder.config.read_text(encoding="utf-8"))
        if is_live(record):
            told = "of the daemon: `bot status` without a path, with its bot.toml, shows it"
            return RunStanding(place, name, "live", told)
        config = _Config.model_validate(record)
    except (OSError, ValueError) as error:
        return RunStanding(place, name, "unreadable", f"{folder.config} cannot be read: {error}")
    if not folder.database.exists():
        return RunStanding(place, config.run_id, "not started", steps=config.settings.steps)
    try:
        with read_only(folder.database) as connection:
            return _read(connection, folder, config.run_id, config.settings, now)
    except InfrastructureFailure as error:
        return RunStanding(place, config.run_id, "unreadable", str(error))


def _lower_is_better(snapshot: Path) -> bool | None:
    try:
        manifest = json.loads((snapshot / "snapshot.json").read_text(encoding="utf-8"))
        return bool(manifest["metric"]["direction"] == "minimize")
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _read(
    connection: sqlite3.Connection, folder: RunFolder, run_id: str, settings: _Settings, now: datetime
) -> RunStanding:
    run = connection.execute("SELECT status FROM run WHERE id = ?", (run_id,)).fetchone()
    if run is None:
        return RunStanding(str(folder.path), run_id, "not started", steps=settings.steps)
    status, note = _status(run["status"], folder)
    (ledger,) = [one for one in read_ledger(connection) if one.run_id == run_id]
    nodes = connection.execute("SELECT score FROM node WHERE run_id = ?", (run_id,)).fetchall()
    wall = ledger.wall_seconds
    if status == "running":
        wall += max(0.0, (now - _last_event(connection, run_id)).total_seconds())
    done = share(len(nodes), settings.steps, wall, settings.seconds) if status == "running" else None
    return RunStanding(
        run=str(folder.path),
        run_id=run_id,
        status=status,
        note=note,
        nodes=len(nodes),
        steps=settings.steps,
        best_score=_best([row["score"] for row in nodes], _lower_is_better(settings.snapshot)),
        budget=_budget(settings, ledger, wall, done),
        unpriced_calls=ledger.unpriced,
        doing=_doing(connection, run_id) if status == "running" else (),
    )


def _status(stored: str, folder: RunFolder) -> tuple[Status, str | None]:
    """Return the status and what is to be said: a database says `running` of a run that was killed, too."""
    if stored == "running":
        return ("running", None) if is_running(folder) else ("stopped", "its process is gone; it can be resumed")
    known: dict[str, Status] = {"finished": "finished", "stopped": "stopped", "failed": "failed"}
    return known.get(stored, "unreadable"), None if stored in known else f"its status {stored!r} is unknown"


def _best(scores: Sequence[float | None], lower_is_better: bool | None) -> float | None:
    found = [score for score in scores if score is not None]
    if not found or lower_is_better is None:
        return None
    return min(found) if lower_is_better else max(found)


def _budget(settings: _Settings, ledger: Ledger, wall: float, done: float | None) -> dict[str, Figure]:
    spent = {**used(ledger), Kind.WALL_SECONDS: wall}
    run = settings.budget.with_run(money=settings.max_cost, tokens=settings.max_tokens).run
    caps = {kind: run.of(kind) for kind in Kind}
    bound = caps[Kind.WALL_SECONDS]
    caps[Kind.WALL_SECONDS] = settings.seconds if bound is None else min(settings.seconds, bound)
    return {kind.value: figure(kind, caps[kind], spent[kind], project(kind, spent[kind], done)) for kind in Kind}


def _doing(connection: sqlite3.Connection, run_id: str) -> list[Doing]:
    rows: list[Any] = connection.execute(
        "SELECT node.id AS node, node.action, node.created_at, execution.id AS execution, execution.view, "
        "execution.started_at FROM node LEFT JOIN execution ON execution.run_id = node.run_id "
        "AND execution.node = node.id AND execution.reason IS NULL "
        "WHERE node.run_id = ? AND (node.status = 'running' OR execution.id IS NOT NULL) ORDER BY node.id",
        (run_id,),
    ).fetchall()
    return [
        Doing(
            row["node"],
            row["action"],
            iso(_time(row["started_at"] or row["created_at"])),
            row["execution"],
            row["view"],
        )
        for row in rows
    ]


def _last_event(connection: sqlite3.Connection, run_id: str) -> datetime:
    row = connection.execute("SELECT at FROM event WHERE run_id = ? ORDER BY seq DESC LIMIT 1", (run_id,)).fetchone()
    return _time(row["at"])


def _time(stored: str) -> datetime:
    return datetime.fromisoformat(stored).replace(tzinfo=UTC)

"""The status of a run, read from its folder without writing to it, even while it is running."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, cast

from pydantic import BaseModel
from sqlmodel import Session, col, select

from bot.budgets.figures import Figure, figure, project, share
from bot.budgets.kinds import Kind
from bot.budgets.run_budget import total
from bot.budgets.settings import Caps
from bot.engine.run_record import Doing, RunRecord
from bot.execution.folder import RunFolder, is_live
from sandbox.locks import is_held
from state.errors import InfrastructureFailure
from state.ledgers import read_ledger, read_only
from state.tables import Event, Run

Status = Literal["not started", "running", "stopped", "finished", "failed", "live", "unreadable"]


@dataclass(frozen=True)
class RunStatus:
    """The status of one run."""

    run: str
    """The run's folder."""
    run_id: str
    status: Status
    note: str | None = None
    """What else to know, in one sentence."""
    nodes: int = 0
    steps: int | None = None
    """The most nodes allowed, if there is a limit."""
    best_score: float | None = None
    budget: Mapping[str, Figure] = field(default_factory=dict)
    """By kind, of the run itself; projected only while it runs."""
    unpriced_calls: int = 0
    """Calls whose price is unknown: more money was spent than the figure shows."""
    doing: Sequence[Doing] = ()
    phase: str = ""
    """The phase of its work, while it runs."""
    best_over_time: Sequence[tuple[float, float]] = ()
    """Each new best score, with its time in seconds of the run."""


class _Settings(BaseModel):
    steps: int | None = None
    time: float
    budget: Caps = Caps()


class _Config(BaseModel):
    """The part of config.json that a status needs."""

    run_id: str
    settings: _Settings


def run_status(folder: RunFolder, now: datetime) -> RunStatus:
    """Return the status of the run in a folder; while it runs, it has taken time until now."""
    place, name = str(folder.path), folder.path.name
    try:
        record = json.loads(folder.config.read_text(encoding="utf-8"))
        if is_live(record):
            note = "this run belongs to the daemon: use `bot status` without a path, but with the daemon's bot.toml"
            return RunStatus(place, name, "live", note)
        config = _Config.model_validate(record)
    except (OSError, ValueError) as error:
        return RunStatus(place, name, "unreadable", f"{folder.config} cannot be read: {error}")
    if not folder.database.exists():
        return RunStatus(place, config.run_id, "not started", steps=config.settings.steps)
    try:
        with read_only(folder.database) as session:
            return _read(session, folder, config.run_id, config.settings, now)
    except InfrastructureFailure as error:
        return RunStatus(place, config.run_id, "unreadable", str(error))


def _read(session: Session, folder: RunFolder, run_id: str, settings: _Settings, now: datetime) -> RunStatus:
    run = session.get(Run, run_id)
    if run is None:
        return RunStatus(str(folder.path), run_id, "not started", steps=settings.steps)
    # In the database a killed run is still `running`.
    is_killed = run.status == "running" and not is_held(folder.config)
    status: Status = "stopped" if is_killed else cast(Status, run.status)
    (ledger,) = [row for row in read_ledger(session) if row.run_id == run_id]
    record = RunRecord(session, run)
    nodes = record.counts
    wall = ledger.amounts[Kind.WALL_SECONDS]
    if status == "running":
        last = select(Event.at).where(Event.run_id == run_id).order_by(col(Event.seq).desc()).limit(1)
        wall += max(0.0, (now - session.exec(last).one()).total_seconds())
    progress = share(nodes.all, settings.steps, wall, settings.time) if status == "running" else None
    spending = {**total([ledger]), Kind.WALL_SECONDS: wall}
    caps = {kind: settings.budget.cap_of(kind) for kind in Kind}
    bound = caps[Kind.WALL_SECONDS]
    caps[Kind.WALL_SECONDS] = settings.time if bound is None else min(settings.time, bound)
    return RunStatus(
        run=str(folder.path),
        run_id=run_id,
        status=status,
        note="its process has ended; the run can be resumed" if is_killed else None,
        nodes=nodes.all,
        steps=settings.steps,
        best_score=nodes.best_score,
        budget={
            kind.value: figure(caps[kind], spending[kind], project(kind, spending[kind], progress)) for kind in Kind
        },
        unpriced_calls=ledger.unpriced,
        doing=record.doing if status == "running" else (),
        phase=record.phase if status == "running" else "",
        best_over_time=[(record.seconds(time), score) for time, score in record.best_over_time()],
    )

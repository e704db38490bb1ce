"""A competition's live run: resumed or begun, with its settings, its budget and its services."""

import hashlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from bot.agents.settings import AgentRunSettings
from bot.configuration.competition import CompetitionSettings
from bot.configuration.run_options import resolve
from bot.engine.budget import RunBudget
from bot.engine.context import RunContext
from bot.engine.services import RunPlan, open_context
from bot.evaluation.view_names import Withholding
from bot.execution.folder import RunFolder, run_id
from bot.execution.own_grader import grader_text, keep_grader
from bot.execution.stopwatch import Stopwatch
from bot.execution.task import OwnerNote
from bot.leaderboard.board import read_board
from bot.live.budget import open_run
from bot.live.models import choice_of, ensure_capped
from bot.live.preparation import PreparedTask, deadline_of
from bot.live.services import Shared
from bot.models import Item
from bot.models.settings import ModelChoice
from bot.notebooks.limits import NotebookLimits
from bot.submission.rules import rules_of
from scrapers.snapshots.card import TaskCard
from state.clock import Clock
from state.community import CommunityView
from state.errors import UsageError
from state.files import write_whole
from state.live import live_runs
from state.progress import create_run, resume_run
from state.steering import notes
from state.store import Store
from state.tables import Run

_SCRIPTS = 20
"""A script's time limit leaves a competition time for at least this many, one after the other."""
_MIN_SCRIPT_SECONDS = 20.0
"""Seconds that a script gets even if fewer of them then fit."""


@dataclass(frozen=True)
class LiveRun:
    """A run that is in the store."""

    id: str
    card: TaskCard
    task: PreparedTask
    folder: RunFolder
    settings: AgentRunSettings
    competition_settings: CompetitionSettings
    started_at: datetime
    withholding: Withholding
    """As it was when the run began: its views are built, and its scores compared."""


@dataclass(frozen=True)
class ClockTime:
    """Seconds of the machine since a time of the clock; in a rehearsal the clock's weeks are minutes."""

    clock: Clock
    since: datetime
    speed: float

    def wall(self) -> float:
        """Return how many seconds have passed."""
        return (self.clock.now() - self.since).total_seconds() / self.speed


def live_run_of(store: Store, competition: str) -> Run | None:
    """Return a competition's latest live run."""
    with store.read() as session:
        return next(reversed(live_runs(session, competition)), None)


def can_continue(row: Run, task: PreparedTask, configured: CompetitionSettings) -> bool:
    """Return whether a run can go on with these settings: same agent, and scores that mean the same."""
    return row.agent == configured.agent and row.config.get("scores") == _meaning(task.card, configured)


def begin_run(shared: Shared, task: PreparedTask, configured: CompetitionSettings) -> LiveRun:
    """Resume the competition's run, or begin a new one if it cannot go on with these settings (see `goes_on`).

    Raises:
        UsageError: the model cannot be used, its code would run without a sandbox, or it costs money without a cap a day;
            or the grader is missing, or wheels are.
    """
    slug, choice = task.card.slug, choice_of(shared.machinery.models, configured)
    isolated = shared.machinery.sandbox.describe().isolation != "none"
    if not isolated and choice.kind != "builtin" and shared.settings.run.sandbox != "process":
        raise UsageError(
            f"no sandbox for scripts from {choice.spec}: install bubblewrap or Docker and restart the daemon, or "
            'set sandbox = "process" under [run], which provides no isolation'
        )
    ensure_capped(shared, slug, configured, choice)
    settings = _settings(shared, slug, configured, choice)
    if configured.notebook_wheels is not None and not any(configured.notebook_wheels.glob("*.whl")):
        raise UsageError(
            f"competitions.{slug}: notebook_wheels is {configured.notebook_wheels}, which contains no wheels (.whl)"
        )
    config = {
        "live": True,
        "competition": slug,
        "settings": settings.model_dump(mode="json"),
        "own": configured.model_dump(mode="json"),
        "card": task.card.model_dump(mode="json"),
        "scores": _meaning(task.card, configured),
        "withholding": settings.withholding,
    }
    open_row = live_run_of(shared.store, slug)
    with shared.store.write() as tx:
        if open_row is None or not can_continue(open_row, task, configured):
            name = run_id(slug, configured.agent, choice.spec, configured.seed, tx.now())
            row = Run(
                id=name,
                competition=slug,
                agent=configured.agent,
                model=choice.spec,
                seed=configured.seed,
                created_at=tx.now(),
                config=config,
            )
            create_run(tx, row)
        else:
            resume_run(tx, open_row.id)
            row = tx.session.get_one(Run, open_row.id)
            config["withholding"] = _withholding(open_row)
            row.config = config
            tx.add(row)
    folder = RunFolder(shared.runs / row.id, shared.store.path)
    if not folder.path.exists():
        folder.make()
    if configured.grader is not None:
        try:
            keep_grader(configured.grader, folder)
        except OSError as error:
            raise UsageError(f"cannot store {configured.grader}: {error.strerror or error}") from error
    write_whole(folder.config, json.dumps({"run_id": row.id, **config}, indent=1) + "\n")
    return LiveRun(row.id, task.card, task, folder, settings, configured, row.created_at, _withholding(row))


def _withholding(row: Run) -> Withholding:
    return "lab" if row.config.get("withholding") == "lab" else "script"


def reopen_run(shared: Shared, row: Run) -> LiveRun:
    """Return a run with its last settings, to end it: no model is asked any more."""
    card = TaskCard.model_validate(row.config["card"])
    settings = AgentRunSettings.model_validate(row.config["settings"]).model_copy(
        update={"model": "builtin", "roles": {}}
    )
    task = PreparedTask(card, shared.competition(card.slug) / "data")
    folder = RunFolder(shared.runs / row.id, shared.store.path)
    configured = CompetitionSettings.model_validate(row.config["own"])
    return LiveRun(row.id, card, task, folder, settings, configured, row.created_at, _withholding(row))


@asynccontextmanager
async def open_run_context(shared: Shared, run: LiveRun, stopwatch: Stopwatch) -> AsyncIterator[RunContext]:
    """Open a live run's services; raises what `open_context` raises."""
    slug, store = run.card.slug, shared.store

    competition = run.competition_settings
    deadline = deadline_of(shared, run.card, competition)
    elapsed = ClockTime(shared.clock, run.started_at, shared.speed)
    seconds = max(1.0, (deadline - run.started_at).total_seconds() / shared.speed)
    # A rehearsal's weeks are minutes of the machine, which must still have room for many scripts.
    longest = min(shared.settings.daemon.longest_script, max(_MIN_SCRIPT_SECONDS, seconds / _SCRIPTS))
    budget = RunBudget(elapsed, seconds, None, longest=longest, speed=shared.speed)
    plan = RunPlan(
        run.id,
        run.card,
        run.task.data,
        run.folder,
        run.settings,
        lambda as_of: CommunityView(store, slug, as_of),
        lambda: _notes(shared, slug),
        run.settings.of_agents,
        NotebookLimits(
            competition.notebook_hours,
            competition.notebook_accelerator,
            competition.notebook_rows,
            wheels=competition.notebook_wheels,
        ),
        lambda: _board(shared, run.card),
        labs=run.settings.in_labs,
        withholding=run.withholding,
        spare_baseline=run.settings.spare_baseline,
    )
    spending = open_run(shared.day, shared.settings.budget, competition, store, run.id, slug)
    say = partial(shared.say, slug)
    async with open_context(plan, shared.machinery, store, shared.clock, spending, budget, stopwatch, say) as context:
        yield context


def _meaning(card: TaskCard, configured: CompetitionSettings) -> str:
    """Return a hash of all that a validation score depends on: the metric, the columns, the split and the grader."""
    grader = grader_text(configured.grader) if configured.grader is not None else ""
    basis = (card.metric.model_dump_json(), card.columns, configured.seed, grader)
    return hashlib.sha256(repr(basis).encode()).hexdigest()[:16]


def _notes(shared: Shared, slug: str) -> tuple[OwnerNote, ...]:
    with shared.store.read() as session:
        owner_notes = notes(session, slug, shared.clock.as_of())
        rules = rules_of(session, slug, read=False)
    quoted_notes = tuple(OwnerNote(Item(f"note/{note.id}", note.at), note.text) for note in owner_notes)
    if not rules.lines or rules.confirmed_at is None:
        return quoted_notes
    rules_note = (
        "Follow these rules of the competition: " + "; ".join(line.short.rstrip(".") for line in rules.lines) + "."
    )
    return (OwnerNote(Item("rules", rules.confirmed_at), rules_note), *quoted_notes)


def _board(shared: Shared, card: TaskCard) -> tuple[float, ...]:
    with shared.store.read() as session:
        board = read_board(session, card.slug, lower_is_better=card.lower_is_better)
    return tuple(board.scores) if board is not None and board.complete else ()


def _settings(shared: Shared, slug: str, configured: CompetitionSettings, choice: ModelChoice) -> AgentRunSettings:
    settings, slots = shared.settings, shared.settings.daemon.slots
    run, leases = settings.run, shared.machinery.leases
    resolved = resolve(
        configured,
        settings,
        choice,
        shared.machinery.sandbox.describe(),
        agent=configured.agent,
        parallel=slots,
        share=leases.share(settings.sandbox, shared.folder, parallel=slots, cpus=run.cpus, gpus=shared.gpus),
        gpus=shared.gpus,
        file=shared.file,
    )
    with shared.store.read() as session:
        if rules_of(session, slug, read=False).forbid("pretrained models"):
            resolved["weights"] = None
    live = {"time": settings.daemon.longest_script, "split_seed": configured.seed}
    return AgentRunSettings.model_validate({**resolved, **live})

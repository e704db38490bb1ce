"""The status of a daemon and its competitions, all read from one state of its database."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal, get_args

from sqlmodel import Session

from bot.engine.run_record import Doing, Doubt, NodeCounts, Pool, RunRecord
from bot.execution.disk_space import free_bytes
from bot.status.accounts import Account, Allowance, accounts
from bot.status.lock import is_running
from bot.status.presence import PULSE, Presence, presence
from bot.status.problems import OpenProblem, current
from bot.status.queue import AbandonedTasks, Letters, NoteRead, QueuedTask, controls, dead, letters, notes_read, queued
from bot.status.site import PollState, Posts, Rank, SubmissionCounts, count_sent, deadline, last_polls, posts, rank
from bot.submission.notebook_lines import NotebookLine, notebook_lines
from state.approvals import undecided
from state.latest_events import latest_of_each
from state.live import latest_runs
from state.store import NO_RUN, Store
from state.tables import Event, Heartbeat, Run

EntryState = Literal["not begun", "waiting", "working", "paused", "stopped", "over"]
_ENTRY_EVENTS = tuple(f"entry.{state}" for state in get_args(EntryState) if state != "not begun")


@dataclass(frozen=True)
class RunLine:
    """A competition's run."""

    id: str
    agent: str
    model: str
    status: str
    created_at: datetime


@dataclass(frozen=True)
class CompetitionStatus:
    """The status of one competition."""

    competition: str
    configured: bool
    """Whether bot.toml has a table for it."""
    submit: bool
    state: EntryState
    reason: str | None
    """What it waits for, in a sentence."""
    since: datetime | None
    control: str
    """The owner's last order: `running`, `paused` or `stopped`."""
    run: RunLine | None
    deadline: datetime | None
    days_left: float | None
    polls: tuple[PollState, ...]
    posts: Posts
    pool: Pool
    nodes: NodeCounts
    doing: tuple[Doing, ...]
    submissions: SubmissionCounts
    doubts: tuple[Doubt, ...]
    """The guards' latest findings that did not pass, latest first."""
    pending: tuple[int, ...]
    """Numbers by which the submissions that await approval are approved."""
    notebooks: tuple[NotebookLine, ...]
    """In a competition of notebooks: the unsettled ones, and the last one that is settled."""
    rank: Rank
    accounts: tuple[Account, ...]
    """The accounts of the competition, its day and its run."""
    next: tuple[QueuedTask, ...]
    notes: tuple[NoteRead, ...]


@dataclass(frozen=True)
class DaemonStatus:
    """The status of the daemon itself."""

    folder: str
    running: bool
    now: datetime
    since: datetime | None
    """When it last started; None: never."""
    ended_at: datetime | None
    """When it shut down cleanly; None while it runs, or if it was killed."""
    alive: datetime | None
    """Time of its last heartbeat; None: never."""
    version: str | None
    process: int | None
    database_bytes: int
    free_bytes: int
    """On the disk of its folder."""
    account: Account
    """The account of the day, over all competitions."""
    problems: tuple[OpenProblem, ...]
    dead: tuple[AbandonedTasks, ...]
    """Tasks that were given up, by cause, unless the same kind of task has succeeded since."""
    next: tuple[QueuedTask, ...]
    """Tasks of no competition."""
    letters: Mapping[str, Letters]


@dataclass(frozen=True)
class Status:
    """Everything that `bot status` shows."""

    daemon: DaemonStatus
    competitions: tuple[CompetitionStatus, ...]


def status_of(store: Store, allowance: Allowance, names: Collection[str] = ()) -> Status:
    """Return the status, of all competitions or of the named ones that are known; the database lies in the daemon's folder."""
    with store.read() as session:
        daemon = presence(session)
        now = (daemon.clock if daemon is not None else store.clock).now()
        runs, states, orders = latest_runs(session), entries(session), controls(session)
        slugs = sorted({*allowance.competitions, *runs, *states})
        all_accounts, all_posts = accounts(session, allowance, now), posts(session)
        reader = _CompetitionReader(session, allowance, now, all_accounts)
        competitions = tuple(
            reader.read(
                slug, runs.get(slug), states.get(slug), all_posts.get(slug, Posts()), orders.get(slug, "running")
            )
            for slug in slugs
            if not names or slug in names
        )
        return Status(_daemon(session, store.path, now, daemon, all_accounts[0]), competitions)


def entries(session: Session) -> dict[str, Event]:
    """Return each competition's latest event of its state, such as `entry.waiting`."""
    return latest_of_each(session, NO_RUN, _ENTRY_EVENTS, "competition")


def _daemon(session: Session, database: Path, now: datetime, daemon: Presence | None, today: Account) -> DaemonStatus:
    folder, pulse = database.parent, session.get(Heartbeat, PULSE)
    files = (database, database.with_name(f"{database.name}-wal"))
    return DaemonStatus(
        folder=str(folder),
        running=is_running(folder),
        now=now,
        since=daemon.since if daemon else None,
        ended_at=daemon.ended_at if daemon else None,
        alive=pulse.at if pulse else None,
        version=daemon.version if daemon else None,
        process=daemon.process if daemon else None,
        database_bytes=sum(file.stat().st_size for file in files if file.exists()),
        free_bytes=free_bytes(folder),
        account=today,
        problems=tuple(current(session)),
        dead=dead(session),
        next=queued(session, ""),
        letters=letters(session),
    )


@dataclass(frozen=True)
class _CompetitionReader:
    """Reads competitions from one state of a database."""

    session: Session
    allowance: Allowance
    now: datetime
    accounts: Sequence[Account]

    def read(self, slug: str, row: Run | None, entry: Event | None, posts: Posts, control: str) -> CompetitionStatus:
        session, settings = self.session, self.allowance.competitions.get(slug)
        run = None if row is None else RunRecord(session, row)
        deadline_at = deadline(session, slug, settings, row)
        event = "" if entry is None else entry.type.removeprefix("entry.")
        reasons = [] if entry is None else [entry.data.get(name) for name in ("line", "reason")]
        lines = notebook_lines(session, run.id) if run else []
        return CompetitionStatus(
            competition=slug,
            configured=settings is not None,
            submit=settings is not None and settings.submit,
            state=next((state for state in get_args(EntryState) if state == event), "not begun"),
            reason=next((str(reason) for reason in reasons if reason), None),
            since=entry.at if entry else None,
            control=control,
            run=RunLine(row.id, row.agent, row.model, row.status, row.created_at) if row else None,
            deadline=deadline_at,
            days_left=max(0.0, (deadline_at - self.now).total_seconds() / 86_400) if deadline_at else None,
            polls=last_polls(session, slug),
            posts=posts,
            pool=run.pool if run else Pool(),
            nodes=run.counts if run else NodeCounts(),
            doing=run.doing if run else (),
            submissions=count_sent(session, slug, settings, self.now),
            doubts=run.doubts() if run else (),
            pending=tuple(row.id or 0 for row in undecided(session, run.id)) if run else (),
            notebooks=(*[line for line in lines if line.settled][-1:], *[line for line in lines if not line.settled]),
            rank=rank(session, slug),
            accounts=tuple(
                account
                for account in self.accounts
                if account.competition == slug and (account.level != "run" or (run and account.name == run.id))
            ),
            next=queued(session, slug),
            notes=notes_read(session, slug, run.id if run else None),
        )
